// The body of `POST /api/sessions`.
import { plainToInstance } from 'class-transformer';
import { IsObject, IsOptional, Matches, ValidateBy } from 'class-validator';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { requireObject } from '../../chat-apis/invalid-value.js';
import { validateDto } from './validate-dto.js';

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
    { message: `metadata may have at most ${maxMetadataBytes} bytes` },
  )
  metadata?: Record<string, unknown> | null;
}

/** Without a body, the session gets a new id. @throws AppError invalid_value, with the invalid member as `param` */
export function readCreateSession(body: unknown): CreateSessionDto {
  if (body === undefined || body === null) return new CreateSessionDto();
  const { session_id, metadata } = requireObject(body);
  const dto = plainToInstance(CreateSessionDto, { session_id });
  // Not transformed, because a copy would lose members with special names.
  dto.metadata = metadata as CreateSessionDto['metadata'];
  return validateDto(dto);
}
