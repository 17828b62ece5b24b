// Arguments that are missing or cannot be read: reported with how the command is used. All commands read theirs with Node's parser.
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { usageOf, type CommandName } from './commands.js';

/** Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  constructor(message: string, command?: CommandName) {
    super(command === undefined ? message : `${message}.\n${usageOf(command)}`);
  }
}

/** @throws UsageError */
export function readArguments<T extends ParseArgsConfig>(
  command: CommandName,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    // The rest of Node's text is advice for a rare case.
    throw new UsageError((error as Error).message.split('. ')[0]!.replace(/\.$/, ''), command);
  }
}
