// The body of `POST /api/tools/call`.
import { plainToInstance } from 'class-transformer';
import { IsInt, IsOptional, IsPositive, Length, Matches, Max } from 'class-validator';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { requireObject } from '../../chat-apis/invalid-value.js';
import { validateDto } from './validate-dto.js';

export class CallToolDto {
  @Length(1, 512, { message: 'name must be a string of 1 to 512 characters' })
  name!: string;

  /** An object or its JSON text, checked later against the tool's schema. */
  @IsOptional()
  arguments?: unknown;

  @IsOptional()
  @Matches(sessionIdPattern)
  session_id?: string;

  @IsOptional()
  @IsInt()
  @IsPositive()
  @Max(86_400_000)
  timeout_ms?: number;
}

/** @throws AppError invalid_value, with the invalid member as `param` */
export function readCallTool(body: unknown): CallToolDto {
  const { name, session_id, timeout_ms, arguments: args } = requireObject(body);
  const dto = plainToInstance(CallToolDto, { name, session_id, timeout_ms });
  // Not transformed, because it may be large.
  dto.arguments = args;
  return validateDto(dto);
}

export function argumentsText({ arguments: args }: CallToolDto): string {
  if (args === undefined || args === null) return '{}';
  return typeof args === 'string' ? args : JSON.stringify(args);
}
