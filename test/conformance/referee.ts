// The official conformance suites, fetched when they are asked for: their versions, and one run of one of them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const checkSchema = z.object({
  id: z.string(),
  status: z.enum(['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO']),
  errorMessage: z.string().optional(),
});
export type Check = z.infer<typeof checkSchema>;

/** Scenario to what was checked in it. */
export type Results = Map<string, Check[]>;

const requirementsSchema = z.object({
  client: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string(), reason: z.string() })),
});

/** The suites need a newer Node than we do; the package of that name brings it. */
const node = '22.23.3';
const timeoutMs = 300_000;

export class Referee {
  private constructor(private readonly directory: string) {}

  /** Installs a version into the user's cache, once. */
  static async fetch(version: string): Promise<Referee> {
    const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'signalbox');
    const directory = join(cache, `conformance-${version}-node-${node}`);
    if (existsSync(directory)) return new Referee(directory);
    await mkdir(cache, { recursive: true });
    const half = await mkdtemp(`${directory}.half-`);
    try {
      await writeFile(join(half, 'package.json'), '{"private": true}');
      const packages = [`@modelcontextprotocol/conformance@${version}`, `node@${node}`];
      const { code, output } = await run('npm', ['install', '--no-audit', '--no-fund', ...packages], half);
      if (code !== 0) throw new Error(`npm could not install ${packages.join(' and ')}:\n${output}`);
      await rename(half, directory).catch((error: unknown) => {
        // Somebody else was faster.
        if (!existsSync(directory)) throw error;
      });
    } finally {
      await rm(half, { recursive: true, force: true });
    }
    return new Referee(directory);
  }

  /** The client scenarios of a revision, or all that this version knows. */
  async clientScenarios(revision?: string): Promise<string[]> {
    if (revision !== undefined) return (await this.requirements(revision)).client;
    const { output } = await this.conformance(['list', '--client']);
    return [...output.matchAll(/^ +- (\S+) \[(?!draft|extension)/gm)].map(([, scenario]) => scenario!);
  }

  /** What is run and reported, but no part of a revision. */
  async notScored(revision: string): Promise<Map<string, string>> {
    const { not_scored: entries } = await this.requirements(revision);
    return new Map(entries.map(({ scenario, reason }) => [scenario, reason]));
  }

  /** Runs `conformance ARGS…` and reads what it wrote down; its own verdict is not asked. */
  async judge(args: readonly string[]): Promise<Results> {
    const directory = await mkdtemp(join(tmpdir(), 'conformance-'));
    try {
      const { output } = await this.conformance([...args, '--output-dir', directory]);
      const results = await readResults(directory);
      if (results.size === 0) throw new Error(`conformance ${args.join(' ')} judged nothing:\n${output}`);
      return results;
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  private async requirements(revision: string): Promise<z.infer<typeof requirementsSchema>> {
    const file = join(this.package, 'requirements', `${revision}.yaml`);
    return requirementsSchema.parse(parse(await readFile(file, 'utf8')));
  }

  private conformance(args: readonly string[]) {
    return run(join(this.directory, 'node_modules/.bin/node'), [join(this.package, 'dist/index.js'), ...args]);
  }

  private get package(): string {
    return join(this.directory, 'node_modules/@modelcontextprotocol/conformance');
  }
}

async function run(command: string, args: readonly string[], cwd = tmpdir()) {
  const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (said: Buffer) => (output += said.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

/** One directory a scenario, named after it and the time; a `/` of the name makes a directory too. */
async function readResults(directory: string): Promise<Results> {
  const results: Results = new Map();
  for (const file of await readdir(directory, { recursive: true })) {
    const scenario = /^(?:server-)?(.+)-\d{4}-\d{2}-\d{2}T[^/]*\/checks\.json$/.exec(file)?.[1];
    if (scenario === undefined) continue;
    const checks: unknown = JSON.parse(await readFile(join(directory, file), 'utf8'));
    results.set(scenario, z.array(checkSchema).parse(checks));
  }
  return results;
}
