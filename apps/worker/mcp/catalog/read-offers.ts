// Converts what a server offers besides tools to what the catalog stores. Entries that cannot be used are left out and reported.
import { z } from 'zod';
import { exceedsDepth } from '#libs/json-schema/compile-schema.js';
import type { ServerOffers } from '#libs/runs/catalog/server-offers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ListedOffers } from '../servers/list-pages.js';
import { problemOfName } from './read-definitions.js';

const maxDepth = 32;
const maxEntryBytes = 64 * 1024;
/** Limit for all entries of a server: every gateway keeps them in memory. */
const maxAllBytes = 4 * 1024 * 1024;
const maxUriLength = 4_096;
const maxInstructions = 16 * 1024;

const title = z.string().max(1_000).optional().catch(undefined);
const description = z.string().max(20_000).optional().catch(undefined);
const name = z.string().min(1).max(1_000);
const mimeType = z.string().max(1_000).optional().catch(undefined);
const extra = z.record(z.string(), z.json()).optional().catch(undefined);
const audience = z.array(z.enum(['user', 'assistant'])).optional();
const annotations = z
  .object({
    audience,
    priority: z.number().min(0).max(1).optional(),
    lastModified: z.iso.datetime({ offset: true }).optional(),
  })
  .optional()
  .catch(undefined);
const uri = z
  .string()
  .max(maxUriLength)
  .regex(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{C}]*$/u);

const resourceSchema = z.object({
  uri,
  name,
  title,
  description,
  mimeType,
  size: z.number().int().nonnegative().optional().catch(undefined),
  annotations,
  _meta: extra,
});
const templateSchema = z.object({ uriTemplate: uri, name, title, description, mimeType, annotations, _meta: extra });
const promptSchema = z.object({
  name: z.string().refine((given) => problemOfName(given) === undefined),
  title,
  description,
  arguments: z
    .array(
      z.object({ name: z.string().max(1_000), title, description, required: z.boolean().optional().catch(undefined) }),
    )
    .max(1_000)
    .optional(),
  _meta: extra,
});

/** `refused` has the entries left out, with reasons. `principal`: with whose rights they were listed, if it was somebody's. */
export function readOffers(
  server: ConfiguredServer,
  listed: ListedOffers,
  principal?: string,
): { offers: ServerOffers; refused: string[] } {
  const refused: string[] = [];
  let bytes = 0;
  const read = <Entry extends object>(what: string, entries: readonly unknown[], kind: Kind<Entry>): Entry[] => {
    const known = new Map<string, Entry>();
    for (const entry of entries) {
      const found = exceedsDepth(entry, maxDepth) ? undefined : kind.schema.safeParse(withoutNulls(entry)).data;
      const size = found === undefined ? 0 : Buffer.byteLength(JSON.stringify(found));
      const key = found === undefined ? '' : kind.keyOf(found);
      if (found === undefined) refused.push(`a ${what} that cannot be read`);
      else if (known.has(key)) refused.push(`${what} ${key}: listed twice, the first one stays`);
      else if (size > maxEntryBytes) refused.push(`${what} ${key}: larger than ${maxEntryBytes} bytes`);
      else if (bytes + size > maxAllBytes)
        refused.push(`${what} ${key}: all of them are larger than ${maxAllBytes} bytes`);
      else {
        bytes += size;
        known.set(key, definedOnly(found));
      }
    }
    return [...known.values()];
  };
  const { instructions } = listed;
  const offers: ServerOffers = {
    call: callOf(server),
    ...(instructions === undefined ? {} : { instructions: instructions.slice(0, maxInstructions) }),
    resources: read('resource', listed.resources, { schema: resourceSchema, keyOf: (each) => each.uri }),
    templates: read('template', listed.templates, {
      schema: templateSchema,
      keyOf: (each) => each.uriTemplate,
    }),
    prompts: read('prompt', listed.prompts, { schema: promptSchema, keyOf: (each) => each.name }),
    completes: listed.completes,
    subscribes: listed.subscribes,
    ...(principal === undefined ? {} : { resourcesOf: principal }),
  };
  return { offers, refused };
}

interface Kind<Entry> {
  schema: z.ZodType<Entry>;
  keyOf(entry: Entry): string;
}

function callOf({ scope, forwardHeaders, isolation, timeoutMs, maxTimeoutMs }: ConfiguredServer): ServerOffers['call'] {
  return {
    isolation,
    ...(scope === 'session' ? { stateful: true } : {}),
    ...(forwardHeaders.length === 0 ? {} : { forwardHeaders: [...forwardHeaders] }),
    timeoutMs,
    maxTimeoutMs: Math.max(timeoutMs, maxTimeoutMs),
  };
}

const withoutNulls = (entry: unknown): unknown =>
  typeof entry !== 'object' || entry === null ? entry : definedOnly(entry as JsonObject);

function definedOnly<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value != null)) as T;
}
