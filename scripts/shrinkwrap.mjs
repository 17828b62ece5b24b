// Around `npm pack`: the package brings the tested versions of what it needs, as npm-shrinkwrap.json, made from package-lock.json
// without what is for development. npm heeds `overrides` of the root alone, and a shrinkwrap of a package too.
//   node scripts/shrinkwrap.mjs write|remove
import { readFileSync, rmSync, writeFileSync } from 'node:fs';

const path = 'npm-shrinkwrap.json';
if (process.argv[2] === 'remove') {
  rmSync(path, { force: true });
} else {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const packages = Object.entries(lock.packages).filter(([, { dev, devOptional }]) => !dev && !devOptional);
  lock.packages = Object.fromEntries(packages);
  delete lock.packages[''].devDependencies;
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
}
