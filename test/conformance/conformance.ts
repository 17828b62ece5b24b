// `npm run conformance`: the official MCP conformance suites against the gateway, a server made with the decorators, and
// the worker's client. Exit codes: 0 nothing failed that applies to us (not-applicable.ts), 1 something did.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { silentLogger } from '#libs/logging/logger.js';
import { createMcpServer } from '#libs/mcp-server/create-mcp-server.js';
import { serveOverHttp } from '#libs/mcp-server/serve-over-http.js';
import { startWhole } from '../support/whole-start.js';
import { AskingTools } from './asking-tools.js';
import { addChangeTrigger, ConformanceTools } from './conformance-tools.js';
import { serveConformanceOffers } from './conformance-offers.js';
import { reasonAgainst, reasonAgainstCheck } from './not-applicable.js';
import { type Check, Referee, type Results } from './referee.js';

const { values: options } = parseArgs({
  options: {
    /** Only runs whose title contains it: `gateway`, `own server`, `client`, `2026-07-28`. */
    only: { type: 'string', default: '' },
  },
});

const suites = [
  { version: '0.1.16', server: ['--suite', 'all'] },
  { version: '0.2.0-alpha.12', revision: '2025-11-25', server: ['--requirements', '2025-11-25'] },
  { version: '0.2.0-alpha.12', revision: '2026-07-28', server: ['--requirements', '2026-07-28'] },
] as const;
type Suite = (typeof suites)[number];

const client = `"${process.execPath}" "${fileURLToPath(new URL('client.js', import.meta.url))}"`;
let failed = 0;

const tools = createMcpServer([new ConformanceTools(), new AskingTools()], { logger: silentLogger });
addChangeTrigger(tools);
const own = await serveOverHttp(tools, { logger: silentLogger });
const start = fileURLToPath(new URL('../../scripts/start.js', import.meta.url));
// The suite leaves questions unanswered, whose calls keep their places.
const server = { url: own.url, concurrency: 32 };
// Tools run without an approval, as the suite expects.
const offers = await serveConformanceOffers();
const mcpServers = { conformance: server, offers: { url: offers.url } };
const environment = { MCP_SERVERS: JSON.stringify(mcpServers), POLICY_DEFAULT: 'allow' };
const gateway = await startWhole(environment, start);
try {
  await published(gateway.url, 'test_simple_text');
  await published(gateway.url, 'test_tool_with_logging');
  for (const suite of suites) {
    const title = `conformance ${suite.version}${'revision' in suite ? `, ${suite.revision}` : ''}`;
    const judged = [
      { title: `gateway: ${title}`, run: () => judgeServer(suite, `${gateway.url}/mcp`) },
      { title: `own server: ${title}`, run: () => judgeServer(suite, own.url) },
      { title: `client: ${title}`, run: () => judgeClient(suite) },
    ];
    for (const { title: whole, run } of judged.filter((each) => each.title.includes(options.only))) {
      console.log(`\n${whole}`);
      report(...(await run()), whole.startsWith('gateway'));
    }
  }
} finally {
  gateway.kill('SIGTERM');
  await gateway.ended;
  await gateway.remove();
  await own.close();
  await tools.close();
  await offers.close();
}
console.log(failed === 0 ? '\nNothing failed that applies.' : `\n${failed} failed.`);
process.exitCode = failed === 0 ? 0 : 1;

/** The gateway knows the tool: the worker announces it, which nothing outside can hear. */
async function published(url: string, name: string): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/describe', params: { name } });
  const headers = { 'content-type': 'application/json' };
  for (const until = Date.now() + 30_000; ; await pause(100)) {
    const answer = await fetch(`${url}/mcp`, { method: 'POST', headers, body });
    if ('result' in ((await answer.json()) as object)) return;
    if (Date.now() > until) throw new Error(`the gateway did not learn of ${name}`);
  }
}

type Judged = [results: Results, notScored: ReadonlyMap<string, string>];

async function judgeServer(suite: Suite, url: string): Promise<Judged> {
  const referee = await Referee.fetch(suite.version);
  return [await referee.judge(['server', '--url', url, ...suite.server]), await notScored(referee, suite)];
}

/** One scenario after the other: the suite's own way starts a client for each at once. */
async function judgeClient(suite: Suite): Promise<Judged> {
  const referee = await Referee.fetch(suite.version);
  const results: Results = new Map();
  const revision = 'revision' in suite ? suite.revision : undefined;
  for (const scenario of await referee.clientScenarios(revision)) {
    if (reasonAgainst(scenario) !== undefined) {
      results.set(scenario, []);
      continue;
    }
    const spoken = revision === undefined ? [] : ['--spec-version', revision];
    const judged = await referee.judge(['client', '--command', client, '--scenario', scenario, ...spoken]);
    for (const [name, checks] of judged) results.set(name, checks);
  }
  return [results, await notScored(referee, suite)];
}

async function notScored(referee: Referee, suite: Suite): Promise<ReadonlyMap<string, string>> {
  return 'revision' in suite ? referee.notScored(suite.revision) : new Map<string, string>();
}

function report(results: Results, unscored: ReadonlyMap<string, string>, ofGateway: boolean): void {
  for (const [scenario, checks] of [...results].sort(([left], [right]) => (left < right ? -1 : 1))) {
    const reason = reasonAgainst(scenario, ofGateway);
    const without = (id: string) => reasonAgainstCheck(id, ofGateway);
    const failures = checks.filter(({ status, id }) => status === 'FAILURE' && without(id) === undefined);
    const why = unscored.get(scenario);
    if (reason !== undefined) console.log(`  –  ${scenario}: does not apply, ${reason}`);
    else if (failures.length === 0) console.log(`  ✓  ${scenario}${passedChecks(checks, without)}`);
    else {
      if (why === undefined) failed += 1;
      console.log(
        `  ${why === undefined ? '✗ ' : '○ '} ${scenario}${why === undefined ? '' : ` (not scored: ${why})`}`,
      );
      for (const { id, errorMessage = '' } of failures) console.log(`       ${id}: ${errorMessage}`);
    }
  }
}

function passedChecks(checks: readonly Check[], reason: (id: string) => string | undefined): string {
  const count = (wanted: Check['status']) => checks.filter(({ status }) => status === wanted).length;
  const without = checks.filter(({ status, id }) => status === 'FAILURE' && reason(id) !== undefined);
  const parts = [
    `${count('SUCCESS')} checks`,
    ...(count('WARNING') > 0 ? [`${count('WARNING')} warnings`] : []),
    ...without.map(({ id }) => `${id} does not apply, ${reason(id)}`),
  ];
  return `: ${parts.join('; ')}`;
}
