// The queries of `GET /api/audit` and `GET /api/audit/export`, and the body of `POST /api/audit/verify`.
import { Transform } from 'class-transformer';
import { IsDate, IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { z } from 'zod';
import type { AuditFilter } from '#libs/audit/audit-log.js';
import { type AuditFormat, auditFormats } from '#libs/audit/export-audit.js';

export const defaultAuditPage = 100;
export const maxAuditPage = 1_000;
const maxFilter = 1_024;

/** ISO 8601; anything else is refused by @IsDate. */
const Time = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{4}-\d{2}-\d{2}/.test(value) ? new Date(value) : value,
  );

export class AuditFilterDto implements AuditFilter {
  @IsOptional()
  @Time()
  @IsDate({ message: 'since must be a time such as 2026-11-24T12:00:00Z' })
  since?: Date;

  @IsOptional()
  @Time()
  @IsDate({ message: 'until must be a time such as 2026-11-24T12:00:00Z' })
  until?: Date;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  session?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  principal?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  tool?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  outcome?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  rule?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  kind?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  run?: string;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  text?: string;
}

export class AuditPageDto extends AuditFilterDto {
  @IsOptional()
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value,
  )
  @IsInt({ message: `limit must be 1 to ${maxAuditPage}` })
  @Min(1, { message: `limit must be 1 to ${maxAuditPage}` })
  @Max(maxAuditPage, { message: `limit must be 1 to ${maxAuditPage}` })
  limit?: number;

  @IsOptional()
  @IsString()
  @Length(1, maxFilter)
  cursor?: string;
}

export class AuditExportDto extends AuditFilterDto {
  @IsOptional()
  @IsIn(auditFormats, { message: `format must be one of ${auditFormats.join(', ')}` })
  format?: AuditFormat;
}

export const verifyAuditSchema = z.strictObject({
  since: z.iso.datetime({ offset: true, local: true, error: 'must be a time such as 2026-11-24T12:00:00Z' }).optional(),
});
