// What a caller may do, as its API key says. Pure. A caller without `Access` may do everything: keys are not in use.
import { starMatcher } from '#libs/policy/tool-glob.js';
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

/** `*` stands for any text, slashes too; everything else for itself. */
export const matchesGlob = (glob: string, text: string): boolean => starMatcher(glob)(text);
