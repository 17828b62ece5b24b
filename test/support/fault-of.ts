// Test support: the error that something ends with, which must be an AppError.
import { AppError } from '#libs/schemas/errors.js';

export function faultOf(attempt: () => unknown): AppError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}
