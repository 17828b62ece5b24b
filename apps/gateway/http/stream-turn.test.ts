import { fastify } from 'fastify';
import { expect } from 'vitest';
import type { NumberedEvent } from '#libs/runs/run-store.js';
import { verifies } from '../../../test/verifies.js';
import { commentKeepAlive } from '../doors/sse-renderer.js';
import { streamTurn } from './stream-turn.js';

verifies('chat.stream.keep-alive', 'headers go out though nothing has happened and no keep-alive is due', async () => {
  let happen: () => void = () => undefined;
  const happened = new Promise<void>((resolve) => (happen = resolve));
  async function* events(): AsyncGenerator<NumberedEvent[]> {
    await happened;
    yield [{ n: 1, event: { type: 'content', text: 'late' } }];
  }
  const server = fastify();
  server.get('/', (_request, reply) =>
    streamTurn(
      reply,
      events(),
      {
        render: () => 'data: late\n\n',
        renderError: () => '',
        end: 'data: end\n\n',
        keepAlive: commentKeepAlive,
      },
      {
        requestId: 'req_1',
        headersAfterMs: 10,
        keepAliveMs: 600_000,
        stuckReaderMs: 600_000,
        detached: false,
        onError: () => undefined,
      },
    ),
  );
  try {
    const answer = await fetch(await server.listen({ host: '127.0.0.1', port: 0 }));
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    happen();
    expect(await answer.text()).toBe(': keep-alive\n\ndata: late\n\ndata: end\n\n');
  } finally {
    await server.close();
  }
});
