// The table of attacks: what a hostile tool server may try, and which level is meant to stop it.
import type { Attack } from './attack.js';
import { exhaustionAttacks } from './attacks/exhaustion.js';
import { fileAttacks } from './attacks/files.js';
import { kernelAttacks } from './attacks/kernel.js';
import { networkAttacks } from './attacks/network.js';
import { processAttacks } from './attacks/processes.js';

export const attacks: readonly Attack[] = [
  ...fileAttacks,
  ...processAttacks,
  ...kernelAttacks,
  ...networkAttacks,
  ...exhaustionAttacks,
];

export const familyOf = ({ name }: Attack): string => name.slice(0, name.indexOf('/'));
