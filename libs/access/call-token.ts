// A call token: a tool call shows it to a gateway and is answered as its caller, while it runs. Signed (HMAC-SHA256), so that
// any gateway can check it; it names the caller and the call, and has no key in it. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';

export interface CallTokenClaims {
  principal: string;
  /** The key whose models, limits and budget apply; absent for a user of a token issuer, and without keys. */
  keyId?: string | undefined;
  callId: string;
  /** Epoch ms. */
  expiresAt: number;
}

export interface SigningKey {
  id: string;
  secret: string;
}

const prefix = 'sbc_';
const form = /^sbc_([0-9a-f-]{36})\.([\w-]{1,4096})\.([\w-]{43})$/;
const payload = z.object({ p: z.string(), k: z.string().optional(), c: z.string(), e: z.number() });

export const isCallToken = (text: string): boolean => text.startsWith(prefix);

export function signCallToken({ principal, keyId, callId, expiresAt }: CallTokenClaims, key: SigningKey): string {
  const claims: z.input<typeof payload> = { p: principal, k: keyId, c: callId, e: expiresAt };
  const signed = `${prefix}${key.id}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  return `${signed}.${macOf(signed, key).toString('base64url')}`;
}

/** The id of the key that the token names as its signer. Undefined if the text has not the form of a call token. */
export const signingKeyOf = (token: string): string | undefined => form.exec(token)?.[1];

/** Undefined if the key did not sign the token. The token may have expired. */
export function verifiedClaims(token: string, key: SigningKey): CallTokenClaims | undefined {
  const [, , , mac = ''] = form.exec(token) ?? [];
  const expected = macOf(token.slice(0, -mac.length - 1), key);
  const given = Buffer.from(mac, 'base64url');
  return given.length === expected.length && timingSafeEqual(given, expected) ? readClaims(token) : undefined;
}

/** Claims without a check of the signature: only for uses that are worth nothing until a gateway accepts the token. */
export function readClaims(token: string): CallTokenClaims | undefined {
  const [, , text = ''] = form.exec(token) ?? [];
  try {
    const {
      p: principal,
      k: keyId,
      c: callId,
      e: expiresAt,
    } = payload.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
    return { principal, keyId, callId, expiresAt };
  } catch {
    return undefined;
  }
}

const macOf = (signed: string, { secret }: SigningKey): Buffer =>
  createHmac('sha256', Buffer.from(secret, 'base64')).update(signed).digest();
