// The order in which the files of a test run begin: beside each that mostly waits, for locks, leases and dead processes,
// one that mostly works, so that neither cores nor time stand idle; the longest first, so that none is left alone at the
// end. It changes nothing else, and where a file is missing below, nothing but a little time is lost.
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * By project and name, the longest first. Storms wait as well, but keep the cores busy meanwhile. Those with many
 * processes have others between them: three such at once would fill the database's two hundred connections.
 */
const longest = {
  waiting: [
    'faults postgres-away',
    'faults worker-kill',
    'contract backing-postgres',
    'redis worker-kill',
    'contract backing-redis',
    'faults worker-stopped',
    'faults gateway-kill',
    'faults keyed-tool-call',
    'faults clock-jump',
    'faults stop-in-order',
  ],
  working: [
    'e2e pages',
    'redis storm',
    'faults embedded-postgres',
    'faults storm',
    'faults supervise',
    'faults rolling-restart',
    'e2e tool-servers',
    'e2e session-affinity',
    'e2e tool-call',
    'redis tool-call',
    'faults whole-start',
    'e2e sdk-cut',
    'deploy processes',
  ],
};

const nameOf = ({ project, moduleId }: TestSpecification) =>
  `${project.name} ${/([^/]+)\.test\.ts$/.exec(moduleId)?.[1]}`;
const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
const waits = (file: TestSpecification) => longest.waiting.includes(nameOf(file));
const works = (file: TestSpecification) => !waits(file);

export class FileOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...new Set(sorted.map(groupOf))].flatMap((group) => {
      const inGroup = sorted.filter((file) => groupOf(file) === group);
      const waiting = longestFirst(inGroup.filter(waits), longest.waiting);
      const working = longestFirst(inGroup.filter(works), longest.working);
      return inGroup.flatMap((_file, at) => [...waiting.slice(at, at + 1), ...working.slice(at, at + 1)]);
    });
  }
}

function longestFirst(files: readonly TestSpecification[], names: readonly string[]): TestSpecification[] {
  const rank = (file: TestSpecification) => (names.includes(nameOf(file)) ? names.indexOf(nameOf(file)) : names.length);
  return files.toSorted((a, b) => rank(a) - rank(b));
}
