// Combines jobs that are added in one turn of the event loop into one: most of a job's cost is per job.
// The caller decides which may be combined: each may be delivered again with others if a queue's answer is lost.
import { randomBytes } from 'node:crypto';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { queueSettings } from './queue-settings.js';

interface Waiting {
  job: ToolJob;
  /** Its job as text. */
  text: string;
  resolve(): void;
  reject(error: unknown): void;
}

/** One job of the queue: one call under its own id, or several under an id that is never reused. */
export interface Gathered {
  id?: string;
  jobs: readonly ToolJob[];
  texts: readonly string[];
}

interface Carrier {
  id: string;
  /** Its calls that were not abandoned. */
  wanted: Set<string>;
}

export class JobGatherer {
  private waiting: Waiting[] = [];
  /** The combined jobs of each call; oldest first. */
  private readonly carriers = new Map<string, Carrier>();

  constructor(private readonly add: (gathered: Gathered) => Promise<void>) {}

  submit(job: ToolJob): Promise<void> {
    return new Promise((resolve, reject) => {
      // The tick after everything that this turn of the event loop has triggered so far.
      if (this.waiting.length === 0) process.nextTick(() => this.flush());
      this.waiting.push({ job, text: JSON.stringify(job), resolve, reject });
    });
  }

  /** The id under which the call waits or runs, if it is remembered. */
  carrierOf(callId: string): string | undefined {
    return this.carriers.get(callId)?.id;
  }

  /** Abandons the call. Returns the id of its job if all calls in that job are abandoned. */
  giveUp(callId: string): string | undefined {
    const carrier = this.carriers.get(callId);
    carrier?.wanted.delete(callId);
    return carrier?.wanted.size === 0 ? carrier.id : undefined;
  }

  private flush(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const together of inParts(waiting)) void this.send(together);
  }

  private async send(together: readonly Waiting[]): Promise<void> {
    const [jobs, texts] = [together.map(({ job }) => job), together.map(({ text }) => text)];
    const id = together.length === 1 ? undefined : `together-${randomBytes(12).toString('hex')}`;
    if (id !== undefined) this.remember(jobs, id);
    try {
      await this.add({ jobs, texts, ...(id === undefined ? {} : { id }) });
      for (const each of together) each.resolve();
    } catch (error) {
      for (const each of together) each.reject(error);
    }
  }

  private remember(jobs: readonly ToolJob[], id: string): void {
    const carrier = { id, wanted: new Set(jobs.map(({ callId }) => callId)) };
    for (const { callId } of jobs) {
      this.carriers.delete(callId);
      this.carriers.set(callId, carrier);
    }
    const { maxRemembered } = queueSettings.together;
    for (const oldest of this.carriers.keys()) {
      if (this.carriers.size <= maxRemembered) break;
      this.carriers.delete(oldest);
    }
  }
}

/** No call twice in one job: the second asks for the same as the first. */
function* inParts(waiting: readonly Waiting[]): Generator<Waiting[]> {
  const { maxJobs, maxBytes } = queueSettings.together;
  let part: Waiting[] = [];
  let bytes = 0;
  for (const each of waiting) {
    const eachBytes = Buffer.byteLength(each.text);
    const full = part.length === maxJobs || bytes + eachBytes > maxBytes;
    if (part.length > 0 && (full || part.some(({ job }) => job.callId === each.job.callId))) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(each);
    bytes += eachBytes;
  }
  if (part.length > 0) yield part;
}
