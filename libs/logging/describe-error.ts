// An error as the log shows it: code and message with its causes. Stacks, and paths of this host, only at debug.
import { AppError } from '#libs/schemas/errors.js';

export interface DescribedError {
  code: string;
  message: string;
  upstreamStatus?: number;
  stack?: string[];
  cause?: DescribedError;
}

const maxCauses = 3;

/** An absolute path of two or more parts, POSIX or Windows; paths that tools see (`/mcp_workspaces/…`) and URLs are none. */
const hostPath =
  /(?<![\w:/.])(?:file:\/\/)?\/(?!mcp_workspaces\b|tmp\b|api\/|v1\/)[\w.@~+-]+(?:\/[\w.@~+-]+)+\/?|\b[A-Za-z]:\\[^\s'"]+/g;

export function describeError(error: unknown, debug: boolean, depth = 0): DescribedError {
  if (!(error instanceof Error)) {
    return { code: 'thrown', message: typeof error === 'string' ? hide(error, debug) : `a ${typeof error} was thrown` };
  }
  const described: DescribedError = { code: codeOf(error), message: hide(error.message, debug) };
  if (error instanceof AppError && error.upstreamStatus !== undefined) described.upstreamStatus = error.upstreamStatus;
  if (debug && error.stack !== undefined)
    described.stack = error.stack
      .split('\n')
      .slice(1, 16)
      .map((line) => line.trim());
  if (error.cause !== undefined && depth < maxCauses) described.cause = describeError(error.cause, debug, depth + 1);
  return described;
}

function codeOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && code !== '' ? code : error.name;
}

/** For parts of a message beside the error itself. */
export const hideHostPaths = (text: string): string => text.replace(hostPath, '<path>');

const hide = (text: string, debug: boolean) => (debug ? text : hideHostPaths(text));
