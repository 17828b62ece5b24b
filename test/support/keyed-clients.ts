// Clients that always have a given number of turns under way, each with an Idempotency-Key, and retry until they are
// answered. Their turns follow a plan: an effect by a session server, one by a shared server, then an answer.
import type { ReceivedRequest, ScriptedAnswer } from './scripted-upstream.js';
import type { StartedProcess } from './services/start-process.js';
import { type Completion, messagesOf, post } from './scripts.js';

/** For `MCP_SERVERS`: the builtin tools, once shared and once per session. */
export const sharedAndOwnServer = JSON.stringify({
  workspace: { builtin: 'workspace' },
  own: { builtin: 'workspace', scope: 'session' },
});

export function twoEffects(request: ReceivedRequest): ScriptedAnswer {
  const messages = messagesOf(request);
  const name = messages[0]!['content'] as string;
  const round = messages.filter((message) => message['role'] === 'assistant').length;
  const write = (tool: string) => ({
    name: tool,
    arguments: { path: `${name}.txt`, content: `${round}\n`, append: true },
  });
  if (round === 0) return { toolCalls: [write('own__write_file'), { name: 'get_time', arguments: {} }] };
  if (round === 1) return { toolCalls: [write('write_file'), { name: 'own__get_time', arguments: {} }] };
  return { text: `done ${name}` };
}

export interface KeyedClientsOptions {
  /** Prefix of the turn names. */
  prefix: string;
  /** The gateways that the clients know, read anew for every attempt. */
  gateways: readonly StartedProcess[];
  atOnce: number;
  sessions: number;
  /** A turn without an answer for this long fails. */
  patienceMs: number;
}

export class KeyedClients {
  answers: { name: string; status: number; body: Completion }[] = [];
  /** Unexpected answers: neither the turn's own nor a request to retry. */
  failures: string[] = [];
  private stopping = false;
  private begun = 0;
  private readonly loops: Promise<void[]>;

  constructor(private readonly options: KeyedClientsOptions) {
    this.loops = Promise.all(Array.from({ length: options.atOnce }, () => this.turns()));
    // The caller of `stop` gets the error.
    this.loops.catch(() => undefined);
  }

  /** Starts no new turns; resolves when those under way have been answered. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.loops;
  }

  private async turns(): Promise<void> {
    while (!this.stopping) {
      const number = this.begun++;
      this.answers.push(await this.insist(`${this.options.prefix}${number}`, number));
    }
  }

  private async insist(name: string, number: number) {
    const { gateways, sessions, patienceMs } = this.options;
    const body = {
      messages: [{ role: 'user', content: name }],
      tools: ['workspace', 'own'].map((server_label) => ({ type: 'mcp', server_label })),
      session_id: `s${number % sessions}`,
    };
    const headers = { 'idempotency-key': name, connection: 'close' };
    const until = performance.now() + patienceMs;
    for (let attempt = number; performance.now() < until; attempt += 1) {
      // There may be no gateway for a moment, until the next one has started.
      const { url } = gateways[attempt % gateways.length] ?? { url: 'http://127.0.0.1:1' };
      try {
        const answer = await post(url, '/api/chat/completions', body, headers);
        if (answer.status === 200) return { name, ...answer };
        if (!answer.headers.has('retry-after')) this.failures.push(`${name}: ${JSON.stringify(answer.body)}`);
      } catch {
        // The gateway has stopped listening, or has died.
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`${name} was not answered`);
  }
}
