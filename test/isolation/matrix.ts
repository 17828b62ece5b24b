// `npm run isolation:matrix`: every attack at every level that this machine has, as root (where this is root) and as an
// ordinary user. Prints a table, and fails where an attack succeeds that a level says it stops.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { levels, type Worker } from './attack.js';
import { attacks } from './attacks.js';
import { buildProbe } from './build-probe.js';
import { renderMatrix, type Column } from './render-matrix.js';
import { withExpectations } from './render-expectations.js';
import { runAttacks, broken } from './run-attacks.js';
import { Scene } from './scene.js';

const usage =
  'isolation:matrix [--level LEVEL]… [--worker root|user|hidden-root|bare-root]… [--landlock VERSION]… [--only TEXT]… [--except TEXT]… [--details] | --docs';
const values = (name: string) =>
  process.argv.flatMap((word, at) => (word === `--${name}` ? [process.argv[at + 1] ?? ''] : []));

if (process.argv.includes('--help')) {
  console.log(usage);
  process.exit(0);
}
if (process.argv.includes('--docs')) {
  const path = 'docs/isolation.md';
  writeFileSync(
    path,
    await format(withExpectations(readFileSync(path, 'utf8')), { ...(await resolveConfig(path)), parser: 'markdown' }),
  );
  process.exit(0);
}
const orElse = <T extends string>(given: readonly string[], usual: readonly T[]) =>
  given.length > 0 ? (given as readonly T[]) : usual;
const isRoot = process.getuid?.() === 0;
const chosen = orElse(values('level'), levels);
const workers = orElse<Worker>(values('worker'), isRoot ? ['root', 'user', 'hidden-root', 'bare-root'] : ['user']);
const versions = [undefined, ...values('landlock').map(Number)];
const wanted = attacks.filter(
  ({ name }) =>
    values('only').every((text) => name.includes(text)) && !values('except').some((text) => name.includes(text)),
);

const probe = buildProbe(join(process.cwd(), 'test/isolation/probe'));
const columns: Column[] = [];
try {
  for (const worker of workers) {
    const scene = await Scene.open({ worker, probe });
    try {
      for (const level of chosen) {
        for (const landlock of level === 'confined' ? versions : [undefined]) {
          const version = landlock === undefined ? {} : { landlock };
          console.error(`${level}, ${worker}`);
          columns.push({ level, worker, ...version, verdicts: await runAttacks(wanted, { scene, level, ...version }) });
        }
      }
    } finally {
      await scene.close();
    }
  }
} finally {
  rmSync(dirname(probe), { recursive: true });
}
console.log(renderMatrix(columns, process.argv.includes('--details')));
const failures = columns.flatMap(({ level, worker, verdicts }) =>
  broken(verdicts, level, worker).map(({ attack, detail }) => `${attack.name} at ${level} as ${worker}: ${detail}`),
);
for (const failure of failures) console.error(`ESCAPED ${failure}`);
process.exitCode = failures.length > 0 ? 1 : 0;
