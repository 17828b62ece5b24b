// Tries drafts of the policy beside the one in force, each in a thread of its own that ends with the request: chats go on meanwhile,
// whatever the draft is.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { JudgedTool, PolicySource } from '#libs/policy/decision.js';
import type { AskedCall, Explanation } from '#libs/policy/explain.js';
import type { Judgement, PastCall } from '#libs/policy/judge-past-call.js';
import { builtProgram } from '#libs/process/find-installed.js';
import { maxDraftLength } from '#libs/config/policy-draft.js';
import { AppError, type TextProblem } from '#libs/schemas/errors.js';
import type { DraftAnswers, DraftTasks } from './draft-thread.js';

export interface PolicyDraftsParts {
  inForce: () => { source: PolicySource; tools: readonly JudgedTool[] };
  /** Called with the name of the limit. */
  onRefused: (limit: string) => void;
}

const maxOpen = 2;
/** For one step: reading the draft, or judging a page of calls. */
const stepMs = 10_000;
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

export class PolicyDrafts {
  private open = 0;

  constructor(private readonly parts: PolicyDraftsParts) {}

  /**
   * Reads the draft, and hands it to `use` until that is done.
   * @throws AppError invalid_value with the problems of the draft, concurrency_exceeded; the signal's reason
   */
  async try<Value>(
    text: string,
    signal: AbortSignal,
    use: (draft: OpenDraft, policy: PolicySource['policy']) => Promise<Value>,
  ): Promise<Value> {
    if (text.length > maxDraftLength) {
      throw invalidDraft([{ message: `The draft is longer than ${maxDraftLength} characters` }]);
    }
    if (this.open >= maxOpen) {
      this.parts.onRefused('policy_drafts');
      throw new AppError('concurrency_exceeded', `This gateway already tries ${maxOpen} drafts of the policy`, {
        retryAfterSeconds: 1,
      });
    }
    this.open += 1;
    const thread = new Worker(builtProgram('apps/gateway/govern/drafts/draft-thread.js'), {
      resourceLimits,
      env: {},
      name: 'policy-draft',
    });
    try {
      const draft = new OpenDraft(thread, signal);
      const { source, tools } = this.parts.inForce();
      const read = await draft.ask('open', { text, around: aroundOf(source), tools: tools.map(judgedOf) });
      if ('problems' in read) throw invalidDraft(read.problems);
      return await use(draft, read.policy);
    } finally {
      await thread.terminate();
      this.open -= 1;
    }
  }

  /** Only reads the draft. @throws as `try` */
  read(text: string, signal: AbortSignal): Promise<PolicySource['policy']> {
    return this.try(text, signal, (_draft, policy) => Promise.resolve(policy));
  }
}

/** One thing at a time. */
export class OpenDraft {
  constructor(
    private readonly thread: Worker,
    private readonly signal: AbortSignal,
  ) {}

  async judge(calls: readonly PastCall[]): Promise<Judgement[]> {
    return (await this.ask('judge', { calls })).judgements;
  }

  async explain(call: AskedCall): Promise<Explanation> {
    return (await this.ask('explain', { call })).explanation;
  }

  /** @throws AppError invalid_value if the draft takes too much time or memory; the signal's reason */
  async ask<Kind extends keyof DraftTasks>(kind: Kind, task: DraftTasks[Kind]): Promise<DraftAnswers[Kind]> {
    this.signal.throwIfAborted();
    const late = AbortSignal.timeout(stepMs);
    try {
      const answer = once(this.thread, 'message', { signal: AbortSignal.any([this.signal, late]) });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.thread.postMessage({ kind, ...task });
      const [given] = (await answer) as [DraftAnswers[Kind]];
      return given;
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason;
      const isMemory = (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (!late.aborted && !isMemory) throw error;
      throw invalidDraft([{ message: `The draft takes too much ${isMemory ? 'memory' : 'time'} to be tried` }], error);
    }
  }
}

function invalidDraft(problems: readonly TextProblem[], cause?: unknown): AppError {
  const [first] = problems;
  const where = first?.line === undefined ? '' : ` (line ${first.line})`;
  const named = first?.key === undefined ? '' : `${first.key}: `;
  const more = problems.length === 1 ? '' : `, and ${problems.length - 1} more`;
  const message = `The draft of the policy cannot be used: ${named}${first?.message ?? ''}${where}${more}`;
  return new AppError('invalid_value', message.slice(0, 1_000), { param: 'policy', problems, cause });
}

/** Only what decides: no secret of a server leaves for the thread. */
function aroundOf({ mcpServers, isolation }: PolicySource): Omit<PolicySource, 'policy'> {
  const servers = Object.entries(mcpServers).map(([name, { url, openapi, command, trusted, network, tools }]) => {
    const { requires_approval, rename } = tools;
    const kind = { ...(url && { url: 'set' }), ...(openapi && { openapi: 'set' }), ...(command && { command: 'set' }) };
    const decisive = { ...kind, trusted, network };
    return [name, { ...decisive, tools: { requires_approval, rename } }] as const;
  });
  return {
    mcpServers: Object.fromEntries(servers),
    isolation: { minimum: isolation.minimum },
  };
}

function judgedOf({
  server,
  tool,
  isolation,
  readOnly,
  readOnlyWhen,
  annotations,
  actsForCaller,
}: JudgedTool): JudgedTool {
  return {
    server,
    tool,
    readOnly,
    annotations: { ...annotations },
    ...(isolation === undefined ? {} : { isolation }),
    ...(readOnlyWhen === undefined ? {} : { readOnlyWhen }),
    ...(actsForCaller === undefined ? {} : { actsForCaller }),
  };
}
