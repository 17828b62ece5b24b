// Attacks of a hostile tool server against the levels that are meant to stop them. `npm run isolation:matrix` also tries what no
// level stops, and whether the attacks succeed without one.
import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findTestIsolation } from '../support/isolation.js';
import { canRun } from '../support/run-program.js';
import { verifies } from '../verifies.js';
import { claims, type Attack, type Level, type Worker } from './attack.js';
import { attacks } from './attacks.js';
import { buildProbe } from './build-probe.js';
import { withExpectations } from './render-expectations.js';
import { broken, runAttacks } from './run-attacks.js';
import { Scene } from './scene.js';

const isRoot = process.getuid?.() === 0;
const workers: readonly Worker[] = isRoot ? ['root', 'user', 'hidden-root', 'bare-root'] : ['user'];
/** In these namespaces cannot be made, and a server that must have them is refused. */
const withoutNamespaces: readonly Worker[] = ['hidden-root', 'bare-root'];
const isolation = await findTestIsolation();
const timeoutMs = 60_000;
/** Limits do not depend on who the worker is. */
const takesAll = (attack: Attack) => attack.alone === true;
const whole = (worker: Worker, landlock?: number) => worker === 'user' && landlock === undefined;

const missing = [
  ...(canRun('cc', ['--version']) ? [] : ['a C compiler: apt-get install gcc libc6-dev']),
  ...(isolation.refusal('confined') === undefined ? [] : ['Linux with Landlock, and `npm run build`']),
];

describe.skipIf(missing.length > 0)(missing.length === 0 ? 'attacks' : `needs ${missing.join(', ')}`, () => {
  let probe: string;
  beforeAll(() => {
    probe = buildProbe(fileURLToPath(new URL('probe', import.meta.url)));
  });
  afterAll(() => rmSync(dirname(probe), { recursive: true }));

  const attempt = async (level: Level, worker: Worker, landlock?: number) => {
    const scene = await Scene.open({ worker, probe });
    try {
      const meant = attacks.filter(
        (attack) => claims(attack, level, worker) && (whole(worker, landlock) || !takesAll(attack)),
      );
      const version = landlock === undefined ? {} : { landlock };
      const verdicts = await runAttacks(meant, { scene, level, ...version });
      expect(broken(verdicts, level, worker).map(({ attack, detail }) => `${attack.name}: ${detail}`)).toEqual([]);
      // A level at which nothing runs stops everything.
      const stopped = verdicts.filter(({ outcome }) => outcome === 'stopped');
      expect(stopped.length).toBeGreaterThan(meant.length * 0.9);
    } finally {
      await scene.close();
    }
  };

  for (const worker of workers) {
    verifies('tools.isolation-stops-attacks', `confined, ${worker}`, () => attempt('confined', worker), timeoutMs);
  }
  verifies(
    'tools.isolation-stops-attacks',
    'confined, by the first version of Landlock',
    () => attempt('confined', 'user', 1),
    timeoutMs,
  );
  describe.skipIf(isolation.refusal('namespace') !== undefined)('with bubblewrap: apt-get install bubblewrap', () => {
    for (const worker of workers.filter((worker) => !withoutNamespaces.includes(worker))) {
      verifies('tools.isolation-stops-attacks', `namespace, ${worker}`, () => attempt('namespace', worker), timeoutMs);
    }
  });
});

test('docs/isolation.md says of every attack what is expected here', async () => {
  const path = fileURLToPath(new URL('../../docs/isolation.md', import.meta.url));
  const document = readFileSync(path, 'utf8');
  expect(document).toBe(
    await format(withExpectations(document), { ...(await resolveConfig(path)), parser: 'markdown' }),
  );
});
