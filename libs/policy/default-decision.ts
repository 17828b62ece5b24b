// Decides calls that no rule matches: allows all, or judges by where the tool runs and what it can reach. A server's claims
// about its own tools count only if it is trusted (`readOnly` already reflects that). The reason tells the approver why, and which
// rule would allow the call.
import type { JsonObject } from '#libs/schemas/json.js';
import type { PolicyDecision, JudgedTool, PolicySource } from './decision.js';

const levels = ['none', 'process', 'confined', 'namespace'];

/** `args` only tell which call of the tool is judged; undefined if unknown. */
export function defaultDecision(
  tool: JudgedTool,
  { policy, mcpServers, isolation }: PolicySource,
  args: JsonObject | undefined,
): PolicyDecision {
  // The application or its user chooses what is read, not a model; the operator has configured the server that has it.
  if (tool.kind !== undefined) return { effect: 'allow', rule: `default:${tool.kind}` };
  if (policy.default === 'allow') return { effect: 'allow', rule: 'default' };
  const asks = (origin: string, why: string): PolicyDecision => ({
    effect: 'require_approval',
    rule: `default:${origin}`,
    reason: `The default policy asks: ${why}. To allow such calls, add to policy.rules in signalbox.yaml: ${allowing(tool)}`,
  });
  const server = Object.hasOwn(mcpServers, tool.server) ? mcpServers[tool.server] : undefined;
  const isTrusted = tool.isolation === 'builtin' || server?.trusted === true;
  const reads = (origin: string, where: string): PolicyDecision => {
    if (tool.readOnly) return { effect: 'allow', rule: `default:${origin}-read-only` };
    return asks(origin, isTrusted ? `${called(tool, args)} ${where} and may change something there` : where);
  };
  // The tool sends only to models that its caller may ask anyway.
  if (tool.actsForCaller === true && isTrusted && tool.annotations.destructiveHint === false) {
    return { effect: 'allow', rule: 'default:acts-for-caller' };
  }
  if (tool.isolation === 'builtin') {
    // A tool that declares access beyond the workspace (`fetch`) is treated like a remote server.
    return tool.annotations.openWorldHint === true
      ? reads('builtin-open-world', 'reaches beyond the workspace')
      : { effect: 'allow', rule: 'default:builtin' };
  }
  const name = `the server '${tool.server}'`;
  if ((server?.url ?? server?.openapi) !== undefined && tool.isolation === 'remote') {
    return reads('remote', isTrusted ? 'runs on a remote server' : `${name} is remote and not trusted`);
  }
  if (server?.command === undefined) return asks('unknown', `${name} is not configured here`);
  if (server.network !== 'none') {
    return reads('network', isTrusted ? 'may use the network' : `${name} may use the network and is not trusted`);
  }
  const { minimum } = isolation;
  return levels.indexOf(tool.isolation ?? '') >= levels.indexOf(minimum)
    ? { effect: 'allow', rule: 'default:confined' }
    : asks('isolation', `${name} runs at isolation ${tool.isolation ?? 'none'}, below isolation.minimum (${minimum})`);
}

/** `fetch` with method POST. */
function called({ tool, readOnlyWhen = {} }: JudgedTool, args: JsonObject = {}): string {
  const changing = Object.entries(readOnlyWhen).find(
    ([name, values]) => Object.hasOwn(args, name) && !values.some((value) => value === args[name]),
  );
  if (changing === undefined) return `\`${tool}\``;
  const [name, values] = changing;
  const value = args[name];
  return `\`${tool}\` with ${name}${values.length > 0 && typeof value === 'string' ? ` ${value.slice(0, 40)}` : ''}`;
}

function allowing({ server, tool }: JudgedTool): string {
  const glob = `${server}/${tool}`;
  const name = `allow-${tool.replace(/[^A-Za-z0-9._-]/g, '-')}`.slice(0, 64);
  return `- { name: ${name}, tool: ${/^[\w./-]+$/.test(glob) ? glob : JSON.stringify(glob)}, effect: allow }`;
}
