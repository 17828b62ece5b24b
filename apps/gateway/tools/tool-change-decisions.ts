// Takes an operator's decisions about changed definitions: stored and audited in one statement, then announced to every gateway.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import { announceCatalog } from '#libs/runs/catalog/announce-catalog.js';
import type { ChangeDecision, ChangedDefinition, ToolChange, ToolChanges } from '#libs/runs/catalog/tool-changes.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { type ChangeGrade, type ChangeOutcome, shownDefinition } from '#libs/schemas/tool-change.js';
import { auditContext } from '../turn/call.js';

export interface DecisionParts {
  changes: ToolChanges;
  channels: Pick<Channels, 'publish'>;
  onDecided: (grade: ChangeGrade, outcome: ChangeOutcome) => void;
  logger: Logger;
}

export type DecidedChange = ChangedDefinition & { grade: ChangeGrade };

const namesInLog = 50;

export class ToolChangeDecisions {
  constructor(private readonly parts: DecisionParts) {}

  /** @throws AppError store_unavailable */
  list(page: Parameters<ToolChanges['list']>[0]): Promise<ToolChange[]> {
    return this.parts.changes.list(page);
  }

  /**
   * Decides about all given changes or none. Resolves with those that had not been decided the same way before.
   * @throws AppError tool_change_not_found, store_unavailable
   */
  async decide(
    decision: 'accept' | 'reject',
    changes: readonly ChangeDecision[],
    context: RequestContext,
  ): Promise<DecidedChange[]> {
    const by = { ...auditContext(context), principal: context.principal };
    const { decided, missing } = await this.parts.changes.decide(decision, changes, by);
    if (missing !== undefined) throw changeNotFound(changes[missing]!, missing);
    // A repeated decision is announced too, in case the first announcement failed.
    if (decision === 'accept') await announceCatalog(this.parts);
    if (decided.length > 0) this.publish(decision === 'accept' ? 'accepted' : 'rejected', decided, context);
    return decided;
  }

  private publish(
    outcome: ChangeOutcome,
    decided: readonly DecidedChange[],
    { principal, requestId }: RequestContext,
  ): void {
    for (const { grade } of decided) this.parts.onDecided(grade, outcome);
    const tools = decided
      .slice(0, namesInLog)
      .map(({ kind, server, tool, grade }) => `${server}/${shownDefinition(kind, tool)} (${grade})`);
    const metadata = { outcome, tools, count: decided.length };
    this.parts.logger.info({ userId: principal, requestId, metadata }, 'changed definitions were accepted or rejected');
  }
}

function changeNotFound({ kind, server, tool }: ChangeDecision, index: number): AppError {
  return new AppError(
    'tool_change_not_found',
    `No held-back change of ${kind === 'instructions' ? 'the instructions' : `${kind} '${tool}'`} of server '${server}' has this hash: list the changes again`,
    { param: `changes[${index}]` },
  );
}

/** The changes with their decisions, which are counted. */
export function openToolChanges<Changes extends ToolChanges>(
  toolChanges: Changes,
  { channels, metrics, logger }: Pick<DecisionParts, 'channels' | 'logger'> & { metrics: Pick<Metrics, 'toolChanges'> },
) {
  const onDecided: DecisionParts['onDecided'] = (grade, outcome) => metrics.toolChanges.inc({ grade, outcome });
  const parts = { changes: toolChanges, channels, onDecided, logger };
  return { toolChanges, toolChangeDecisions: new ToolChangeDecisions(parts) };
}
