// Validates a DTO by its decorators, and reports only the first problem.
import { validateSync } from 'class-validator';
import { AppError } from '#libs/schemas/errors.js';

/** @throws AppError invalid_value, with the invalid member as `param` */
export function validateDto<T extends object>(dto: T): T {
  const error = validateSync(dto, { stopAtFirstError: true })[0];
  if (error === undefined) return dto;
  const problem = Object.values(error.constraints ?? {})[0] ?? 'not valid';
  throw new AppError('invalid_value', problem.slice(0, 300), { param: error.property });
}
