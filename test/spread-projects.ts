// The order in which the files of a test run begin: those of each project are spread over their whole group, so that files
// that mostly wait, for locks, leases and dead processes, run beside others that keep the cores busy.
import { BaseSequencer, type TestProject, type TestSpecification } from 'vitest/node';

export class SpreadProjects extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const counts = new Map<TestProject, number>();
    const placed = (await super.sort(files)).map((file) => {
      const at = counts.get(file.project) ?? 0;
      counts.set(file.project, at + 1);
      return { file, at };
    });
    const groupOf = ({ file }: (typeof placed)[number]) => file.project.config.sequence.groupOrder;
    const placeOf = ({ file, at }: (typeof placed)[number]) => (at + 0.5) / counts.get(file.project)!;
    return placed.toSorted((a, b) => groupOf(a) - groupOf(b) || placeOf(a) - placeOf(b)).map(({ file }) => file);
  }
}
