// A caller's rights, according to its API key. Pure. A caller without `Access` may do everything, because keys are off.
import { starMatcher } from '#libs/policy/tool-glob.js';
import type { Access } from '#libs/schemas/call-context.js';
import type { SignInFailure } from './key-store.js';

export interface Caller {
  principal: string;
  /** Undefined for a user of a token issuer. */
  keyId: string | undefined;
  access: Access;
  /** The tool call that acts for the caller, with a call token. */
  parentCall: string | undefined;
  /** The toolsets at whose addresses a token may be used, if it was issued for these alone. */
  toolsets?: readonly string[];
}

export type SignIn = { caller: Caller } | SignInFailure;

export function allowsModel(access: Access | undefined, model: string): boolean {
  return access?.models === undefined || access.models.some((glob) => matchesGlob(glob, model));
}

export function allowsTool(access: Access | undefined, { server, tool }: { server: string; tool: string }): boolean {
  if (access === undefined) return true;
  const { allow, deny } = access.tools;
  const name = `${server}/${tool}`;
  const matches = (ifUnknown: boolean) => (entry: string) =>
    isToolset(entry) ? (toolsetOf(access, entry)?.has({ server, tool }) ?? ifUnknown) : matchesGlob(entry, name);
  // A set that is not configured allows nothing, and denies everything.
  return (
    access.scopes.includes('tools') && (allow === undefined || allow.some(matches(false))) && !deny?.some(matches(true))
  );
}

/** Whether the key may allow some tool of the server: its tools need not be known. */
export function allowsServer(access: Access | undefined, server: string): boolean {
  if (access === undefined) return true;
  const { allow, deny } = access.tools;
  const all = `${server}/`;
  const mayMatch = (glob: string) => {
    const [start = '', ...rest] = glob.split('*');
    return start.startsWith(all) || (rest.length > 0 && all.startsWith(start));
  };
  const mayAllow = (entry: string) =>
    isToolset(entry) ? toolsetOf(access, entry)?.added.some(mayMatch) === true : mayMatch(entry);
  const deniesAll = (entry: string) =>
    isToolset(entry) ? toolsetOf(access, entry) === undefined : entry.endsWith('*') && matchesGlob(entry, all);
  return access.scopes.includes('tools') && (allow === undefined || allow.some(mayAllow)) && !deny?.some(deniesAll);
}

const isToolset = (entry: string): boolean => entry.startsWith('@');

const toolsetOf = ({ toolsets }: Access, entry: string) => toolsets?.get(entry.slice(1));

/** `*` matches any text, including slashes; every other character matches itself. */
export const matchesGlob = (glob: string, text: string): boolean => starMatcher(glob)(text);
