// `signalbox doctor`: what keeps Signalbox from starting or working on this machine, a line each, with what to do. Changes
// nothing. Exit codes: 0 it can start, 1 it cannot.
import { diagnose, type Finding } from './diagnose.js';

const words: Record<Finding['state'], string> = { ok: 'ok  ', note: 'note', stop: 'STOP' };
let stops = 0;
for await (const { state, what } of diagnose()) {
  if (state === 'stop') stops += 1;
  console.log(`${words[state]}  ${what}`);
}
console.log(
  stops === 0
    ? '\nSignalbox can start here.'
    : `\n${stops === 1 ? 'One problem prevents' : `${stops} problems prevent`} a start.`,
);
process.exitCode = stops === 0 ? 0 : 1;
// Connections of the checks that the machine keeps open have nothing more to tell.
process.exit();
