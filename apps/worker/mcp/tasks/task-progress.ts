// Shows the status of a task as progress of its call, beside the progress that the server reports itself.
import type { Progress, ProgressListener } from '../wire/guarded-transport.js';

const maxMessage = 2_000;

export class TaskProgress implements ProgressListener {
  private last = 0;
  private isServers = false;

  constructor(private readonly call: ProgressListener) {}

  onProgress(progress: Progress): void {
    this.last = progress.progress;
    this.isServers = true;
    this.call.onProgress(progress);
  }

  /** Without numbers of the server, counts the times that it was heard of. */
  heard(message: string | undefined): void {
    if (!this.isServers) this.last += 1;
    const said = message === undefined ? {} : { message: message.slice(0, maxMessage) };
    this.call.onProgress({ progress: this.last, ...said });
  }
}
