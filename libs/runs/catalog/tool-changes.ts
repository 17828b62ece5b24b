// Changed definitions that wait for an operator, and the operators' decisions about them.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChangeGrade, DefinitionKind } from '#libs/schemas/tool-change.js';
import type { AuditContext } from '../run-store.js';

/** The tool, prompt or instructions that a change is about. */
export interface ChangedDefinition {
  kind: DefinitionKind;
  server: string;
  /** The server's own name of it; instructions have none. */
  tool: string;
}

export interface ToolChange extends ChangedDefinition {
  grade: ChangeGrade;
  decision: 'pending' | 'rejected';
  changedAt: Date;
  /** The definition offered meanwhile; null: it is new. */
  approved: { hash: string; definition: JsonObject } | null;
  /** The definition held back; null: the server removed it. */
  held: { hash: string; definition: JsonObject } | null;
}

export interface ChangeDecision extends ChangedDefinition {
  /** Hash of the definition that was reviewed; null if it was removed. */
  hash: string | null;
}

/** @throws AppError store_unavailable */
export interface ToolChanges {
  /** The tools first, ordered by server and name, starting after the given one. */
  list(page: { limit: number; after?: ChangedDefinition }): Promise<ToolChange[]>;
  /**
   * Decides about all given changes or none; a change that was already decided the same way counts as done. Resolves with the changes
   * decided just now, or with the index of the first change whose hash is not held back.
   */
  decide(
    decision: 'accept' | 'reject',
    changes: readonly ChangeDecision[],
    by: AuditContext & { principal: string },
  ): Promise<{ decided: (ChangedDefinition & { grade: ChangeGrade })[]; missing?: number }>;
  /** Number of changes that wait. */
  countPending(): Promise<number>;
}
