// A ToolContext for tests of one tool method, with nothing behind it but what the test gives.
import { AppError } from '#libs/schemas/errors.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { ToolContext } from '#libs/mcp-server/tool-context.js';

export interface MockContext extends ToolContext {
  /** What the tool has reported so far. */
  readonly reported: { progress: number; total?: number | undefined; message?: string | undefined }[];
  /** URIs of resources that it said have changed. */
  readonly updated: string[];
}

export function createMockContext(given: Partial<ToolContext> = {}): MockContext {
  const values = new Map<string, string>();
  const reported: MockContext['reported'] = [];
  const updated: string[] = [];
  const context: MockContext = {
    requestId: 'req_test',
    userId: 'local',
    sessionId: 'sess_test',
    get workspace(): never {
      throw new AppError('tool_unavailable', 'This test gives no workspace');
    },
    logger: silentLogger,
    cache: {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
    },
    signal: new AbortController().signal,
    clientCapabilities: {},
    reportProgress: (progress, total, message) => void reported.push({ progress, total, message }),
    resourceUpdated: (uri) => void updated.push(uri),
    reported,
    updated,
  };
  return Object.defineProperties(context, Object.getOwnPropertyDescriptors(given));
}
