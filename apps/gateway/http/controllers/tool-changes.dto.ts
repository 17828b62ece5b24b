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

const maxChanges = 1_000;

class ChangeDto {
  @Length(1, 64)
  server!: string;

  @Length(1, 512)
  tool!: string;

  /** The hash of the definition that the operator reviewed; null for a removed tool. */
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
