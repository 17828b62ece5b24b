// The supervisor's own log: sentences on a terminal, one JSON line each elsewhere, as the services write them.
import type { LogFields, Logger } from '#libs/logging/logger.js';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LEVELS)[number];

export function consoleLogger(minimum: Level, fields: LogFields = {}): Logger {
  const write = (level: Level) => (more: LogFields, message: string) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(minimum)) return;
    const { error, ...rest } = { ...fields, ...more };
    const line = process.stdout.isTTY
      ? `${level === 'info' ? '' : `${level}: `}${message}`
      : JSON.stringify({ timestamp: new Date().toISOString(), level, message, service: 'supervisor', ...rest });
    console.log(error instanceof Error ? `${line}: ${error.message}` : line);
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (more) => consoleLogger(minimum, { ...fields, ...more }),
  };
}
