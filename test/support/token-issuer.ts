// An OIDC issuer controlled by a test: discovery and keys over HTTP, and valid or invalid tokens.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export interface TokenChanges {
  /** Replaces the usual claims; undefined removes a claim. */
  claims?: JWTPayload;
  header?: { kid?: string; typ?: string };
}

interface IssuerKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  jwk: JWK;
}

export const audience = 'signalbox';

export async function startTokenIssuer() {
  const keys = [await makeKey('first', 'RS256')];
  const asked: string[] = [];
  let rotations = 0;
  const issuer = {
    url: '',
    /** The paths requested so far. */
    asked,
    /** The answer sent instead of the documents. */
    broken: undefined as undefined | { status: number; body: string },
    /** Signs with the newest key. */
    async token({ claims = {}, header = {} }: TokenChanges = {}): Promise<string> {
      const { kid, alg, privateKey } = keys.at(-1)!;
      return new SignJWT(claimsOf(claims)).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
    },
    /** Signed with the public key as if it were a shared secret. */
    async confusedToken(): Promise<string> {
      const { kid, publicKey } = keys.at(-1)!;
      const secret = new TextEncoder().encode(await exportSPKI(publicKey));
      return new SignJWT(claimsOf({})).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
    },
    /** With the algorithm `none`, or another name for it, and no signature. */
    unsignedToken(alg = 'none'): string {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${part({ alg, typ: 'JWT' })}.${part(claimsOf({}))}.`;
    },
    /** From now on only the new key is published, unless the old ones are kept. */
    async rotate({ alg = 'ES256', keepOld = false } = {}): Promise<void> {
      const made = await makeKey(`rotated-${++rotations}`, alg);
      if (!keepOld) keys.length = 0;
      keys.push(made);
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const claimsOf = (claims: JWTPayload): JWTPayload => {
    const now = Math.floor(Date.now() / 1_000);
    return { iss: issuer.url, aud: audience, sub: 'alice', iat: now, exp: now + 3_600, ...claims };
  };
  const server = createServer((request, response) => {
    const path = request.url!;
    asked.push(path);
    const documents: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` },
      '/keys': { keys: keys.map(({ jwk }) => jwk) },
    };
    const { broken } = issuer;
    response.setHeader('content-type', 'application/json');
    response.statusCode = broken?.status ?? (documents[path] === undefined ? 404 : 200);
    response.end(broken?.body ?? JSON.stringify(documents[path] ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}

export type TokenIssuer = Awaited<ReturnType<typeof startTokenIssuer>>;

async function makeKey(kid: string, alg: string): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}
