// Whether `npm start` started this process, and so ends with it (libs/process/end-with-parent.ts).
import { SUPERVISED_VARIABLE } from '#libs/process/end-with-parent.js';

export function isSupervised(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return environment[SUPERVISED_VARIABLE] === '1';
}
