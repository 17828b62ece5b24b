// What a caller may do, as its API key says. Pure. A caller without `Access` may do everything: keys are not in use.
import type { Access } from '#libs/schemas/call-context.js';

export function allowsModel(access: Access | undefined, model: string): boolean {
  return access?.models === undefined || access.models.some((glob) => matchesGlob(glob, model));
}

export function allowsTool(access: Access | undefined, { server, tool }: { server: string; tool: string }): boolean {
  if (access === undefined) return true;
  const { allow, deny } = access.tools;
  const name = `${server}/${tool}`;
  const matches = (glob: string) => matchesGlob(glob, name);
  return access.scopes.includes('tools') && (allow === undefined || allow.some(matches)) && !deny?.some(matches);
}

/** `*` stands for any text, slashes too; everything else for itself. Linear in the text for each star. */
export function matchesGlob(glob: string, text: string): boolean {
  const parts = glob.split('*');
  const first = parts.shift()!;
  const last = parts.pop();
  if (last === undefined) return glob === text;
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let from = first.length;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at === -1 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
