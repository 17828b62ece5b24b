// Resources and prompts as the policy judges them: like a tool that only reads.
import type { JudgedKind, JudgedTool } from './decision.js';

/** A resource, with the URI of its server, or a prompt, with the name of its server. */
export interface OfferedItem {
  kind: Exclude<JudgedKind, 'tool'>;
  server: string;
  name: string;
}

export const judgedItem = ({ kind, server, name }: OfferedItem): JudgedTool => ({
  kind,
  server,
  tool: name,
  readOnly: true,
  annotations: {},
});

/** A URI as it is, and as servers may read it: resolved as URLs are, and decoded. */
export function spellingsOf(uri: string): string[] {
  const forms = [uri, decoded(uri)].map((form) => decoded(URL.canParse(form) ? new URL(form).href : form));
  return [...new Set([uri, ...forms])];
}

function decoded(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}
