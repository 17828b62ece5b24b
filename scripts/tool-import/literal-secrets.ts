// Takes literal secrets out of an entry: each becomes `${NAME}`, and its value a line of `.env`. When in doubt a value counts as
// a secret, because one that is moved needlessly does no harm.
import { hasPassword } from '#libs/config/secrets.js';
import { NotImportable, variableFor, type ImportedEntry, type ImportedServer } from './imported-server.js';

const secretName =
  /key|token|secret|pass|pwd|auth|cred|cookie|session|signature|dsn|connection|private|bearer|(?:^|[_-])(?:pat|sid|pin)(?:$|[_-])/i;
const openHeaders = /^(?:accept|accept-language|content-type|user-agent|mcp-protocol-version)$/i;
const knownTokens = /^(?:sk-|pk-|rk_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza|eyJ|npm_|hf_|ya29\.|Bearer\s)/;
const reference = /\$?\$\{[^}]*\}/g;

/** Long, of letters and digits mixed, and no path: what a generated key looks like. */
function looksLikeToken(text: string): boolean {
  if (knownTokens.test(text)) return true;
  return text.length >= 20 && /^[\w+/=.~-]+$/.test(text) && !/^[.~]?\//.test(text) && digitsAmongLetters(text);
}

/** Words with a version, such as `@scope/server-name@1.2.3`, change between letters and digits seldom. */
const digitsAmongLetters = (text: string): boolean => (text.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g) ?? []).length >= 3;

function isSecretUrl(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return false;
  const [address = '', query] = text.split('?');
  return hasPassword(text.replaceAll(reference, 'x')) || query !== undefined || address.split('/').some(looksLikeToken);
}

/** A switch, a number, a few words, a path, an address without anything secret. */
const plainValue = /^(?:\d{1,8}|[A-Za-z][A-Za-z .,_-]{0,31}|(?:~|\.{1,2})?\/[^\0]*|\$\{[^}]*\}|)$/;

function isPlain(value: string): boolean {
  if (looksLikeToken(value)) return false;
  return plainValue.test(value) || (/^[a-z][a-z0-9+.-]*:\/\//i.test(value) && !isSecretUrl(value));
}

/** Moves them from the entry into `moved`. @throws NotImportable for what would be partly secret */
export function moveSecrets(server: Pick<ImportedServer, 'name' | 'entry' | 'moved'>): void {
  const { name, entry, moved } = server;
  const put = (what: string, value: string): string => {
    let variable = variableFor(name, what);
    for (let at = 2; moved.has(variable) && moved.get(variable) !== value; at += 1) {
      variable = variableFor(name, `${what}_${at}`);
    }
    moved.set(variable, value);
    return `\${${variable}}`;
  };
  /** What is around references may be secret too, and then it cannot be taken out. */
  const whole = (what: string, value: string): string => {
    if (!value.includes('${')) return put(what, value);
    throw new NotImportable(`${what} mixes a variable with text that may be secret: put all of it into one variable`);
  };
  for (const [key, value] of Object.entries(entry.env ?? {})) {
    const isReference = value.replaceAll(reference, '') === '';
    const mayStay = isReference || (!secretName.test(key) && isPlain(value));
    if (!mayStay) entry.env![key] = whole(key, value);
  }
  for (const [key, value] of Object.entries(entry.headers ?? {})) {
    if (openHeaders.test(key)) continue;
    const [, scheme = '', rest = ''] = /^((?:Bearer|Basic|Token|ApiKey) +)?(.*)$/is.exec(value)!;
    if (rest.replaceAll(reference, '') !== '') entry.headers![key] = scheme + whole(key, rest);
  }
  if (entry.args !== undefined) entry.args = moveFromArguments(entry.args, whole);
  if (entry.url !== undefined) entry.url = moveFromUrl(entry, put);
}

function moveFromArguments(args: readonly string[], whole: (what: string, value: string) => string): string[] {
  return args.map((word, at) => {
    const before = args[at - 1] ?? '';
    if (/^--?[\w-]+$/.test(before) && secretName.test(before) && !word.startsWith('-')) return taken(before, word);
    // `--header "Authorization: Bearer …"`, `-e NAME=value`, `--token=value`
    const [, label, rest] = /^([\w-]+(?:=|:\s*))(.*)$/s.exec(word) ?? [];
    if (label !== undefined && !rest!.startsWith('//') && (secretName.test(label) || isSecret(rest!))) {
      return label + taken(label, rest!);
    }
    return isSecret(word) ? taken('argument', word) : word;
  });

  function taken(label: string, value: string): string {
    return value.replaceAll(reference, '') === '' ? value : whole(label, value);
  }
}

const isSecret = (word: string): boolean => looksLikeToken(word) || isSecretUrl(word);

function moveFromUrl({ url = '' }: ImportedEntry, put: (what: string, value: string) => string): string {
  const [, start = '', authority = '', rest = ''] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/is.exec(url) ?? [];
  if (authority.includes('@')) throw new NotImportable('its url has a user name or password: use a header');
  const [path = '', query] = rest.split(/\?(.*)/s);
  const parts = path.split('/').map((part) => (looksLikeToken(part) ? put('url', part) : part));
  const parameters = query?.split('&').map((pair) => {
    const [key = '', value = ''] = pair.split(/=(.*)/s);
    const isOpen = value === '' || value.startsWith('${') || (!secretName.test(key) && isPlain(value));
    return isOpen ? pair : `${key}=${put(key, value)}`;
  });
  return start + authority + parts.join('/') + (parameters === undefined ? '' : `?${parameters.join('&')}`);
}
