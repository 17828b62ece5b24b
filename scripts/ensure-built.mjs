// Before `npm start` and `npm test`: builds what is missing in dist/ or was made from other sources. Where the sources cannot be
// written (an image, someone else's checkout) it builds nothing, and says what that means.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { changeSince, readStamp } from './sources.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const missing = !existsSync(join(root, 'dist/scripts/cli/signalbox.js'));
const stamp = readStamp(root);
const changed = stamp && changeSince(stamp, root);
const why = stamp === undefined ? 'the last build did not finish' : changed && `${changed} has changed`;
if (missing) mustBuild('nothing is built');
else if (why !== undefined && !canBuild())
  console.error(`${why}, and this cannot be built here: starting what was built.`);
else if (why !== undefined) build(why);

function mustBuild(why) {
  if (canBuild()) build(why);
  else fail(`${why}, and it cannot be built here: run \`npm ci\` as the owner of ${root}.`);
}

function build(why) {
  console.error(`Building first: ${why}.`);
  const { status, error } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail(`The build failed${error === undefined ? '' : `: ${error.message}`}.`);
}

function canBuild() {
  try {
    accessSync(root, constants.W_OK);
    accessSync(join(root, 'libs/postgres'), constants.W_OK);
    accessSync(join(root, 'node_modules/.bin/nest'), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
