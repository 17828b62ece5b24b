// The input and output of a policy.
import type { Config } from '#libs/config/schema.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

type Server = Config['mcpServers'][string];

/** What of a configuration decides about calls. Has no secrets, so that it can be handed on. */
export interface PolicySource {
  policy: Pick<Config['policy'], 'default' | 'rules' | 'file'>;
  mcpServers: Readonly<Record<string, Pick<Server, 'url' | 'openapi' | 'command' | 'trusted' | 'network' | 'tools'>>>;
  isolation: Pick<Config['isolation'], 'minimum'>;
}

export type Effect = 'allow' | 'deny' | 'require_approval';

export interface PolicyDecision {
  effect: Effect;
  /** The rule that decided, for the audit row; `default` or `default:…` if none matched. */
  rule: string;
  reason?: string;
}

export interface JudgedCaller {
  principal: string;
  keyId?: string;
  roles?: readonly string[];
}

/** What a rule can be about. */
export const judgedKinds = ['tool', 'resource', 'prompt'] as const;
export type JudgedKind = (typeof judgedKinds)[number];

/** The tool that is judged; `readOnly` is the value used for this call. */
export type JudgedTool = Pick<
  CatalogTool,
  'server' | 'tool' | 'isolation' | 'readOnly' | 'readOnlyWhen' | 'annotations' | 'actsForCaller'
> & {
  /** Absent: a tool. Otherwise `tool` is the URI of a resource, or the name of a prompt. */
  kind?: Exclude<JudgedKind, 'tool'>;
};
