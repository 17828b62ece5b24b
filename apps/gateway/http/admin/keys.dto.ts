// Bodies of /api/keys. `npm run keys` validates its arguments with the same classes.
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsIn,
  IsInt,
  IsISO8601,
  IsNumber,
  IsObject,
  IsOptional,
  IsPositive,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { type Scope, scopes } from '#libs/schemas/call-context.js';
import type { NewKey } from '#libs/access/key-store.js';
import { AppError } from '#libs/schemas/errors.js';

const maxGlobs = 100;
const maxRoles = 32;
/** 30 days. */
const maxGraceSeconds = 30 * 86_400;
const printable = /^[\x21-\x7e]{1,128}$/;

function Globs(): PropertyDecorator {
  const checks = [IsOptional(), IsArray(), ArrayMaxSize(maxGlobs), Length(1, 256, { each: true })];
  return (target, name) => checks.forEach((check) => check(target, name));
}

class ToolGlobsDto {
  @Globs()
  allow?: string[];

  @Globs()
  deny?: string[];
}

class KeyLimitsDto {
  @IsOptional()
  @IsInt()
  @IsPositive()
  requests_per_minute?: number;

  @IsOptional()
  @IsInt()
  @IsPositive()
  tokens_per_minute?: number;

  @IsOptional()
  @IsInt()
  @IsPositive()
  turns?: number;
}

class KeyBudgetsDto {
  @IsOptional()
  @IsNumber()
  @Min(0)
  day_usd?: number;

  @IsOptional()
  @IsNumber()
  @Min(0)
  month_usd?: number;
}

export class CreateKeyDto {
  @Matches(printable, { message: 'owner must be 1 to 128 printable ASCII characters without spaces' })
  owner!: string;

  @IsOptional()
  @IsString()
  @Length(1, 128)
  name?: string;

  @IsArray()
  @ArrayNotEmpty()
  @ArrayUnique()
  @IsIn(scopes, { each: true })
  scopes!: Scope[];

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(maxRoles)
  @Matches(printable, { each: true })
  roles?: string[];

  @Globs()
  models?: string[];

  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => ToolGlobsDto)
  tools?: ToolGlobsDto;

  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => KeyLimitsDto)
  limits?: KeyLimitsDto;

  @IsOptional()
  @IsObject()
  @ValidateNested()
  @Type(() => KeyBudgetsDto)
  budgets?: KeyBudgetsDto;

  @IsOptional()
  @IsISO8601({ strict: true, strictSeparator: true })
  expires_at?: string;
}

export class RotateKeyDto {
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(maxGraceSeconds)
  grace_s?: number;
}

/** @throws AppError invalid_value if it has already expired */
export function newKeyOf(dto: CreateKeyDto): NewKey {
  const { owner, name, scopes: granted, roles, models, tools, limits, budgets, expires_at } = dto;
  const expiresAt = expires_at == null ? undefined : new Date(expires_at);
  if (expiresAt !== undefined && !(expiresAt.getTime() > Date.now())) {
    throw new AppError('invalid_value', 'expires_at must be in the future', { param: 'expires_at' });
  }
  return {
    owner,
    scopes: granted,
    roles: roles ?? [],
    name: name ?? undefined,
    models: models ?? undefined,
    tools: tools ?? undefined,
    limits: limits ?? undefined,
    budgets: budgets ?? undefined,
    expiresAt,
  };
}
