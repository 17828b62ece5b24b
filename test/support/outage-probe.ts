// What a gateway answers, and how quickly, while one of its dependencies is unavailable.
import { expect } from 'vitest';
import { postJson } from './read-sse.js';
import { withinMs } from './within-ms.js';

export interface Answer {
  status: number;
  reported: { error?: { code: string; message: string }; id?: string };
  tookMs: number;
  /** The Retry-After header, in seconds as text. */
  retry: string | null;
}

export const getTime = { name: 'get_time', arguments: {} };
export const plainChat = { messages: [{ role: 'user', content: 'hi' }] };

export class OutageProbe {
  /** A function, because the gateway starts after the probe is created. */
  constructor(private readonly gatewayUrl: () => string) {}

  async post(path: string, body: object): Promise<Answer> {
    const startedAt = performance.now();
    const answer = await postJson(`${this.gatewayUrl()}${path}`, body);
    const reported = (await answer.json()) as Answer['reported'];
    const tookMs = performance.now() - startedAt;
    return { status: answer.status, reported, tookMs, retry: answer.headers.get('retry-after') };
  }

  /** For example `200 degraded`. */
  readonly ready = async (): Promise<string> => {
    const answer = await fetch(`${this.gatewayUrl()}/health/ready`);
    const { status } = (await answer.json()) as { status: string };
    return `${answer.status} ${status}`;
  };

  /** Resolves when tools run again, with the time that took, ms. */
  async servesAgain(): Promise<number> {
    const since = performance.now();
    const status = async () => (await this.post('/api/tools/call', getTime)).status;
    await expect.poll(status, { timeout: 20_000, interval: 250 }).toBe(200);
    return performance.now() - since;
  }

  expectRefused(answers: readonly Answer[]): void {
    for (const { status, reported, tookMs, retry } of answers) {
      expect([status, reported.error?.code]).toEqual([503, 'store_unavailable']);
      expect(Number(retry)).toBeGreaterThan(0);
      expect(tookMs).toBeLessThan(withinMs(2_300));
    }
  }

  /** Plain chats keep working, and readiness reports the problem. */
  async expectPlainChats(): Promise<void> {
    const plain = await Promise.all([1, 2, 3].map(() => this.post('/v1/chat/completions', plainChat)));
    expect(plain.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(Math.max(...plain.map(({ tookMs }) => tookMs))).toBeLessThan(withinMs(1_000));
    expect((await fetch(`${this.gatewayUrl()}/health/live`)).status).toBe(200);
    await expect.poll(this.ready, { timeout: 5_000 }).toBe('200 degraded');
  }
}
