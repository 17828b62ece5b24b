// Decides calls that no rule matches: allows all, or judges by where the tool runs and what it can reach. A server's claims
// about its own tools count only if it is trusted (`readOnly` already reflects that).
import type { Decision, JudgedTool, PolicySource } from './decision.js';

const levels = ['none', 'process', 'confined', 'namespace'];

export function defaultDecision(tool: JudgedTool, { policy, mcpServers, isolation }: PolicySource): Decision {
  if (policy.default === 'allow') return { effect: 'allow', rule: 'default' };
  const reads = (origin: string): Decision =>
    tool.readOnly
      ? { effect: 'allow', rule: `default:${origin}-read-only` }
      : { effect: 'require_approval', rule: `default:${origin}` };
  const server = Object.hasOwn(mcpServers, tool.server) ? mcpServers[tool.server] : undefined;
  const isTrusted = tool.isolation === 'builtin' || server?.trusted === true;
  // What it sends goes to models that its caller may ask anyway.
  if (tool.actsForCaller === true && isTrusted && tool.annotations.destructiveHint === false) {
    return { effect: 'allow', rule: 'default:acts-for-caller' };
  }
  if (tool.isolation === 'builtin') {
    // A tool that declares access beyond the workspace (`fetch`) is treated like a remote server.
    return tool.annotations.openWorldHint === true
      ? reads('builtin-open-world')
      : { effect: 'allow', rule: 'default:builtin' };
  }
  if (server?.url !== undefined && tool.isolation === 'remote') return reads('remote');
  if (server?.command === undefined) return { effect: 'require_approval', rule: 'default:unknown' };
  if (server.network !== 'none') return reads('network');
  return levels.indexOf(tool.isolation ?? '') >= levels.indexOf(isolation.minimum)
    ? { effect: 'allow', rule: 'default:confined' }
    : { effect: 'require_approval', rule: 'default:isolation' };
}
