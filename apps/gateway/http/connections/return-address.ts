// Where a person may be sent after a sign-in: the console, or an origin that the operator trusts. Anything else would let an address
// of ours lead anywhere.
import { AppError } from '#libs/schemas/errors.js';

export const maxReturnTo = 2_000;

export interface ReturnPlaces {
  publicUrl: string;
  /** Origins of `server.allowed_origins`. */
  origins: readonly string[];
}

/** A path of the console or an absolute address, as an absolute address. @throws AppError invalid_value */
export function readReturnTo(
  given: string | null | undefined,
  { publicUrl, origins }: ReturnPlaces,
): string | undefined {
  if (given === undefined || given === null) return undefined;
  const base = new URL(publicUrl);
  const below = base.pathname.replace(/\/$/, '');
  // Browsers read a backslash, and two slashes, as the beginning of a host.
  const text = given.startsWith('/') ? `${below}${given}` : given;
  const address = URL.canParse(text, base.href) ? new URL(text, base) : undefined;
  const isWhole = /^(?:\/|https?:\/\/)/.test(given);
  if (isWhole && address !== undefined && address.username === '' && address.password === '') {
    const isConsole = address.origin === base.origin && isBelow(address.pathname, `${below}/console`);
    if (isConsole || (!given.startsWith('/') && origins.includes(address.origin))) return address.href;
  }
  const message = 'return_to must be a path of the console, or an address of an origin in ALLOWED_ORIGINS';
  throw new AppError('invalid_value', message, { param: 'return_to' });
}

const isBelow = (path: string, above: string): boolean => path === above || path.startsWith(`${above}/`);
