// What connect.ts needs to connect to a server, and connections to begin.
import type { PriorDiscovery } from '@modelcontextprotocol/client';
import type { AppError } from '#libs/schemas/errors.js';
import type { OnServerBound } from '../wire/server-bound.js';
import type { DiscoveryMemory } from './discovery.js';
import type { SamplingSettings } from '../asking/sampling.js';

export interface ConnectOptions {
  signal: AbortSignal;
  cancelGraceMs: number;
  /** Limits all attempts together. */
  startTimeoutMs: number;
  root?: string | undefined;
  /** Sessions share the connection: a question that does not name its call may belong to another session. */
  shared?: boolean;
  /** If given, the server may ask models. */
  sampling?: SamplingSettings | undefined;
  memory?: DiscoveryMemory | undefined;
  onBound?: OnServerBound | undefined;
  /** What a refusal of the server means for the user whose rights the connection has. */
  needed?: ((error: unknown) => AppError | undefined) | undefined;
}

export interface EstablishOptions extends ConnectOptions {
  /** If given, no other era is tried. */
  prior?: PriorDiscovery | undefined;
  /** The server is known to be of the newer era, so its answer to that greeting is awaited for the whole start timeout. */
  isModern?: boolean;
}
