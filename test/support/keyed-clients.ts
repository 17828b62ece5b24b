// Clients that always have so many turns under way, each turn with its key, and never give one up; and the plan that the
// model follows in their turns: an effect by a server of the session, one by a shared server, then an answer.
import type { ReceivedRequest, ScriptedAnswer } from '#libs/testing/scripted-upstream.js';
import type { StartedProcess } from '#libs/testing/services/start-process.js';
import { type Completion, messagesOf, post } from './scripts.js';

/** Of `MCP_SERVERS`: the builtin tools once shared and once for each session alone. */
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
  /** Of the turns' names. */
  prefix: string;
  /** Those that a client knows of: read anew for every try. */
  gateways: readonly StartedProcess[];
  atOnce: number;
  sessions: number;
  /** A turn that is not answered for so long fails. */
  patienceMs: number;
}

export class KeyedClients {
  answers: { name: string; status: number; body: Completion }[] = [];
  /** Answers that were neither the turn's nor one that says when to come again. */
  failures: string[] = [];
  private stopping = false;
  private begun = 0;
  private readonly loops: Promise<void[]>;

  constructor(private readonly options: KeyedClientsOptions) {
    this.loops = Promise.all(Array.from({ length: options.atOnce }, () => this.turns()));
    // Told to whoever stops them.
    this.loops.catch(() => undefined);
  }

  /** No new turn; resolves when those under way have been answered. */
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
      // For a moment there may be none: the next one is on its way.
      const { url } = gateways[attempt % gateways.length] ?? { url: 'http://127.0.0.1:1' };
      try {
        const answer = await post(url, '/api/chat/completions', body, headers);
        if (answer.status === 200) return { name, ...answer };
        if (!answer.headers.has('retry-after')) this.failures.push(`${name}: ${JSON.stringify(answer.body)}`);
      } catch {
        // Nobody listens there any more, or is gone.
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`${name} was not answered`);
  }
}
