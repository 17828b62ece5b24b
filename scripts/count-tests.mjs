// Reads vitest's JSON reports for .ci/run. A later report replaces what an earlier one says of the same file.
//   node scripts/count-tests.mjs count REPORT...         prints "passed failed skipped"; names skipped and flaky tests on stderr
//   node scripts/count-tests.mjs failed-files REPORT     prints the files that failed, a line each
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const [command, ...reports] = process.argv.slice(2);
const files = new Map();
for (const report of reports) {
  for (const file of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    // One file may run in several projects: they stand in the report one after the other.
    const earlier = files.get(file.name);
    if (earlier?.report === report) earlier.runs.push(file);
    else files.set(file.name, { report, runs: [file], before: earlier?.runs });
  }
}

const tests = (runs) => runs.flatMap((run) => run.assertionResults);
const withStatus = (runs, ...states) => tests(runs).filter((test) => states.includes(test.status));
const broken = (runs) =>
  runs.filter((run) => run.status === 'failed' && !run.assertionResults.some((test) => test.status === 'failed'));
const hasFailed = (runs) => withStatus(runs, 'failed').length + broken(runs).length > 0;

const all = [...files.entries()];
if (command === 'failed-files') {
  for (const [name, { runs }] of all) if (hasFailed(runs)) console.log(relative(process.cwd(), name));
} else {
  const runs = all.flatMap(([, file]) => file.runs);
  const skipped = withStatus(runs, 'skipped', 'pending', 'todo', 'disabled');
  for (const test of skipped) console.error(`skipped: ${test.fullName}`);
  for (const [name, file] of all) {
    if (file.before === undefined || hasFailed(file.runs)) continue;
    const what = withStatus(file.before, 'failed').map((test) => test.fullName);
    console.error(`flaky, passed when run again: ${relative(process.cwd(), name)}: ${what.join('; ')}`);
  }
  console.log(
    withStatus(runs, 'passed').length,
    withStatus(runs, 'failed').length + broken(runs).length,
    skipped.length,
  );
}
