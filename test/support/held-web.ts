// A web server whose answers the test controls: requests of the `fetch` tool become effects that can be counted and held.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';

export interface HeldWeb {
  url: string;
  /** How often the path was requested. */
  count(path: string): number;
  /** Resolves when the path has been requested. */
  reached(path: string): Promise<void>;
  /** Answers all pending requests for the path. */
  answer(path: string): void;
  /** Answers it from now on without being asked to. */
  answerAlways(path: string): void;
  close(): void;
}

export async function openHeldWeb(): Promise<HeldWeb> {
  const asked = new Map<string, ServerResponse[]>();
  const always = new Set<string>();
  const server = createServer((request, response) => {
    const path = request.url!;
    asked.set(path, [...(asked.get(path) ?? []), response]);
    if (always.has(path)) response.end('effect');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const count = (path: string) => asked.get(path)?.length ?? 0;
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count,
    reached: async (path) => {
      await expect.poll(() => count(path), { timeout: 15_000, interval: 20 }).toBeGreaterThan(0);
    },
    answer: (path) => {
      for (const response of asked.get(path) ?? []) response.end('effect');
    },
    answerAlways: (path) => void always.add(path),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
