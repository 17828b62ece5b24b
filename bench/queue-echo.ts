// Takes jobs and answers each at once through the reply channel, as a worker does, but for the journal and the tool.
import { silentLogger } from '#libs/logging/logger.js';
import { ReplySender } from '../apps/worker/jobs/reply-sender.js';
import { echoWorker, openPartsBacking, registerEchoWorker } from './queue-part.js';

const concurrency = 64;
await registerEchoWorker('echo');
const backing = await openPartsBacking('echo');
const replies = new ReplySender(backing.channels, silentLogger);
await backing.consume(
  async ({ job: { callId, replyTo } }) => {
    replies.send(replyTo, {
      kind: 'outcome',
      callId,
      outcome: { state: 'completed', blocks: [{ type: 'text', text: 'hello' }], durationMs: 0 },
    });
  },
  { worker: echoWorker, concurrency },
);
process.send!('ready');
process.once('disconnect', () => process.exit(0));
