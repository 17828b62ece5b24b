// How a route is described for the OpenAPI document.
import { z } from 'zod';

/** A body's shape by media type; empty for no body. */
export type Content = Readonly<Record<string, z.ZodType>>;

export interface DescribedOperation {
  summary: string;
  description?: string;
  body?: z.ZodType;
  bodyOptional?: boolean;
  /** Default: JSON. */
  bodyType?: string;
  headers?: Record<string, string>;
  query?: Record<string, z.ZodType>;
  /** Answers by status, without errors. */
  answers: Readonly<Record<number, Content>>;
  /** Default: `error`. */
  errors?: z.ZodType;
}

export const json = (schema: z.ZodType): Content => ({ 'application/json': schema });
/** An answer without a body. */
export const nothing: Content = {};
/** A stream. `event` is the shape of each `data:` line except `[DONE]`. */
export const sse = (event?: 'ChatChunk' | 'ChatEvent' | 'SimulationEvent' | 'AuditEvent'): Content => ({
  'text/event-stream': z.string().meta(event === undefined ? {} : { 'x-event-schema': { $ref: `#/$defs/${event}` } }),
});
export const pageLimit = (most: number, usual = 20) => z.int().min(1).max(most).default(usual);
