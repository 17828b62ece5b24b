#!/usr/bin/env node
// The program `signalbox`, as npm links it. Written so that any Node reads it: an old one is told what is needed, not a syntax
// error of ours. It needs what `npm run build` makes.
import { existsSync, readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const [wanted, wantedMinor] = engines.node.replace('>=', '').split('.').map(Number);
const [major, minor] = process.versions.node.split('.').map(Number);
const program = new URL('../dist/scripts/cli/signalbox.js', import.meta.url);

if (major < wanted || (major === wanted && minor < wantedMinor)) {
  console.error(`Signalbox needs Node ${engines.node.replace('>=', '')} or newer; this is ${process.versions.node}.`);
  process.exitCode = 1;
} else if (existsSync(program)) {
  await import(program.href);
} else {
  console.error('Signalbox is not built: run `npm ci` in its directory.');
  process.exitCode = 1;
}
