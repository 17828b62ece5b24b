// What the tool server of a call asks, people or a model, as the store has it, and how long that has held the call.
import type { Approval } from '#libs/approvals/approval.js';
import type { QuestionStore } from '#libs/approvals/question-store.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';

export class AskedQuestion {
  private shown: Approval | undefined;
  private since = 0;
  private earlierMs = 0;
  private earlierForPeopleMs = 0;
  /** Nobody needs an answer to the one that is open any more. */
  private over = new AbortController();

  constructor(
    private readonly store: Pick<QuestionStore, 'open'>,
    private readonly job: ToolJob,
  ) {}

  get isOpen(): boolean {
    return this.shown !== undefined;
  }

  /** Nothing of it is the tool's own time. */
  get heldMs(): number {
    return this.earlierMs + this.openMs;
  }

  /** Nor of its turn's: a model's time is. */
  get heldForPeopleMs(): number {
    return this.earlierForPeopleMs + (this.shown?.kind === 'question' ? this.openMs : 0);
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  /** What is asked, once for each; `none` if nothing is. */
  async look(): Promise<Approval | 'none' | undefined> {
    const [asked] = await this.store.open([this.job.callId], ['question', 'sampling']);
    if (asked === undefined) return 'none';
    if (asked.id === this.shown?.id) return undefined;
    this.close();
    this.since = steadyNow();
    this.shown = asked;
    return asked;
  }

  /** False if none was open. */
  close(): boolean {
    if (!this.isOpen) return false;
    this.earlierForPeopleMs = this.heldForPeopleMs;
    this.earlierMs = this.heldMs;
    this.shown = undefined;
    this.over.abort('The question is no longer open');
    this.over = new AbortController();
    return true;
  }

  private get openMs(): number {
    return this.isOpen ? steadyNow() - this.since : 0;
  }
}
