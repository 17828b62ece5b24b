// The body of `POST /api/connections/{server}`.
import { IsObject, IsOptional, IsString, MaxLength } from 'class-validator';
import { maxReturnTo } from './return-address.js';

export class ConnectDto {
  @IsOptional()
  @IsString()
  @MaxLength(maxReturnTo)
  return_to?: string | null;

  @IsOptional()
  @IsObject({ message: 'headers must be an object' })
  headers?: Record<string, unknown> | null;
}
