// Bodies of the sessions endpoints.
import { IsObject, IsOptional, Matches, ValidateBy } from 'class-validator';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';

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
