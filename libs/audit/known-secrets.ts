// The secrets that this process knows: those of its configuration, and the callers' headers of calls under way. One list for
// the whole process, so that everything that is written down or answered leaves out the same.

const redacted = '[redacted]';
/** Shorter ones may be parts of normal words. */
const minLength = 8;

let configured: readonly string[] = [];
const held = new Map<string, number>();
let all: readonly string[] = [];

/** These in place of those that were known of the configuration. */
export function knowSecrets(secrets: readonly string[]): void {
  configured = secrets;
  gather();
}

/** Knows these too, until what it returns is called. */
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

/** What stands in a header: the whole value, and what follows its scheme (`Bearer …`). */
export function secretsOfHeader(value: string): string[] {
  const credential = /^[A-Za-z]+ +(\S.*)$/.exec(value)?.[1];
  return credential === undefined ? [value] : [value, credential];
}

function gather(): void {
  const forms = [...configured, ...held.keys()]
    .filter((secret) => secret.length >= minLength)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encoded(secret)]);
  // The longest first: one may be a part of another.
  all = [...new Set(forms)].sort((left, right) => right.length - left.length);
}

/** As it stands in a URL; a lone surrogate stands in none. */
function encoded(secret: string): string {
  try {
    return encodeURIComponent(secret);
  } catch {
    return secret;
  }
}
