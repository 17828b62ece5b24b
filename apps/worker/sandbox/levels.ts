// The levels of isolation of command servers, weakest first: docs/isolation.md says what each one prevents.
import type { Config } from '#libs/config/schema.js';

export type IsolationLevel = Config['isolation']['minimum'];

export const isolationLevels: readonly IsolationLevel[] = ['none', 'process', 'confined', 'namespace'];

/** 0 to 3. */
export const levelNumber = (level: IsolationLevel): number => isolationLevels.indexOf(level);
