// Asks an MCP client, if it can be asked, for what its call waits for. Anybody else who may decide can do so meanwhile, which ends the
// question to the client.
import { type InputRequiredResult, isInputRequiredResult } from '@modelcontextprotocol/server';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Wait, WaitDecision } from '#libs/waits/wait.js';
import type { Waits } from '../govern/waits.js';
import type { ToolProgress } from '../turn/dispatch/tool-runner.js';
import { askByResult, askClient, type AskingCall, type ClientQuestion, howToAsk, tellCompleted } from './ask-client.js';
import { formOf } from './client-forms.js';

/** Most clients wait a minute for an answer. */
const comeBackMs = 25_000;

export type WaitDecisions = Pick<Waits, 'decide' | 'decided'>;

/**
 * The wait when somebody has decided or it has expired; still `waiting` if the client cannot be asked or gave no decision; or the
 * result that asks the client. The caller's time stands still meanwhile.
 * @throws the reason of the caller's signal
 */
export async function askForApproval(
  wait: Wait,
  waits: WaitDecisions,
  asking: AskingCall,
  caller: RequestContext,
): Promise<Wait | InputRequiredResult> {
  const over = new AbortController();
  const stop = () => over.abort(caller.signal.reason);
  if (caller.signal.aborted) stop();
  else caller.signal.addEventListener('abort', stop, { once: true });
  const { signal } = over;
  const { question, read } = formOf(wait);
  const ask = async () => {
    const answer = await askClient(question, asking, signal);
    if (isInputRequiredResult(answer)) return answer;
    const decision = read(answer);
    if (decision === 'elsewhere') return howToAsk(asking, 'url') === 'return' ? soon(question) : ended;
    return decision === undefined ? wait : decide(wait, decision, waits, caller);
  };
  const { deadline } = caller;
  const ended = waits.decided(wait.id, { signal, deadline });
  /** A client that comes back is asked again after a while, before it gives up its request. */
  const soon = (question: ClientQuestion) =>
    waits
      .decided(wait.id, { signal: AbortSignal.any([signal, AbortSignal.timeout(comeBackMs)]), deadline })
      .catch(() => {
        signal.throwIfAborted();
        return askByResult(question);
      });
  try {
    const known = await Promise.race([ended, ask()]);
    // Before the answer of the call, on the same stream.
    const isDone = !isInputRequiredResult(known) && known.state === 'approved';
    if (isDone && 'url' in question) tellCompleted(question, asking);
    return known;
  } finally {
    caller.signal.removeEventListener('abort', stop);
    // Cancels the question to the client.
    over.abort('The question was already answered');
  }
}

/** Takes the client's decision. An earlier decision by somebody else counts. */
export async function decide(
  wait: Wait,
  decision: WaitDecision,
  waits: WaitDecisions,
  caller: RequestContext,
): Promise<Wait> {
  try {
    return await waits.decide(wait.id, decision, caller);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // The content does not match the schema of the question.
    if (error.code === 'invalid_value') return waits.decide(wait.id, { decision: 'deny' }, caller);
    if (error.code !== 'approval_already_decided') throw error;
    return waits.decided(wait.id, caller);
  }
}

/** Asks the client what the server of its request asks meanwhile; the server gets the answer. The rest of the progress is reported. */
export function askingProgress(
  { asking, caller, approvals }: { asking: AskingCall; caller: RequestContext; approvals: WaitDecisions },
  report: (progress: ToolProgress) => void,
): (progress: ToolProgress) => void {
  return (progress) => {
    // An error means that the client has gone, which ends its request.
    if (progress.asks !== undefined) askForApproval(progress.asks, approvals, asking, caller).catch(() => undefined);
    report(progress);
  };
}
