// An option that is missing or cannot be read: told with how the command is used.
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
