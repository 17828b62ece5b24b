// What filling works from: the clause, the tool, and what an earlier step got.
import type { ToolProfile } from './describe-tool.js';
import type { Clause } from './read-clause.js';

export interface FillContext {
  clause: Clause;
  /** The user's whole message: free-text questions get it. */
  request: string;
  profile: ToolProfile;
  /** What the step before got, when there is one; null when it will get something that is not there yet. */
  earlier?: string | null;
  /** Which of several files, addresses or places this call is for. */
  turn: number;
  /** Best effort even for what the request does not say. */
  force: boolean;
  now: number;
}
