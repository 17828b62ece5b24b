// Adds jobs by the port and waits for their answers, as a gateway does, but for the journal.
import { silentLogger } from '#libs/logging/logger.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { ReplyInbox } from '../apps/gateway/tools/calls/reply-inbox.js';
import { answerTheBench, keepBusy } from './keep-busy.js';
import { echoWorker, openPartsBacking } from './queue-part.js';

const gatewayId = 'bench-trips';
const answerMs = 10_000;
const backing = await openPartsBacking('trips');
const inbox = new ReplyInbox(backing.channels, gatewayId, silentLogger);
await inbox.start();

async function trip(): Promise<void> {
  const job = newJob();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('no answer')), answerMs);
  let stopListening: (() => void) | undefined;
  try {
    const answered = new Promise<void>((resolve, reject) => {
      stopListening = inbox.listen(job.callId, { reply: () => resolve(), gap: () => undefined });
      late.signal.addEventListener('abort', () => reject(late.signal.reason as Error));
    });
    await Promise.all([backing.queue.add(job, { worker: echoWorker, signal: late.signal }), answered]);
  } finally {
    clearTimeout(timer);
    stopListening?.();
  }
}

function newJob(): ToolJob {
  const now = Date.now();
  return {
    version: 1,
    callId: mintCallId(true),
    replyTo: gatewayId,
    principal: 'local',
    requestId: 'req_bench',
    sessionId: 'bench',
    server: 'bench',
    tool: 'say',
    name: 'say',
    definitionHash: 'none',
    arguments: { text: 'hello' },
    safe: true,
    priority: 'interactive',
    timeoutMs: answerMs,
    maxTimeoutMs: answerMs,
    deadline: now + answerMs,
    queuedAt: now,
  };
}

answerTheBench((busy) => keepBusy(busy, trip));
process.send!('ready');
