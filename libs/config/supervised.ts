// Whether `npm start` started this process, which then ends with it (libs/process/end-with-parent.ts).
import { supervisedVariable } from '#libs/process/end-with-parent.js';

export function isSupervised(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return environment[supervisedVariable] === '1';
}
