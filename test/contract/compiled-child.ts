// Runs a TypeScript file of the tests as a process of its own: compiled for the occasion, since Node cannot read it.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface CompiledFile {
  start(argument: unknown): Child;
  remove(): Promise<void>;
}

export class Child {
  private readonly lines: Record<string, unknown>[] = [];
  private readonly waiting = new Set<() => void>();
  private problems = '';
  readonly exited: Promise<number | null>;

  constructor(readonly process: ChildProcess) {
    this.exited = new Promise((done) => process.once('exit', done));
    createInterface({ input: process.stdout! }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Record<string, unknown>);
      for (const wake of this.waiting) wake();
    });
    process.stderr!.on('data', (chunk: Buffer) => (this.problems = (this.problems + chunk.toString()).slice(-4_000)));
  }

  /** The first line of this event, once there is one. */
  async event(name: string, timeoutMs = 20_000): Promise<Record<string, unknown>> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = this.lines.find((line) => line['event'] === name);
      if (found !== undefined) return found;
      const left = deadline - Date.now();
      if (left <= 0 || this.process.exitCode !== null) throw new Error(`No ${name} from the child: ${this.problems}`);
      await new Promise<void>((wake) => {
        const timer = setTimeout(wake, Math.min(left, 500));
        this.waiting.add(() => {
          clearTimeout(timer);
          wake();
        });
      });
    }
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}

export async function compileChild(file: string): Promise<CompiledFile> {
  const root = resolve(import.meta.dirname, '../..');
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-child-'));
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { outDir: folder, rootDir: root, noCheck: true, sourceMap: false },
      files: [join(root, file)],
      include: [],
    }),
  );
  await writeFile(join(folder, 'package.json'), '{"type":"module","imports":{"#libs/*.js":"./libs/*.js"}}');
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
  await promisify(execFile)(process.execPath, [compiler, '-p', folder], { timeout: 60_000 });
  const script = join(folder, file.replace(/\.ts$/, '.js'));
  return {
    start: (argument) =>
      new Child(spawn(process.execPath, [script, JSON.stringify(argument)], { stdio: ['pipe', 'pipe', 'pipe'] })),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
