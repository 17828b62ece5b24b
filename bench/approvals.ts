// How long a decision takes to a held stream: the stream is on one gateway, the decision is given on another. Timed from the
// request that decides to the event with the result of the call, which has run in between.
import type { System } from './system.js';

const times = 100;
const goalMs = 250;

export const approvalSettings = {
  POLICY_RULES: JSON.stringify([{ name: 'bench', tool: '*/get_time', effect: 'require_approval' }]),
};

const body = JSON.stringify({
  messages: [{ role: 'user', content: 'What time is it?' }],
  tools: [{ type: 'mcp', server_label: 'workspace' }],
  stream: true,
  approval: 'hold',
});

export async function measureApprovals(system: System): Promise<void> {
  const other = await system.startGateway();
  const tookMs: number[] = [];
  for (let done = 0; done < times; done += 1) tookMs.push(await decideOne(system.gateway.url, other.url));
  tookMs.sort((one, next) => one - next);
  const at = (share: number) => tookMs[Math.min(times - 1, Math.floor(times * share))]!.toFixed(1);
  const met = tookMs.at(-1)! <= goalMs ? 'met' : 'missed';
  console.log(
    `approval to a held stream on another gateway, ${times} times  p50 ms: ${at(0.5)} | p99 ms: ${at(0.99)} | ` +
      `longest ms: ${at(1)} | goal: ≤ ${goalMs} ms: ${met}`,
  );
}

async function decideOne(url: string, other: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/api/chat/completions`, { method: 'POST', headers, body });
  let text = '';
  let began: number | undefined;
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const asked = /"type":"approval_required".*?"id":"(appr_[^"]+)"/.exec(text)?.[1];
    if (began === undefined && asked !== undefined) {
      began = performance.now();
      const decision = { method: 'POST', headers, body: '{"decision":"approve"}' };
      const decided = await fetch(`${other}/api/approvals/${asked}`, decision);
      if (decided.status !== 200) throw new Error(`not decided: ${await decided.text()}`);
    } else if (began !== undefined && text.includes('"type":"tool_result"')) return performance.now() - began;
  }
  throw new Error(`the stream ended without a result: ${text.slice(-500)}`);
}
