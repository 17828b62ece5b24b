import { connect } from 'node:net';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import type { NumberedEvent } from '#libs/runs/run-store.js';
import type { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../../../test/verifies.js';
import type { TakeTurnEvents } from '../../turn/record.js';
import { commentKeepAlive } from '../../chat-apis/sse-renderer.js';
import { observerOfStreams, streamTurn } from './stream-turn.js';

verifies('chat.stream.keep-alive', 'headers go out though nothing has happened and no keep-alive is due', async () => {
  let happen: () => void = () => undefined;
  const happened = new Promise<void>((resolve) => (happen = resolve));
  const run = async (take: TakeTurnEvents) => {
    await happened;
    await take([{ n: 1, event: { type: 'content', text: 'late' } }]);
  };
  const server = fastify();
  server.get('/', (_request, reply) =>
    streamTurn(
      reply,
      run,
      () => ({
        render: () => 'data: late\n\n',
        renderError: () => '',
        end: 'data: end\n\n',
        keepAlive: commentKeepAlive,
      }),
      {
        requestId: 'req_1',
        headersAfterMs: 10,
        keepAliveMs: 600_000,
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

test('events of one batch go out in one chunk', async () => {
  const content = (n: number): NumberedEvent => ({ n, event: { type: 'content', text: String(n) } });
  const run = async (take: TakeTurnEvents) => {
    await take([content(1), content(2)]);
    await take([content(3)]);
  };
  const server = fastify();
  const renderer = {
    render: (_event: unknown, n: number) => `data: ${n}\n\n`,
    renderError: () => '',
    end: '',
    keepAlive: commentKeepAlive,
  };
  const options = { requestId: 'req_1', headersAfterMs: 600_000, keepAliveMs: 600_000 };
  server.get('/', (_request, reply) =>
    streamTurn(reply, run, () => renderer, { ...options, onError: () => undefined }),
  );
  try {
    const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    let answer = '';
    for await (const piece of socket) {
      answer += String(piece);
      if (answer.endsWith('\r\n0\r\n\r\n')) break;
    }
    expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe(
      '12\r\ndata: 1\n\ndata: 2\n\n\r\n9\r\ndata: 3\n\n\r\n0\r\n\r\n',
    );
  } finally {
    await server.close();
  }
});

test('a bug of ours after the first byte is logged with its request id', async () => {
  const run = async (take: TakeTurnEvents) => {
    await take([{ n: 1, event: { type: 'content', text: 'x' } }]);
    throw new Error('a bug');
  };
  const lines: unknown[] = [];
  const counted: string[] = [];
  const onError = observerOfStreams(
    { countError: (error) => void counted.push((error as AppError).code) },
    { ...silentLogger, error: (...line: unknown[]) => void lines.push(line) },
  );
  const server = fastify();
  const renderer = {
    render: () => 'data: x\n\n',
    renderError: ({ code }: AppError, requestId: string) => `data: ${code} ${requestId}\n\n`,
    end: 'data: end\n\n',
    keepAlive: commentKeepAlive,
  };
  const bounds = { headersAfterMs: 600_000, keepAliveMs: 600_000 };
  server.get('/', (_request, reply) =>
    streamTurn(reply, run, () => renderer, { ...bounds, requestId: 'req_1', onError }),
  );
  try {
    const answer = await fetch(await server.listen({ host: '127.0.0.1', port: 0 }));
    expect(await answer.text()).toBe('data: x\n\ndata: internal_error req_1\n\n');
  } finally {
    await server.close();
  }
  expect(counted).toEqual(['internal_error']);
  const metadata = { code: 'internal_error' };
  expect(lines).toEqual([[{ requestId: 'req_1', error: new Error('a bug'), metadata }, 'Internal error']]);
});
