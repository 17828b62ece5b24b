// A script that the server runs atomically, sent by digest and in full only if the server does not know it.
import { createHash } from 'node:crypto';
import type { RedisClient } from './redis-client.js';

type Argument = string | number | Buffer;

export class RedisScript {
  private readonly digest: string;

  constructor(private readonly lua: string) {
    this.digest = createHash('sha1').update(lua).digest('hex');
  }

  /** All keys are in one slot. The caller must know the type of the server's answer. */
  run(client: RedisClient, keys: readonly string[], values: readonly Argument[]): Promise<unknown> {
    return client.evalsha(this.digest, keys.length, ...keys, ...values).catch((error: unknown) => {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.eval(this.lua, keys.length, ...keys, ...values);
    });
  }
}
