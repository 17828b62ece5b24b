// The query of `GET /api/approvals`, and the body of `POST /api/approvals/{id}`.
import { IsIn, IsObject, IsOptional, IsString, Length, MaxLength } from 'class-validator';
import { type WaitDecision, maxReasonLength } from '#libs/waits/wait.js';

const maxFilter = 1_024;

export class ListApprovalsDto {
  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  state?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  tool?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  principal?: string;

  @IsOptional()
  @IsIn(['asc', 'desc'], { message: 'order must be asc or desc' })
  order?: 'asc' | 'desc';

  /** Read by `readPageLimit` and `readPageAfter`. */
  @IsOptional()
  limit?: unknown;

  @IsOptional()
  after?: unknown;
}

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
