// A process of its own that takes tool jobs, for tests that kill it, block it, or watch it end. Says what happens in
// lines of JSON; ends when its standard input does.
import { openBacking, type OpenBackingOptions } from '#libs/backing/open-backing.js';

interface ChildTask {
  backing: OpenBackingOptions;
  /** `hold`: never ends a job; `block`: blocks the loop for so long with the first job; `open`: only opens and closes. */
  kind: 'hold' | 'block' | 'open';
  blockMs?: number;
}

const say = (line: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(line)}\n`);

async function main(task: ChildTask): Promise<void> {
  const backing = await openBacking(task.backing);
  if (task.kind === 'open') {
    await backing.channels.subscribe('open', () => undefined);
    const consumer = await backing.consume(async () => undefined, { worker: 'open', concurrency: 2 });
    say({ event: 'ready' });
    await consumer.drain(AbortSignal.timeout(5_000));
    await backing.close();
    say({ event: 'closed' });
    // No process.exit: that nothing holds the process is what the test is about.
    return;
  }
  await backing.consume(
    async ({ job, redelivered }) => {
      say({ event: 'taken', callId: job.callId, redelivered });
      if (task.kind === 'block') {
        // After the line is out.
        await new Promise((resolve) => setTimeout(resolve, 50));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, task.blockMs ?? 0);
        say({ event: 'unblocked', callId: job.callId });
        return;
      }
      await new Promise(() => undefined);
    },
    { worker: 'child', concurrency: 1 },
  );
  say({ event: 'ready' });
  process.stdin.resume().once('end', () => process.exit(0));
}

await main(JSON.parse(process.argv[2]!) as ChildTask);
