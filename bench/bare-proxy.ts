// The least that a proxy can be: Fastify, undici, and nothing in between but a body that is read and written again. What
// this machine takes for it, in the same run, is what nobody stays under. Arguments: its port, the upstream's address.
import Fastify from 'fastify';
import { Pool } from 'undici';

const [port, upstreamUrl] = process.argv.slice(2) as [string, string];
const path = '/v1/chat/completions';
const headers = { 'content-type': 'application/json' };
const upstream = new Pool(upstreamUrl, { connections: 64 });
const server = Fastify();

server.post(path, async (request, reply) => {
  const answer = await upstream.request({ method: 'POST', path, headers, body: JSON.stringify(request.body) });
  void reply.header('content-type', answer.headers['content-type']);
  if ((request.body as { stream?: boolean }).stream === true) return reply.send(answer.body);
  return reply.send(await answer.body.json());
});

await server.listen({ port: Number(port), host: '127.0.0.1' });
