// A text as the path that a tool may make of it. Lexical only: links in a workspace are not followed here, and what keeps
// tools inside their workspace is its isolation, never a rule.

/** How tools and models name the workspace of a session. */
const workspacePrefix = /^\/mcp_workspaces\/[^/]+\//;
const encodedPart = /%(?:2e|2f|5c|00)/i;

/** Says exactly where it leads: no `..`, backslash, control character or encoded form of them. */
export function isPlainPath(text: string): boolean {
  if (/[\\\u0000-\u001f\u007f]/.test(text) || encodedPart.test(text)) return false;
  return !text.split('/').includes('..');
}

/** The text itself, and what it comes to when `.`, `..`, repeated and other slashes, and encoded characters are resolved. */
export function pathForms(text: string): string[] {
  const decoded = decode(text);
  const resolved = [text, decoded].map(resolveDots);
  return [...new Set([text, ...resolved, ...resolved.map((path) => path.replace(workspacePrefix, ''))])];
}

function resolveDots(text: string): string {
  const kept: string[] = [];
  const parts = text.normalize('NFC').replaceAll('\\', '/').split('/');
  for (const part of parts) {
    if (part === '..') kept.pop();
    else if (part !== '.' && part !== '') kept.push(part);
  }
  const path = `${parts[0] === '' ? '/' : ''}${kept.join('/')}`;
  // A directory too is inside of itself: `secrets` is under `secrets/`.
  return path === '' || path.endsWith('/') ? path : `${path}/`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A prefix in the form that `pathForms` gives. */
export function prefixForm(prefix: string): string {
  const resolved = resolveDots(prefix);
  return prefix.endsWith('/') || prefix === '' ? resolved : resolved.slice(0, -1);
}
