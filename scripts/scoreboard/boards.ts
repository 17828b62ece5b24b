// The parts of the scoreboard: the command that each repeats, and how its output is read. No figure is written here.
import { readBench } from './read-bench.js';
import { readConformance } from './read-conformance.js';
import { readIsolationMatrix } from './read-isolation-matrix.js';
import { readTestReport } from './read-test-report.js';
import type { Board } from './write-page.js';

export const boards = {
  conformance: {
    title: 'MCP conformance',
    about:
      'The official suites, of both eras of the protocol, against the gateway, a server made with the decorators, and the worker’s client ([mcp.md](mcp.md)).',
    command: ['npm', 'run', 'conformance'],
    read: readConformance,
  },
  sdks: {
    title: 'SDKs',
    about: 'Official SDKs as clients: chats, streams, tool loops, approvals, cut connections, recorded answers.',
    command: ['npx', 'vitest', 'run', 'sdk'],
    usesReport: true,
    read: readTestReport,
  },
  bench: {
    title: 'Loop benchmark',
    about:
      'The time of ours divided by that of the other, in the median and from the least to the most, on the same machine and in the same run ([performance.md](performance.md)). Less is better, except per second. The bare proxy, Fastify and undici alone, passes on a plain chat.',
    command: ['npm', 'run', 'bench', '--', '--peers'],
    read: readBench,
  },
  faults: {
    title: 'Kill campaign',
    about: 'Kills, stops and cuts, whole, on both sets of backing services ([fault-matrix.md](fault-matrix.md)).',
    command: ['npm', 'run', 'test:faults', '--'],
    usesReport: true,
    read: readTestReport,
  },
  isolation: {
    title: 'Isolation matrix',
    about:
      'A hostile program at every level of isolation: how many of the attacks that were tried escaped ([isolation.md](isolation.md)). Level `none` stops nothing.',
    command: ['npm', 'run', 'isolation:matrix'],
    read: readIsolationMatrix,
  },
} satisfies Record<string, Board>;

export type BoardName = keyof typeof boards;

export const isBoardName = (name: string): name is BoardName => Object.hasOwn(boards, name);
