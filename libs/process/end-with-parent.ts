// Ends a process whose supervisor has died. The supervisor holds the other end of our stdin and never writes to it, so that
// the pipe closes however it dies. Does nothing for processes without a supervisor.
import type { Socket } from 'node:net';

/** `npm start` sets it to `1` for its child processes. */
export const supervisedVariable = 'SIGNALBOX_SUPERVISED';

export interface EndWithParentOptions {
  /** Starts the graceful stop; called at most once. */
  stop: (reason: string) => void;
  deadlineMs: number;
  /** The pipe that the supervisor holds; default stdin. */
  pipe?: NodeJS.ReadableStream;
}

export function endWithParent({ stop, deadlineMs, pipe = process.stdin }: EndWithParentOptions): () => void {
  let told = false;
  const tell = () => {
    if (told) return;
    told = true;
    // The timer must not keep the process alive after a graceful stop.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), deadlineMs).unref();
    stop('the supervisor has ended');
  };
  const events = ['end', 'close', 'error'] as const;
  for (const event of events) pipe.on(event, tell);
  pipe.resume();
  // Watching the supervisor must not keep the process alive.
  (pipe as Partial<Socket>).unref?.();
  return () => {
    for (const event of events) pipe.off(event, tell);
    pipe.pause();
  };
}
