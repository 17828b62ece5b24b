// The body of `POST /api/approvals/{id}`.
import { IsIn, IsObject, IsOptional, IsString, MaxLength } from 'class-validator';
import { type WaitDecision, maxReasonLength } from '#libs/waits/wait.js';

export class DecideApprovalDto {
  @IsIn(['approve', 'deny'])
  decision!: WaitDecision['decision'];

  @IsOptional()
  @IsString()
  @MaxLength(maxReasonLength)
  reason?: string | null;

  @IsOptional()
  @IsObject({ message: 'arguments must be an object' })
  arguments?: Record<string, unknown> | null;
}
