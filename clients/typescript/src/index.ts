// The exports of the package.
export type * from './answers.js';
export type * from './api-types.js';
export { approvalRequests, decisionMessage, signInRequests } from './approval-requests.js';
export type * from './chat-types.js';
export { type LocalErrorCode, SignalboxError } from './errors.js';
export type { CallOptions, ClientOptions, KeyedCallOptions } from './http.js';
export type { AuditFilters, KeyFilters, MadeApiKey, NewApiKey, Operations, UsageFilters } from './operations.js';
export type { ExplainedCall, PolicyResource, SimulatedDraft } from './policy.js';
export type { CursorOptions, Page, PageOptions } from './resources.js';
export { type ChatOptions, Signalbox } from './signalbox.js';
export type { TurnStream } from './turn-stream.js';
