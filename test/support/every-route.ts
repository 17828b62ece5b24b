// Requests every route without a credential, with a wrong one, with insufficient scope and with the right one.
import { expect } from 'vitest';
import { routeScopes } from '../../apps/gateway/http/admin/route-scopes.js';
import type { Scope } from '#libs/schemas/call-context.js';

export interface Credentials {
  wrong: string;
  /** Credentials with only that scope. */
  only: Record<Scope, string>;
}

/** `url`: a gateway that requires keys. Requests look forwarded by a proxy, so none counts as local. */
export async function askEveryRoute(url: string, { wrong, only }: Credentials): Promise<void> {
  for (const [route, scope] of Object.entries(routeScopes)) {
    const [method, pattern] = route.split(' ') as [string, string];
    const status = async (credential?: string) => {
      const headers = {
        'x-forwarded-for': '203.0.113.9',
        ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      };
      const address = url + pattern.replace(/:(?:id|server)/, 'x').replace('*', 'x');
      const answer = await fetch(address, { method, headers, redirect: 'manual', signal: AbortSignal.timeout(5_000) });
      await answer.body?.cancel();
      return [route, answer.status];
    };
    if (scope === 'open' || scope === 'anyone') {
      // A file of the console, a sign-in or an issuer's document may be missing, but nobody is refused it.
      if (/^\/(?:console\/assets|connections|\.well-known)\//.test(pattern))
        expect([401, 403]).not.toContain((await status())[1]);
      else expect((await status())[1]).toBeLessThan(400);
      if (scope === 'anyone') expect(await status(wrong)).toEqual([route, 401]);
      continue;
    }
    expect(await status()).toEqual([route, 401]);
    expect(await status(wrong)).toEqual([route, 401]);
    if (scope === 'key') {
      for (const credential of Object.values(only)) expect([401, 403]).not.toContain((await status(credential))[1]);
      continue;
    }
    const needed = scope === 'operator' ? 'admin' : scope;
    expect(await status(only[needed === 'chat' ? 'files' : 'chat'])).toEqual([route, 403]);
    if (pattern !== '/sse' && route !== 'GET /mcp') expect([401, 403]).not.toContain((await status(only[needed]))[1]);
  }
  expect((await fetch(`${url}/nowhere`)).status).toBe(401);
}
