// Changed definitions that wait for an operator, and the operators' decisions about them.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade } from '#libs/schemas/tool-change.js';
import type { AuditContext } from '../run-store.js';

export interface ToolChange {
  server: string;
  /** The server's own name of the tool. */
  tool: string;
  grade: ChangeGrade;
  decision: 'pending' | 'rejected';
  changedAt: Date;
  /** The definition offered meanwhile; null: the tool is new. */
  approved: { hash: string; definition: JsonObject } | null;
  /** The definition held back; null: the server removed the tool. */
  held: { hash: string; definition: JsonObject } | null;
}

export interface ChangeDecision {
  server: string;
  tool: string;
  /** Hash of the definition that was reviewed; null for a removed tool. */
  hash: string | null;
}

/** @throws AppError store_unavailable */
export interface ToolChanges {
  /** Ordered by server and tool, starting after the given one. */
  list(page: { limit: number; after?: { server: string; tool: string } }): Promise<ToolChange[]>;
  /**
   * Decides about all given changes or none; a change that was already decided the same way counts as done. Resolves with the changes
   * decided just now, or with the index of the first change whose hash is not held back.
   */
  decide(
    decision: 'accept' | 'reject',
    changes: readonly ChangeDecision[],
    by: AuditContext & { principal: string },
  ): Promise<{ decided: { server: string; tool: string; grade: ChangeGrade }[]; missing?: number }>;
  /** Number of changes that wait. */
  countPending(): Promise<number>;
}
