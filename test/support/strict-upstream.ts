// An upstream that is stricter than the vendor of its family: it follows a plan, remembers its messages, and answers 400 to
// any history that differs from what was exchanged. A fake at the outermost edge.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '#libs/schemas/json.js';

/** The model's message in one round. */
export interface PlannedRound {
  thought?: string;
  text?: string;
  calls?: { name: string; arguments: JsonObject }[];
}

export interface StrictRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: JsonObject;
}

export interface StrictAnswer {
  whole: Json;
  /** SSE frames. */
  frames: string[];
  streamed: boolean;
}

export interface StrictFamily {
  /** The round of the plan that the request asks for. @throws Error that says what is wrong with the request */
  check(request: StrictRequest, plan: readonly PlannedRound[]): number;
  answer(request: StrictRequest, planned: PlannedRound, round: number): StrictAnswer;
  refusal(message: string): Json;
}

export interface StrictUpstream {
  origin: string;
  requests: StrictRequest[];
  /** The reasons of its 400 answers. */
  refusals: string[];
  close(): Promise<void>;
}

export async function startStrictUpstream(
  family: StrictFamily,
  plan: readonly PlannedRound[],
): Promise<StrictUpstream> {
  const requests: StrictRequest[] = [];
  const refusals: string[] = [];
  async function serve(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    let text = '';
    for await (const piece of incoming) text += String(piece);
    if (incoming.method === 'GET') return void reply.writeHead(404).end();
    const request = { path: incoming.url ?? '', headers: incoming.headers, body: JSON.parse(text) as JsonObject };
    requests.push(request);
    try {
      const round = family.check(request, plan);
      const { whole, frames, streamed } = family.answer(request, plan[round]!, round);
      reply.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
      reply.end(streamed ? frames.join('') : JSON.stringify(whole));
    } catch (error) {
      const { message } = error as Error;
      refusals.push(message);
      reply.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(family.refusal(message)));
    }
  }

  const server = createServer((incoming, reply) => void serve(incoming, reply).catch(() => reply.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export const same = (left: unknown, right: unknown) => JSON.stringify(left) === JSON.stringify(right);
