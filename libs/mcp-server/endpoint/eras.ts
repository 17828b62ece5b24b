// The two eras of MCP: requests that stand for themselves since 2026-07-28, sessions before.
import type { Server } from '@modelcontextprotocol/server';

/** No earlier revision has `requestState` and `subscriptions/listen`. */
export const firstStateless = '2026-07-28';

export const isModern = (server: Server): boolean => (server.getNegotiatedProtocolVersion() ?? '') >= firstStateless;
