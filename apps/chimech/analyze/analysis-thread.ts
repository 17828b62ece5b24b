// The thread that parses: what it holds in memory goes with it, and what never ends can be stopped with it. One analysis at
// a time; it starts with the first and ends when there was none for a while.
import { Worker } from 'node:worker_threads';
import type { AnalysisTask, Findings } from './analysis.js';
import { AnalyzeError, analysisFailed } from './analyze-error.js';

const idleMs = 30_000;
/** Analyses that wait for those before them. */
const maxWaiting = 100;
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 2 };

const busy = {
  en: `${maxWaiting} analyses are already waiting; try again later`,
  zh: `已有 ${maxWaiting} 项分析在排队：请稍后再试`,
};
const stopping = { en: 'The server is stopping', zh: '服务器正在停止' };
const tooMuchMemory = {
  en: 'The content needs more memory than an analysis may use',
  zh: '分析这些内容所需的内存超出限制',
};

/** What the thread answers: see answer-tasks.ts. */
export type ThreadAnswer = { findings: Findings } | Pick<AnalyzeError, 'texts' | 'code'>;

interface Job {
  task: AnalysisTask;
  resolve: (findings: Findings) => void;
  reject: (error: unknown) => void;
  signal: AbortSignal;
  stop: () => void;
}

export class AnalysisThread {
  private readonly waiting: Job[] = [];
  private running: Job | undefined;
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly file: URL,
    private readonly idleAfterMs = idleMs,
  ) {}

  /** Whether the thread is there. */
  get isOpen(): boolean {
    return this.worker !== undefined;
  }

  /** @throws AnalyzeError, or the signal's reason: the thread is ended then if it was at this task. */
  async run(task: AnalysisTask, signal: AbortSignal): Promise<Findings> {
    signal.throwIfAborted();
    if (this.waiting.length >= maxWaiting) {
      throw new AnalyzeError(busy, 'RATE_LIMIT');
    }
    return await new Promise((resolve, reject) => {
      const job: Job = { task, resolve, reject, signal, stop: () => this.stop(job) };
      signal.addEventListener('abort', job.stop, { once: true });
      this.waiting.push(job);
      this.next();
    });
  }

  /** Ends the thread. What it was asked and has not answered fails. */
  async close(): Promise<void> {
    const closed = new AnalyzeError(stopping, 'INTERNAL_ERROR');
    for (const job of [...this.waiting.splice(0), ...(this.running === undefined ? [] : [this.running])]) {
      this.settle(job, () => job.reject(closed));
    }
    this.running = undefined;
    await this.end();
  }

  private next(): void {
    if (this.running !== undefined) return;
    clearTimeout(this.idle);
    this.running = this.waiting.shift();
    // One signal may end many: each has its own listener.
    while (this.running?.signal.aborted === true) this.running = this.waiting.shift();
    if (this.running !== undefined) {
      this.worker ??= this.start();
      this.worker.ref();
      this.worker.postMessage(this.running.task, []);
    } else if (this.worker !== undefined) {
      // A thread that waits keeps no process alive.
      this.worker.unref();
      this.idle = setTimeout(() => void this.end(), this.idleAfterMs).unref();
    }
  }

  private start(): Worker {
    const worker = new Worker(this.file, { resourceLimits, env: {}, name: 'chimech-analyze' });
    worker.on('message', (answer: ThreadAnswer) => this.answer(worker, answer));
    worker.on('error', (error) => this.lose(worker, error));
    worker.on('exit', () => this.lose(worker, undefined));
    return worker;
  }

  private answer(worker: Worker, answer: ThreadAnswer): void {
    const job = this.running;
    if (worker !== this.worker || job === undefined) return;
    this.running = undefined;
    this.settle(job, () => {
      if ('findings' in answer) job.resolve(answer.findings);
      else job.reject(new AnalyzeError(answer.texts, answer.code));
    });
    this.next();
  }

  /** The thread ended by itself: its memory was not enough for this task. */
  private lose(worker: Worker, error: unknown): void {
    if (worker !== this.worker) return;
    this.worker = undefined;
    const job = this.running;
    this.running = undefined;
    if (job !== undefined) {
      const isMemory = (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const lost = isMemory
        ? new AnalyzeError(tooMuchMemory, 'CONTEXT_TOO_LONG')
        : new AnalyzeError(analysisFailed, 'INTERNAL_ERROR');
      this.settle(job, () => job.reject(lost));
    }
    this.next();
  }

  private stop(job: Job): void {
    if (this.running === job) {
      this.running = undefined;
      void this.end();
    } else if (this.waiting.includes(job)) this.waiting.splice(this.waiting.indexOf(job), 1);
    this.settle(job, () => job.reject(job.signal.reason));
    this.next();
  }

  private settle(job: Job, report: () => void): void {
    job.signal.removeEventListener('abort', job.stop);
    report();
  }

  private async end(): Promise<void> {
    clearTimeout(this.idle);
    const worker = this.worker;
    this.worker = undefined;
    await worker?.terminate();
  }
}
