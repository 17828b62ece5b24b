// Policies and tools for tests of decisions.
import { readConfig } from '#libs/config/read-config.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import type { JudgedCaller, JudgedTool } from '#libs/policy/decision.js';

export const local: JudgedCaller = { principal: 'local' };

export const toolNamed = (server: string, tool: string, more: Partial<JudgedTool> = {}): JudgedTool => ({
  server,
  tool,
  readOnly: false,
  annotations: {},
  ...more,
});

/** What no rule matches is allowed, unless `policy` has another default. */
export const policyOf = (policy: object, mcpServers: object = {}): CompiledPolicy =>
  new CompiledPolicy(
    readConfig({
      environment: {},
      file: { path: 'x.yaml', text: JSON.stringify({ policy: { default: 'allow', ...policy }, mcpServers }) },
    }),
  );
