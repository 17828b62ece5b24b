// Changed definitions that wait for an operator, and what operators decide about them.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { AuditContext } from '../run-store.js';

export interface ToolChange {
  server: string;
  /** The server's own name for it. */
  tool: string;
  grade: ChangeGrade;
  decision: 'pending' | 'rejected';
  changedAt: Date;
  /** What is offered meanwhile; null: the tool is new. */
  approved: { hash: string; definition: JsonObject } | null;
  /** What is held back; null: the server has the tool no more. */
  held: { hash: string; definition: JsonObject } | null;
}

export interface ChangeDecision {
  server: string;
  tool: string;
  /** Of the definition that was looked at; null for a tool that was removed. */
  hash: string | null;
}

/** @throws AppError store_unavailable */
export interface ToolChanges {
  /** In order of server and tool, those after the given one. */
  list(page: { limit: number; after?: { server: string; tool: string } }): Promise<ToolChange[]>;
  /**
   * All of them or none; what has been decided the same way before counts as done. Resolves with those that were decided
   * just now, and the index of the first one that cannot be: nothing of this hash is held back.
   */
  decide(
    decision: 'accept' | 'reject',
    changes: readonly ChangeDecision[],
    by: AuditContext & { principal: string },
  ): Promise<{ decided: { server: string; tool: string; grade: ChangeGrade }[]; missing?: number }>;
  /** Those that wait. */
  countPending(): Promise<number>;
}
