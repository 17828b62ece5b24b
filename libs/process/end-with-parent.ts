// Ends a process whose supervisor is gone. The supervisor holds the other end of our stdin and never writes to it: its
// end closes the pipe, however it died. Knows nothing of what has to be stopped, and does nothing when not supervised.
import type { Socket } from 'node:net';

/** Set to `1` by `npm start` in what it starts. */
export const supervisedVariable = 'SIGNALBOX_SUPERVISED';

export interface EndWithParentOptions {
  /** Starts the graceful stop; called once at most. */
  stop: (reason: string) => void;
  /** How long that may take before the process is ended as it is. */
  deadlineMs: number;
  /** The pipe that the supervisor holds; stdin unless given. */
  pipe?: NodeJS.ReadableStream;
}

/** Returns what undoes it. */
export function endWithParent({ stop, deadlineMs, pipe = process.stdin }: EndWithParentOptions): () => void {
  let told = false;
  const tell = () => {
    if (told) return;
    told = true;
    // Does not keep the process: a stop that works ends it long before.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), deadlineMs).unref();
    stop('the supervisor is gone');
  };
  const events = ['end', 'close', 'error'] as const;
  for (const event of events) pipe.on(event, tell);
  pipe.resume();
  // Waiting for the supervisor's end is no reason to live.
  (pipe as Partial<Socket>).unref?.();
  return () => {
    for (const event of events) pipe.off(event, tell);
    pipe.pause();
  };
}
