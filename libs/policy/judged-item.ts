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
