// A statement of this installation about who makes a request to a tool server: a JWT for that server alone, valid for a minute.
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { type IdentityKeys, statementAlgorithm } from './identity-keys.js';

export interface StatedCaller {
  /** '': nobody; the gateway asks for itself, and is its own subject. */
  principal: string;
  roles?: readonly string[] | undefined;
  sessionId?: string | undefined;
  runId?: string | undefined;
}

const life = '60s';

export class StatementMint {
  constructor(
    private readonly parts: {
      keys: Pick<IdentityKeys, 'toSign'>;
      /** The public address of the gateway, whose `/.well-known/jwks.json` has the keys. */
      issuer: string;
    },
  ) {}

  /** @throws AppError store_unavailable */
  async state({ principal, roles, sessionId, runId }: StatedCaller, audience: string): Promise<string> {
    const { issuer, keys } = this.parts;
    const { id, key } = await keys.toSign();
    return new SignJWT({ roles: roles && [...roles], sid: sessionId, run: runId })
      .setProtectedHeader({ alg: statementAlgorithm, kid: id, typ: 'JWT' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(principal === '' ? issuer : principal)
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime(life)
      .sign(key);
  }
}
