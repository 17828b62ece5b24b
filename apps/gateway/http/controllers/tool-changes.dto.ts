// The body of `POST /api/tools/changes`.
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsDefined,
  IsIn,
  Length,
  Matches,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import { type DefinitionKind, definitionKinds } from '#libs/schemas/tool-change.js';

const maxChanges = 1_000;

class ChangeDto {
  @Length(1, 64)
  server!: string;

  @IsIn(definitionKinds)
  kind: DefinitionKind = 'tool';

  /** The name of the tool or prompt; empty for instructions. */
  @ValidateIf(({ kind, tool }: ChangeDto) => kind !== 'instructions' || tool !== '')
  @Length(1, 512)
  tool = '';

  /** The hash of the definition that the operator reviewed; null for one that was removed. */
  @ValidateIf(({ hash }: ChangeDto) => hash !== null)
  @Matches(/^[0-9a-f]{64}$/, { message: 'hash must be the hash of a definition, or null' })
  hash!: string | null;
}

export class DecideChangesDto {
  @IsIn(['accept', 'reject'])
  decision!: 'accept' | 'reject';

  @IsDefined()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(maxChanges)
  @ValidateNested()
  @Type(() => ChangeDto)
  changes!: ChangeDto[];
}
