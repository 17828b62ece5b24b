// What a decision of the policy costs: 1,000 rules of all kinds, 10,000 tools, a handful of callers. The first decision of a
// pair of tool and caller finds its rules, every other one looks them up.
import { readConfig } from '#libs/config/read-config.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import type { Caller, JudgedTool } from '#libs/policy/decision.js';

export const policyScenario = 'policy, 1,000 rules and 10,000 tools';

const goalMicros = 10;
const [servers, toolsOfServer] = [100, 100];
export const callArguments = { path: 'tmp/notes/today.md', command: 'git status' };
const callers: Caller[] = Array.from({ length: 8 }, (_, index) => ({
  principal: `user-${index}`,
  keyId: `key_${index}`,
  roles: [`role-${index % 4}`],
}));

export function measurePolicyDecisions(): void {
  const began = performance.now();
  const policy = new CompiledPolicy(configuration());
  const compiledMs = performance.now() - began;
  const tools = manyTools();
  const [first, again] = [decideAll(policy, tools), decideAll(policy, tools)];
  const met = again < goalMicros ? 'met' : 'missed';
  console.log(
    `${policyScenario.padEnd(44)} read and compiled: ${compiledMs.toFixed(0)} ms | first decision µs: ${first.toFixed(2)} | ` +
      `decision µs: ${again.toFixed(2)} | goal: ≤ ${goalMicros} µs: ${met}`,
  );
}

/** @returns µs a decision */
function decideAll(policy: CompiledPolicy, tools: readonly JudgedTool[]): number {
  const began = performance.now();
  for (const caller of callers) {
    for (const tool of tools) policy.decide(tool, callArguments, caller);
  }
  return ((performance.now() - began) * 1_000) / (callers.length * tools.length);
}

export function manyTools(): JudgedTool[] {
  return Array.from({ length: servers * toolsOfServer }, (_, index) => ({
    server: `server-${index % servers}`,
    tool: `tool_${Math.floor(index / servers)}`,
    readOnly: false,
    annotations: {},
  }));
}

/** One in four for a tool by its name, by a pattern, for a caller, with arguments. */
export function configuration() {
  const rules = Array.from({ length: 1_000 }, (_, index) => ({
    name: `rule-${index}`,
    effect: index % 2 === 0 ? 'deny' : 'allow',
    ...[
      { tool: `server-${index % servers}/tool_${index % toolsOfServer}` },
      { tool: `*-${index % servers}/*_${index % 7}9`, user: `user-${index % 11}` },
      { role: `role-${index % 50}`, tool: `server-${index % servers}/*` },
      { tool: `server-${index % servers}/*`, arguments: [{ path: '$.path', prefix: `tmp/${index}/` }] },
    ][index % 4],
  }));
  return readConfig({ environment: {}, file: { path: 'bench.yaml', text: JSON.stringify({ policy: { rules } }) } });
}
