// Nest's own messages in our log. Its start-up chatter goes to debug: one line a module says nothing to an operator.
import type { LoggerService } from '@nestjs/common';
import type { Logger } from './logger.js';

const chatter: ReadonlySet<string> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
  'WebSocketsController',
]);

export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}

  log(message: unknown, ...rest: unknown[]): void {
    const context = contextOf(rest);
    const level = context !== undefined && chatter.has(context) ? 'debug' : 'info';
    this.logger[level](fieldsOf(context), textOf(message));
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.logger.warn(fieldsOf(contextOf(rest)), textOf(message));
  }

  error(message: unknown, ...rest: unknown[]): void {
    const thrown = message instanceof Error ? message : rest.find((item) => item instanceof Error);
    const fields = fieldsOf(contextOf(rest));
    this.logger.error(thrown === undefined ? fields : { ...fields, error: thrown }, textOf(message));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.error(message, ...rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.logger.debug(fieldsOf(contextOf(rest)), textOf(message));
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.debug(message, ...rest);
  }
}

/** Nest passes the context last; a stack before it has line breaks. */
function contextOf(rest: unknown[]): string | undefined {
  const last = rest.at(-1);
  return typeof last === 'string' && !last.includes('\n') ? last : undefined;
}

const fieldsOf = (context: string | undefined) => (context === undefined ? {} : { metadata: { context } });

function textOf(message: unknown): string {
  if (message instanceof Error) return message.message;
  if (typeof message === 'string') return message;
  try {
    return JSON.stringify(message) ?? 'no message';
  } catch {
    return 'a message that cannot be written';
  }
}
