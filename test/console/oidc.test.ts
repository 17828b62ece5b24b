// Signing in to the console at an issuer: a fake one, which asks nobody and checks the proof key.
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { TestBrowser } from '../support/browser/test-browser.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const suite = `signing in at an issuer${noChromium === undefined ? '' : ` (${noChromium})`}`;

/** Discovery, authorization and tokens in front of the keys of `tokens`, whose `iss` it takes over. */
async function startSignInServer(tokens: TokenIssuer) {
  const challenges = new Map<string, { challenge: string; redirect: string }>();
  const used: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const address = new URL(request.url!, url);
      response.setHeader('access-control-allow-origin', request.headers.origin ?? '*');
      const send = (value: object, status = 200) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
      if (address.pathname === '/.well-known/openid-configuration') {
        return send({
          issuer: url,
          jwks_uri: `${tokens.url}/keys`,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
        });
      }
      if (address.pathname === '/authorize') {
        const asked = address.searchParams;
        expect(asked.get('code_challenge_method')).toBe('S256');
        const code = randomUUID();
        const redirect = asked.get('redirect_uri')!;
        challenges.set(code, { challenge: asked.get('code_challenge')!, redirect });
        const back = new URL(redirect);
        for (const [name, value] of Object.entries({ code, state: asked.get('state')!, iss: url })) {
          back.searchParams.set(name, value);
        }
        return response.writeHead(302, { location: back.href }).end();
      }
      let body = '';
      for await (const part of request) body += String(part);
      const given = new URLSearchParams(body);
      const known = challenges.get(given.get('code') ?? '');
      const proof = createHash('sha256')
        .update(given.get('code_verifier') ?? '')
        .digest('base64url');
      if (known === undefined || proof !== known.challenge || given.get('redirect_uri') !== known.redirect) {
        return send({ error: 'invalid_grant' }, 400);
      }
      challenges.delete(given.get('code')!);
      used.push(proof);
      return send({ access_token: await tokens.token({ claims: { iss: url, sub: 'carol' } }), token_type: 'Bearer' });
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    used,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let tokens: TokenIssuer;
  let issuer: Awaited<ReturnType<typeof startSignInServer>>;
  let browser: TestBrowser;

  beforeAll(async () => {
    tokens = await startTokenIssuer();
    issuer = await startSignInServer(tokens);
    const jwt = { issuer: issuer.url, audience, console_client_id: 'signalbox-console' };
    box = await startSignalboxHere({
      workers: 0,
      environment: Object.fromEntries(
        Object.entries(jwt).map(([name, value]) => [`AUTH_JWT_${name.toUpperCase()}`, value]),
      ),
    });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
    issuer?.close();
    await tokens?.stop();
  });

  verifies('console.oidc', 'in a window of its own, and the page goes on as that person', async () => {
    const policy = (await fetch(`${box.url}/console/`)).headers.get('content-security-policy');
    expect(policy).toContain(`connect-src 'self' ${issuer.url}`);
    const person = await browser.asPerson({ origins: [issuer.url] });
    const { page } = person;
    await person.open();
    const popup = page.waitForEvent('popup');
    await page.getByRole('button', { name: `Sign in with ${new URL(issuer.url).host}` }).click();
    await popup;
    await page.getByText('Signed in as carol').waitFor();
    expect(issuer.used).toHaveLength(1);
    expect(new URL(page.url()).search).toBe('');
    await person.leave();
  });
});
