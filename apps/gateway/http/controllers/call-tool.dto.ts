// The body of `POST /api/tools/call`.
import { plainToInstance } from 'class-transformer';
import { IsInt, IsOptional, IsPositive, Length, Matches, Max, validateSync } from 'class-validator';
import { AppError } from '#libs/schemas/errors.js';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { isJsonObject } from '#libs/schemas/json.js';

export class CallToolDto {
  @Length(1, 512, { message: 'name must be a text of 1 to 512 characters' })
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
  if (!isJsonObject(body)) throw new AppError('invalid_value', 'The body must be a JSON object', { param: 'body' });
  const { name, session_id, timeout_ms } = body;
  const dto = plainToInstance(CallToolDto, { name, session_id, timeout_ms });
  // Not transformed, because it may be large.
  dto.arguments = body['arguments'];
  const error = validateSync(dto, { stopAtFirstError: true })[0];
  if (error === undefined) return dto;
  const problem = Object.values(error.constraints ?? {})[0] ?? 'not valid';
  throw new AppError('invalid_value', problem.slice(0, 300), { param: error.property });
}

export function argumentsText({ arguments: args }: CallToolDto): string {
  if (args === undefined || args === null) return '{}';
  return typeof args === 'string' ? args : JSON.stringify(args);
}
