import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser, type From } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { expect } from 'vitest';
import { verifies } from '../verifies.js';
import { composeFile, namedVolumes, readText, root } from './deployment-files.js';

const text = readText('Dockerfile');
const file = DockerfileParser.parse(text);
const instructions = file.getInstructions().map((each) => [each.getInstruction(), each.getRawArgumentsContent() ?? '']);
const ofLastStage = instructions.slice(instructions.map(([keyword]) => keyword).lastIndexOf('FROM'));
const last = (keyword: string) => ofLastStage.findLast(([each]) => each === keyword)?.[1];

verifies('deployment.image', 'a valid Dockerfile of several stages, pinned', () => {
  expect(validate(text)).toEqual([]);
  expect(instructions[0]).toEqual(['ARG', expect.stringMatching(/^NODE_IMAGE=node:24\.\d+-bookworm-slim$/) as string]);
  expect(file.getFROMs().map((from: From) => from.getBuildStage())).toEqual(['build', 'dependencies', 'signalbox']);
  expect(text).not.toMatch(/\bcurl\b|ADD https?:/);
});

verifies('deployment.image', 'an ordinary user, no development, writable only where volumes are', () => {
  const { gateway, worker } = composeFile().services;
  expect(last('USER')).toBe(gateway!.user);
  expect(JSON.parse(last('CMD')!)).toEqual(gateway!.command);
  expect(last('HEALTHCHECK')).toContain(JSON.stringify(gateway!.healthcheck!.test.slice(1)).replaceAll(',', ', '));
  const install = instructions.filter(([keyword, args]) => keyword === 'RUN' && args!.startsWith('npm ci'));
  expect(install.at(-1)?.[1]).toContain('--omit=dev --omit=optional');
  expect(text).toContain('npm pkg delete devDependencies optionalDependencies');
  const copied = [...text.slice(text.lastIndexOf('\nFROM ')).matchAll(/^COPY (.+)$/gm)].map(([, args]) => args!);
  // Nothing with the rights that it has on the machine that builds: a umask of 077 would make it root's alone.
  const [, opened] = /^RUN npm run build && chmod -R a\+rX (.+)$/m.exec(text)!;
  const built = copied.filter((args) => !args.startsWith('--from=dependencies ')).map((args) => args.split(' '));
  for (const [from, ...paths] of built) {
    expect(from).toBe('--from=build');
    for (const path of paths.slice(0, -1)) {
      const name = path.replace('/app/', '');
      expect(opened!.split(' ').some((each) => name === each || name.startsWith(`${each}/`))).toBe(true);
    }
  }
  // Without VOLUME: each container that mounts nothing there would leave a volume without a name behind.
  expect(last('VOLUME')).toBeUndefined();
  const mounted = [gateway!, worker!].flatMap(namedVolumes).map((volume) => volume.split(':')[1]!);
  for (const volume of mounted) expect(last('RUN')).toContain(volume);
});

verifies('deployment.image', 'of Prisma it has the compiler of queries that the client imports', () => {
  const [, kept] = /! -name '(query_compiler[^']+)' -delete/.exec(text)!;
  const client = readText('libs/postgres/prisma-client/internal/class.ts');
  const imported = [...client.matchAll(/runtime\/(query_compiler[\w.-]+)/g)].map(([, name]) => name!);
  expect(imported.length).toBeGreaterThan(1);
  for (const name of imported) expect(name.startsWith(kept!.replace('*', ''))).toBe(true);
});

verifies('deployment.image', 'the build is given its sources and nothing else', () => {
  const lines = readText('.dockerignore').split('\n');
  expect(lines.find((line) => !line.startsWith('#'))).toBe('*');
  const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  for (const path of allowed) expect(existsSync(join(root, path)), path).toBe(true);
  expect(allowed.filter((path) => /secret|\.env|\.data|\.git|test|k8s|config$/.test(path))).toEqual([]);
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].map(([, paths]) => paths!);
  const named = copied.flatMap((paths) => paths.split(' ')).filter((path) => path !== '.');
  expect(named.length).toBeGreaterThan(0);
  for (const path of named) expect(allowed).toContain(path);
});
