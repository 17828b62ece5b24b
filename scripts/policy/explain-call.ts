// `signalbox policy explain`: the rule that decides a call, and why each one before it does not.
import { loadConfig } from '#libs/config/load-config.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import { explain, type Explanation } from '#libs/policy/explain.js';
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import { type JsonObject, parseJsonObject } from '#libs/schemas/json.js';
import { readArguments, UsageError } from '../cli/usage-error.js';
import { withStore } from '../with-store.js';
import { policyStore, readKnownTools } from './known-tools.js';

/** @throws UsageError, ConfigError, AppError store_unavailable where the default depends on the catalog */
export async function explainCall(options: string[]): Promise<string> {
  const { values } = readArguments('policy', {
    args: options,
    options: {
      tool: { type: 'string' },
      args: { type: 'string', default: '{}' },
      user: { type: 'string', default: keylessPrincipal },
      role: { type: 'string', multiple: true, default: [] },
      key: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [, server, tool] = /^([^/]+)\/(.+)$/s.exec(values.tool ?? '') ?? [];
  if (server === undefined || tool === undefined)
    throw new UsageError('--tool must be SERVER/TOOL, such as files/write_file', 'policy');
  const args = readObject(values.args);
  const config = loadConfig();
  const policy = new CompiledPolicy(config);
  const caller = {
    principal: values.user,
    roles: values.role,
    ...(values.key === undefined ? {} : { keyId: values.key }),
  };
  let explanation = explain(policy, { tool: { server, tool, readOnly: false, annotations: {} }, args, caller });
  if (explanation.decision?.rule.startsWith('default:') === true) {
    const toolOf = await withStore(config, policyStore, readKnownTools);
    const known = toolOf(server, tool, args);
    if (known === undefined)
      throw new UsageError(`No rule matches, and the catalog has no tool ${values.tool}`, 'policy');
    explanation = explain(policy, { tool: known, args, caller });
  }
  const tried = explanation.tried.map((each) => ({ ...each, differs: undefined }));
  return values.json ? JSON.stringify({ tool: values.tool, ...explanation, tried }, null, 2) : inWords(explanation);
}

function readObject(text: string): JsonObject {
  const value = parseJsonObject(text);
  if (value !== undefined) return value;
  throw new UsageError(`--args must be a JSON object, got ${text}`, 'policy');
}

function inWords({ tried, decision }: Explanation): string {
  const { effect, rule, reason } = decision!;
  const skipped = tried.filter(({ matched }) => !matched).map((each) => `  ${each.rule}: no, ${each.because}`);
  const decider = rule === 'default' || rule.startsWith('default:') ? `no rule matches, ${rule}` : `the rule '${rule}'`;
  return [`${effect}: ${decider}${reason === undefined ? '' : ` (${reason})`}`, ...skipped].join('\n');
}
