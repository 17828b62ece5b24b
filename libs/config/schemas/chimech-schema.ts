// The settings of Chimech (docs/chimech.md).
import { z } from 'zod';
import { count, httpUrl, port, secret, text } from '../setting-kinds.js';

export const chimechSchema = z.strictObject({
  port: port('Port of Chimech').default(8002),
  api_keys: z.array(secret).default([]).meta({
    secret: true,
    description: 'API keys of callers over HTTP; required unless it listens on loopback only',
  }),
  api_keys_created_at: z.iso
    .date()
    .or(z.iso.datetime({ offset: true }))
    .optional()
    .describe('When the oldest of these keys was created, ISO 8601'),
  api_key_rotation_days: count('Age of the keys in days after which Chimech warns').default(90),
  max_requests_per_minute: count('Tool calls of one key per minute, in each process').default(6_000),
  gateway_url: httpUrl('The gateway whose models it uses; default: the one at server.host and server.port').optional(),
  gateway_key: secret
    .optional()
    .describe('API key for that gateway, for callers of Chimech itself; calls of a worker act for their own callers'),
  model: text('Model that answers; default: the default of the gateway').optional(),
  embeddings_model: text('Model for embeddings, of the knowledge base and of the search of tools').optional(),
  embeddings_url: httpUrl(
    'OpenAI-compatible embeddings server for the knowledge base and the search of tools, including /v1',
  ).optional(),
  embeddings_key: secret.optional().describe('API key for that server'),
  templates_dir: text(
    'Directory of templates for chimech/generate; default: those that come with Signalbox',
  ).optional(),
});
