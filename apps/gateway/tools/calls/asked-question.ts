// The question of a tool server that a call waits for, as the store has it, and how long questions have held the call.
import type { Approval } from '#libs/approvals/approval.js';
import type { QuestionStore } from '#libs/approvals/question-store.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';

export class AskedQuestion {
  private shown: Approval | undefined;
  private since = 0;
  private earlierMs = 0;

  constructor(
    private readonly store: Pick<QuestionStore, 'open'>,
    private readonly job: ToolJob,
  ) {}

  get isOpen(): boolean {
    return this.shown !== undefined;
  }

  get heldMs(): number {
    return this.earlierMs + (this.isOpen ? steadyNow() - this.since : 0);
  }

  /** The question, once for each; `none` if nothing is asked. */
  async look(): Promise<Approval | 'none' | undefined> {
    if (this.job.questions === undefined) return undefined;
    const [asked] = await this.store.open([this.job.callId]);
    if (asked === undefined) return 'none';
    if (asked.id === this.shown?.id) return undefined;
    if (!this.isOpen) this.since = steadyNow();
    this.shown = asked;
    return asked;
  }

  /** False if none was open. */
  close(): boolean {
    if (!this.isOpen) return false;
    this.earlierMs = this.heldMs;
    this.shown = undefined;
    return true;
  }
}
