// What a policy is asked and what it answers.
import type { Config } from '#libs/config/schema.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

/** What of the configuration decides. */
export type PolicySource = Pick<Config, 'policy' | 'mcpServers' | 'isolation'>;

export type Effect = 'allow' | 'deny' | 'require_approval';

export interface Decision {
  effect: Effect;
  /** The rule that decided, for the audit row; `default` or `default:…` where none did. */
  rule: string;
  /** Shown to the model and the caller. */
  reason?: string;
}

/** Who calls, as rules can tell. */
export interface Caller {
  principal: string;
  keyId?: string;
  roles?: readonly string[];
}

/** What a decision is made on; `readOnly` as this call of the tool is treated. */
export type JudgedTool = Pick<CatalogTool, 'server' | 'tool' | 'isolation' | 'readOnly' | 'annotations'>;
