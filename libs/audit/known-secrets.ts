// The secrets that this process knows, from its configuration and from calls in progress. The whole process has one list,
// so that logs, audit and answers leave out the same secrets.

const redacted = '[redacted]';
/** Shorter secrets may be parts of normal words. */
const minLength = 8;

let configured: readonly string[] = [];
const held = new Map<string, number>();
let all: readonly string[] = [];

/** Replaces the secrets of the configuration. */
export function knowSecrets(secrets: readonly string[]): void {
  configured = secrets;
  gather();
}

/** Adds secrets until the returned function is called. */
export function holdSecrets(secrets: readonly string[]): () => void {
  for (const secret of secrets) held.set(secret, (held.get(secret) ?? 0) + 1);
  gather();
  return () => {
    for (const secret of secrets) {
      const left = (held.get(secret) ?? 1) - 1;
      if (left > 0) held.set(secret, left);
      else held.delete(secret);
    }
    gather();
  };
}

export function strikeOutKnown(text: string): string {
  let shown = text;
  for (const secret of all) if (shown.includes(secret)) shown = shown.replaceAll(secret, redacted);
  return shown;
}

/** The secrets of a header: the whole value, and the part after its scheme (`Bearer …`). */
export function secretsOfHeader(value: string): string[] {
  const credential = /^[A-Za-z]+ +(\S.*)$/.exec(value)?.[1];
  return credential === undefined ? [value] : [value, credential];
}

function gather(): void {
  const forms = [...configured, ...held.keys()]
    .filter((secret) => secret.length >= minLength)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)]);
  // The longest come first, since a secret may be a part of another.
  all = [...new Set(forms)].sort((left, right) => right.length - left.length);
}

/** The secret as in a URL, which cannot contain a lone surrogate. */
function encoded(secret: string): string {
  try {
    return encodeURIComponent(secret);
  } catch {
    return secret;
  }
}
