// Prints, after a run, how long each project of the tests took: from the start of its first file to the end of its last,
// and the time of its files added up. Projects and files run side by side, so neither column adds up to the whole.
import type { Reporter, TestModule } from 'vitest/node';

interface Times {
  files: number;
  startedAt: number;
  endedAt: number;
  fileMs: number;
}

export default class ProjectTimes implements Reporter {
  private readonly projects = new Map<string, Times>();
  private readonly startedAt = new Map<string, number>();

  onTestModuleStart(module: TestModule): void {
    this.startedAt.set(module.id, performance.now());
  }

  onTestModuleEnd(module: TestModule): void {
    const endedAt = performance.now();
    const startedAt = this.startedAt.get(module.id) ?? endedAt;
    const { name } = module.project;
    const times = this.projects.get(name) ?? { files: 0, startedAt, endedAt, fileMs: 0 };
    times.files += 1;
    times.startedAt = Math.min(times.startedAt, startedAt);
    times.endedAt = endedAt;
    times.fileMs += endedAt - startedAt;
    this.projects.set(name, times);
  }

  onTestRunEnd(): void {
    for (const [name, { files, startedAt, endedAt, fileMs }] of this.projects) {
      const took = seconds(endedAt - startedAt);
      process.stdout.write(`${name.padEnd(10)} ${took} s, ${files} files of ${seconds(fileMs)} s together\n`);
    }
    // `vitest watch` goes on to another run.
    this.projects.clear();
    this.startedAt.clear();
  }
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(6);
