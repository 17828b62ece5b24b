// The body of `POST /api/sessions`.
import { plainToInstance } from 'class-transformer';
import { IsObject, IsOptional, Matches, ValidateBy, validateSync } from 'class-validator';
import { AppError } from '#libs/schemas/errors.js';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { isJsonObject } from '#libs/schemas/json.js';

const maxMetadataBytes = 16 * 1024;

export class CreateSessionDto {
  @IsOptional()
  @Matches(sessionIdPattern, { message: 'session_id must be 1 to 128 letters, digits, _ or -' })
  session_id?: string | null;

  @IsOptional()
  @IsObject({ message: 'metadata must be an object' })
  @ValidateBy(
    {
      name: 'maxJsonBytes',
      validator: { validate: (value) => Buffer.byteLength(JSON.stringify(value) ?? '') <= maxMetadataBytes },
    },
    { message: `metadata has at most ${maxMetadataBytes} bytes` },
  )
  metadata?: Record<string, unknown> | null;
}

/** Without a body, the session gets a new id. @throws AppError invalid_value, with the invalid member as `param` */
export function readCreateSession(body: unknown): CreateSessionDto {
  if (body === undefined || body === null) return new CreateSessionDto();
  if (!isJsonObject(body)) throw new AppError('invalid_value', 'The body must be a JSON object', { param: 'body' });
  const dto = plainToInstance(CreateSessionDto, { session_id: body['session_id'] });
  // Not transformed, because a copy would lose members with special names.
  dto.metadata = body['metadata'] as CreateSessionDto['metadata'];
  const error = validateSync(dto, { stopAtFirstError: true })[0];
  if (error === undefined) return dto;
  const problem = Object.values(error.constraints ?? {})[0] ?? 'not valid';
  throw new AppError('invalid_value', problem, { param: error.property });
}
