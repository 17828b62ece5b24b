// What the doctor has found of a tool server.
export interface ServerFinding {
  state: 'ok' | 'problem';
  /** What was looked at. */
  check:
    'document' | 'reached' | 'resource' | 'issuer' | 'credentials' | 'arrived' | 'identity' | 'keys' | 'meta' | 'tools';
  what: string;
  /** What to do about a problem. */
  remedy?: string;
}

export const okFinding = (check: ServerFinding['check'], what: string): ServerFinding => ({ state: 'ok', check, what });
export const problemFinding = (check: ServerFinding['check'], what: string, remedy: string): ServerFinding => ({
  state: 'problem',
  check,
  what,
  remedy,
});
