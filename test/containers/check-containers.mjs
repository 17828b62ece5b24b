// What .ci/containers runs where the engine is: builds, starts and uses the compose file as a person would, and prints a row a
// check. Needs Node and Docker alone. Removes its containers and volumes at the end; the project has a name of its own.
import { compose, inside, last } from './docker.mjs';
import { buildTargets, hardened, ready } from './image-checks.mjs';
import {
  appendOnly,
  approval,
  chat,
  chimech,
  confinedServer,
  consolePage,
  downAndUp,
  queries,
  restarts,
  scraped,
} from './use-checks.mjs';

const rows = [];

/** Without the image, or without a start, nothing else is tried. */
async function check(name, work) {
  if (rows.slice(0, 2).some(([, result]) => result === 'failed')) {
    rows.push([name, 'left', 0, '']);
    return;
  }
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  try {
    const detail = await work();
    rows.push([name, 'ok', seconds(), typeof detail === 'string' && detail.length < 200 ? detail.trim() : '']);
  } catch (error) {
    rows.push([name, 'failed', seconds(), `${error.message}\n${error.stderr ?? ''}`.trim().slice(-2_000)]);
  }
  const [, result, time] = rows.at(-1);
  process.stderr.write(`${result} ${name} (${time.toFixed(1)} s)\n`);
}

try {
  await check('every target of the Dockerfile builds', buildTargets);
  await check('`docker compose up` alone, until all are healthy', () => compose('up', '--build', '--detach', '--wait'));
  await check('no root, no capability, read-only root', hardened);
  await check('ready, with isolation level 2 inside', ready);
  await check('a browser gets the console', consolePage);
  await check('a chat runs a tool', () => chat('before'));
  await check("npm's filesystem server, confined", confinedServer);
  await check('Chimech answers with its key, searches its knowledge base', chimech);
  await check('a call waits for an approval', approval);
  await check('the audit can be added to, and not changed', appendOnly);
  await check('every container restarted under load', restarts);
  await check('every target is up in Prometheus, rules are loaded', scraped);
  await check('every query of the dashboards has an answer', queries);
  await check('down and up: the data is kept, no volume without a name', downAndUp);
  await check('the audit verifies', async () => last(await inside('gateway', 'signalbox', 'audit', 'verify')));
} finally {
  if (rows.some(([, result]) => result !== 'ok'))
    process.stderr.write(await compose('logs', '--tail', '20').catch(String));
  await compose('down', '--volumes', '--timeout', '10').catch(() => undefined);
}
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, result, seconds, detail] of rows) {
  process.stdout.write(`${name.padEnd(width)}  ${result.padEnd(6)}  ${seconds.toFixed(1).padStart(6)} s  ${detail}\n`);
}
process.exitCode = rows.every(([, result]) => result === 'ok') ? 0 : 1;
