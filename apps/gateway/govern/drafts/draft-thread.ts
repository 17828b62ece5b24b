// The thread that tries a draft of the policy: reads it, and judges calls by it. A hostile text, or patterns that take long, keep only
// this thread busy, and end with it. See policy-drafts.ts.
import { parentPort } from 'node:worker_threads';
import { readPolicyDraft } from '#libs/config/policy-draft.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import type { JudgedTool, PolicySource } from '#libs/policy/decision.js';
import { type AskedCall, explain, type Explanation } from '#libs/policy/explain.js';
import { judgePastCall, type Judgement, type PastCall, type ToolOf } from '#libs/policy/judge-past-call.js';
import type { TextProblem } from '#libs/schemas/errors.js';
import { judgedTools } from '../../tools/judged-tools.js';

export interface DraftTasks {
  open: { text: string; around: Omit<PolicySource, 'policy'>; tools: readonly JudgedTool[] };
  judge: { calls: readonly PastCall[] };
  explain: { call: AskedCall };
}

export interface DraftAnswers {
  open: { policy: PolicySource['policy'] } | { problems: TextProblem[] };
  judge: { judgements: Judgement[] };
  explain: { explanation: Explanation };
}

export type DraftTask = { [Kind in keyof DraftTasks]: { kind: Kind } & DraftTasks[Kind] }[keyof DraftTasks];

let opened: { policy: CompiledPolicy; toolOf: ToolOf } | undefined;

function answerTo(task: DraftTask): DraftAnswers[keyof DraftAnswers] {
  if (task.kind === 'open') {
    const read = readPolicyDraft(task.text);
    if ('problems' in read) return read;
    opened = { policy: new CompiledPolicy({ ...task.around, policy: read.policy }), toolOf: judgedTools(task.tools) };
    return read;
  }
  const { policy, toolOf } = opened!;
  if (task.kind === 'explain') return { explanation: explain(policy, task.call) };
  return { judgements: task.calls.map((call) => judgePastCall(policy, call, toolOf)) };
}

parentPort?.on('message', (task: DraftTask) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(answerTo(task));
});
