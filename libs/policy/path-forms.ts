// The paths that a tool may derive from a text. Lexical only: links in a workspace are not followed. Isolation keeps tools
// inside their workspace, never a rule.

/** The form in which tools and models name a session's workspace. */
const workspacePrefix = /^\/mcp_workspaces\/[^/]+\//;
const encodedPart = /%(?:2e|2f|5c|00)/i;

/** Whether the path is unambiguous: no `..`, backslash, control character, or encoded form of these. */
export function isPlainPath(text: string): boolean {
  if (/[\\\u0000-\u001f\u007f]/.test(text) || encodedPart.test(text)) return false;
  return !text.split('/').includes('..');
}

/** The text itself, and the result of resolving `.`, `..`, repeated or other slashes, and encoded characters. */
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
  // A directory counts as inside itself: `secrets` is under `secrets/`.
  return path === '' || path.endsWith('/') ? path : `${path}/`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The prefix in the same form as the results of `pathForms`. */
export function prefixForm(prefix: string): string {
  const resolved = resolveDots(prefix);
  return prefix.endsWith('/') || prefix === '' ? resolved : resolved.slice(0, -1);
}
