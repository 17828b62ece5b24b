// The levels of isolation of command servers, weakest first: what each one stops is in docs/isolation.md.
import type { Config } from '#libs/config/schema.js';

export type IsolationLevel = Config['isolation']['minimum'];

export const isolationLevels: readonly IsolationLevel[] = ['none', 'process', 'confined', 'namespace'];

/** 0 to 3. */
export const levelNumber = (level: IsolationLevel): number => isolationLevels.indexOf(level);
