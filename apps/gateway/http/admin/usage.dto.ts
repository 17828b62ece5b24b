// The query of `GET /api/usage`.
import { plainToInstance } from 'class-transformer';
import { IsISO8601, IsOptional, Matches } from 'class-validator';
import { type UsageGroup, usageGroups, type UsageQuery } from '#libs/usage/usage-store.js';
import { validateDto } from '../controllers/validate-dto.js';

const name = `(?:${usageGroups.join('|')})`;

export class UsageQueryDto {
  @IsOptional()
  @Matches(new RegExp(`^${name}(?:,${name})*$`), { message: `by must be a list of ${usageGroups.join(', ')}` })
  by?: string;

  @IsOptional()
  @IsISO8601({ strict: true })
  since?: string;

  @IsOptional()
  @IsISO8601({ strict: true })
  until?: string;
}

/** @throws AppError invalid_value, with the invalid member as `param` */
export function readUsageQuery({ by, since, until }: Record<string, unknown>): Omit<UsageQuery, 'principal'> {
  const dto = validateDto(plainToInstance(UsageQueryDto, { by, since, until }));
  return {
    by: (dto.by?.split(',') ?? []) as UsageGroup[],
    since: dto.since === undefined ? undefined : new Date(dto.since),
    until: dto.until === undefined ? undefined : new Date(dto.until),
  };
}
