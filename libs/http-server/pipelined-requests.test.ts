import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fastify, type FastifyInstance, type FastifyReply } from 'fastify';
import { expect } from 'vitest';
import type { AppError } from '#libs/schemas/errors.js';
import { verifies } from '../../test/verifies.js';
import { silentLogger } from '#libs/logging/logger.js';
import { boundPipelines, boundServer, maxPipelined, whenGone } from './connections.js';

const request = 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

/** A server that holds every request; `sent` is written to it at once. */
async function holding(sent: string, add: (server: FastifyInstance) => void) {
  const held: FastifyReply[] = [];
  const server = fastify();
  add(server);
  server.setErrorHandler((error: AppError, _request, reply) => void reply.status(error.http).send(error.code));
  server.get('/', (_request, reply) => void held.push(reply));
  const { port } = new URL(await server.listen({ host: '127.0.0.1', port: 0 }));
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(sent);
  return { server, socket, held };
}

async function textOf(socket: Socket): Promise<string> {
  let text = '';
  for await (const piece of socket) text += String(piece);
  return text;
}

verifies('reliability.pipelines', 'a thousand in one write: as many as the bound, one refusal, the end', async () => {
  let refused = 0;
  const { server, socket, held } = await holding(request.repeat(1_000), (each) => {
    const onBound = () => void (refused += 1);
    boundServer(each.server, { stuckReaderMs: 60_000, onBound, logger: silentLogger });
    boundPipelines(each);
  });
  try {
    await expect.poll(() => held.length).toBe(maxPipelined);
    expect(refused).toBe(1);
    for (const reply of held) void reply.send('served');
    const answers = (await textOf(socket)).split(/(?=HTTP\/1\.1 )/);
    expect(answers.map((answer) => answer.slice(9, 12))).toEqual([...held.map(() => '200'), '429']);
    expect(answers.at(-1)).toMatch(/connection: close[\s\S]*concurrency_exceeded/i);
    expect([held.length, refused]).toEqual([maxPipelined, 1]);
  } finally {
    socket.destroy();
    await server.close();
  }
});

verifies('reliability.pipelines', 'one after the other: as many as one likes on a connection', async () => {
  const { server, socket, held } = await holding('', boundPipelines);
  try {
    for (let asked = 1; asked <= 2 * maxPipelined; asked += 1) {
      const answered = once(socket, 'data');
      socket.write(request);
      await expect.poll(() => held.length, { interval: 1 }).toBe(asked);
      void held.at(-1)!.send('served');
      expect(String(await answered)).toContain('200 OK');
    }
  } finally {
    socket.destroy();
    await server.close();
  }
});

verifies(
  'reliability.pipelines',
  'each is told that its client has gone, also those whose turn had not come',
  async () => {
    const gone: string[] = [];
    const { server, socket, held } = await holding(request.repeat(3), (each) => {
      let asked = 0;
      each.addHook('onRequest', ({ raw }, reply, done) => {
        const name = `request ${(asked += 1)}`;
        whenGone(raw, reply.raw, () => void (gone.includes(name) || gone.push(name)));
        done();
      });
    });
    try {
      await expect.poll(() => held.length).toBe(3);
      const first = once(socket, 'data');
      void held[0]!.send('served');
      await first;
      expect(gone).toEqual([]);
      socket.resetAndDestroy();
      await expect.poll(() => gone.sort()).toEqual(['request 2', 'request 3']);
    } finally {
      await server.close();
    }
  },
);
