// What .ci/containers checks where the engine is: builds, starts and uses the compose file as a person would, and prints a row a
// check. Needs Node and Docker alone. Removes its containers and volumes at the end; the project has a name of its own.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual, promisify } from 'node:util';

const run = promisify(execFile);
const gateway = 'http://127.0.0.1:8000';
const package_ = '@modelcontextprotocol/server-filesystem@2026.8.31';
const environment = {
  ...process.env,
  COMPOSE_PROJECT_NAME: 'signalbox-check',
  TOOL_PACKAGES: package_,
  MCP_SERVERS: JSON.stringify({ files: { command: 'npx', args: ['-y', package_, '${WORKSPACE}'] } }),
};
const ours = ['gateway', 'worker', 'chimech'];
const rows = [];

/** Without the image, or without a start, nothing else is tried. */
async function check(name, work) {
  if (rows.slice(0, 2).some(([, result]) => result === 'failed')) {
    rows.push([name, 'left', 0, '']);
    return;
  }
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  try {
    const detail = await work();
    rows.push([name, 'ok', seconds(), typeof detail === 'string' && detail.length < 200 ? detail.trim() : '']);
  } catch (error) {
    rows.push([name, 'failed', seconds(), `${error.message}\n${error.stderr ?? ''}`.trim().slice(-2_000)]);
  }
  const [, result, time] = rows.at(-1);
  console.error(`${result} ${name} (${time.toFixed(1)} s)`);
}

async function command(program, ...args) {
  const { stdout } = await run(program, args, { env: environment, maxBuffer: 64 << 20, timeout: 420_000 });
  return stdout;
}
const docker = (...args) => command('docker', ...args);
const compose = (...args) => docker('compose', ...args);
const inside = (service, ...args) => compose('exec', '-T', service, ...args);
const last = (text) => text.trim().split('\n').at(-1);

function ensure(condition, message) {
  if (!condition) throw new Error(typeof message === 'string' ? message : JSON.stringify(message).slice(0, 1_500));
}

/** @param {() => Promise<unknown>} work until it holds, for two minutes */
async function eventually(work) {
  const deadline = performance.now() + 120_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function buildTargets() {
  const stages = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM \S+ AS (\w+)$/gm)].map(([, name]) => name);
  const sizes = [];
  for (const stage of stages) {
    const tag = `signalbox-check-${stage}`;
    await docker('build', '--quiet', '--target', stage, '--tag', tag, '--build-arg', `TOOL_PACKAGES=${package_}`, '.');
    sizes.push(`${stage} ${megabytes(await docker('image', 'inspect', tag, '--format', '{{.Size}}'))}`);
  }
  const base = /^ARG NODE_IMAGE=(\S+)/m.exec(readFileSync('Dockerfile', 'utf8'))[1];
  return `${sizes.join(', ')}, of which ${megabytes(await docker('image', 'inspect', base, '--format', '{{.Size}}'))} are ${base}`;
}
const megabytes = (bytes) => `${Math.round(Number(bytes) / 1e6)} MB`;

async function hardened() {
  const ids = (await compose('ps', '--quiet')).trim().split('\n');
  const containers = JSON.parse(await docker('inspect', ...ids));
  for (const { Name, Config, HostConfig } of containers) {
    const { ReadonlyRootfs, CapDrop, CapAdd, SecurityOpt, PortBindings } = HostConfig;
    ensure(/^[1-9]/.test(Config.User) && ReadonlyRootfs, `${Name}: ${Config.User}, read-only ${ReadonlyRootfs}`);
    ensure(isDeepStrictEqual([CapDrop, CapAdd ?? []], [['ALL'], []]), `${Name}: ${CapDrop} ${CapAdd}`);
    ensure(SecurityOpt.includes('no-new-privileges:true'), `${Name}: ${SecurityOpt}`);
    for (const { HostIp } of Object.values(PortBindings ?? {}).flat())
      ensure(HostIp === '127.0.0.1', `${Name}: ${HostIp}`);
  }
  for (const service of ours) {
    const status = await inside(service, 'cat', '/proc/1/status');
    ensure(/^CapEff:\t0+$/m.test(status) && /^NoNewPrivs:\t1$/m.test(status), `${service}: ${status}`);
    await inside(service, 'sh', '-c', 'if touch /app/x 2>/dev/null; then exit 1; fi');
  }
  return `${containers.length} containers`;
}

async function ready() {
  const { status, checks } = await get('/health/ready');
  const isolation = checks.find(({ name }) => name === 'isolation').details;
  ensure(status === 'ok' && isolation.level === 'confined', checks);
}

async function get(path, headers = {}) {
  const answer = await fetch(`${gateway}${path}`, { headers, signal: AbortSignal.timeout(30_000) });
  ensure(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

async function post(url, body, headers = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(90_000),
  });
  const text = await answer.text();
  if (!answer.ok)
    throw Object.assign(new Error(`${url}: ${answer.status} ${text.slice(0, 500)}`), { status: answer.status });
  return text;
}

const writes = (name) => ({
  messages: [{ role: 'user', content: `Write "hello" to ${name}.txt` }],
  tools: [{ type: 'mcp', server_label: 'workspace' }],
  session_id: 'containers',
});

async function chat(name, headers = {}) {
  const { tool_execution: done } = JSON.parse(await post(`${gateway}/api/chat/completions`, writes(name), headers));
  ensure(isDeepStrictEqual(done?.tools_called, ['write_file']) && done.calls[0].success, done);
}

async function call(name, args) {
  return JSON.parse(await post(`${gateway}/api/tools/call`, { name, arguments: args, session_id: 'containers' }));
}

async function confinedServer() {
  const token = (await inside('gateway', 'cat', '/run/secrets/metrics_token')).trim();
  const { data, servers = data } = await get('/api/servers', { authorization: `Bearer ${token}` });
  const files = servers.find(({ name }) => name === 'files');
  ensure(files?.state === 'ready' && files.isolation === 'confined', servers);
  const path = '/mcp_workspaces/containers/from-npm.txt';
  const written = await call('files__write_file', { path, content: 'hello' });
  ensure(written.success, written);
  const read = await call('read_text_file', { path });
  ensure(JSON.stringify(read).includes('hello'), read);
  const refused = await call('read_text_file', { path: '/run/secrets/metrics_token' });
  ensure(!refused.success && !JSON.stringify(refused).includes(token), refused);
}

async function chimech() {
  const key = (await inside('chimech', 'cat', '/run/secrets/chimech_api_key')).trim();
  await inside('chimech', 'node', 'dist/scripts/kb-import.js', '/app/config/chimech/templates');
  const ask = (name, args, authorization) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const accept = 'application/json, text/event-stream';
    return post('http://127.0.0.1:8002/mcp', message, { accept, authorization });
  };
  const answer = await ask('chimech/query', { question: 'What is the capital of France?' }, `Bearer ${key}`);
  ensure(answer.includes('tokens_used'), answer);
  const found = await ask('chimech/search', { query: 'weekly report' }, `Bearer ${key}`);
  ensure(found.includes('weekly-report'), found);
  const stranger = await ask('chimech/query', { question: '?' }, 'Bearer wrong').catch(({ status }) => status);
  ensure(stranger === 401, stranger);
  const inChat = await call('chimech/search', { query: 'weekly report' });
  ensure(inChat.success, inChat);
}

async function approval() {
  const tools = [{ type: 'mcp', server_label: 'workspace', require_approval: 'always' }];
  const answer = await fetch(`${gateway}/api/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...writes('approved'), tools, stream: true }),
    signal: AbortSignal.timeout(60_000),
  });
  let text = '';
  let decided;
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [, id] = /"approval":\{"id":"(\w+)"/.exec(text) ?? [];
    if (id !== undefined) decided ??= post(`${gateway}/api/approvals/${id}`, { decision: 'approve' });
  }
  await decided;
  ensure(decided !== undefined && text.includes('"success":true') && text.includes('[DONE]'), text.slice(-1_000));
}

async function sql(statement, user = 'signalbox') {
  const variables = ['-v', 'ON_ERROR_STOP=1', '-qAt', '-U', user, '-d', 'signalbox'];
  return (await inside('postgres', 'psql', ...variables, '-c', statement)).trim();
}

/** As the role of gateways and workers: the owner takes it on. */
async function appendOnly() {
  for (const statement of [
    'update audit_events set success = true',
    'delete from audit_events',
    'truncate audit_events',
  ]) {
    const refused = await sql(`set role signalbox_application; ${statement}`).catch(({ stderr }) => stderr);
    ensure(/permission denied for table audit_events/.test(refused), `${statement}: ${refused}`);
  }
}

async function restarts() {
  let stop = false;
  const done = { chats: 0, refused: 0, failed: [] };
  const load = async (number) => {
    for (let round = 0; !stop; round++) {
      try {
        await chat(`load-${number}-${round}`);
        done.chats++;
      } catch (error) {
        // Refused, or cut off in sight of the caller: what is answered must be whole.
        if (error.status >= 500 || error.name === 'TypeError' || error.name === 'TimeoutError') done.refused++;
        else done.failed.push(error.message);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  };
  const loads = [1, 2, 3, 4].map(load);
  for (const service of (await compose('ps', '--services')).trim().split('\n')) {
    await compose('restart', service);
    await eventually(async () => {
      const [{ Health }] = (await compose('ps', service, '--format', 'json'))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      ensure(Health === 'healthy', `${service} is ${Health}`);
    });
    await eventually(() => chat('after-restart'));
  }
  stop = true;
  await Promise.all(loads);
  ensure(done.failed.length === 0 && done.chats > 20, done);
  const audited = Number(await sql("select count(*) from audit_events where kind = 'tool_call' and success"));
  ensure(audited >= done.chats, `${done.chats} chats, ${audited} rows`);
  await eventually(ready);
  return `${done.chats} chats answered, ${done.refused} refused meanwhile`;
}

async function prometheus(path) {
  const answer = JSON.parse(await inside('prometheus', 'wget', '-qO-', `http://127.0.0.1:9090/api/v1/${path}`));
  ensure(answer.status === 'success', answer);
  return answer.data;
}

async function scraped() {
  const targets = await eventually(async () => {
    const { activeTargets } = await prometheus('targets?state=active');
    const up = activeTargets.filter(({ health }) => health === 'up').map(({ labels }) => labels.job);
    const wanted = ours.map((name) => `signalbox-${name}`);
    ensure(
      wanted.every((job) => up.includes(job)) && up.length === activeTargets.length,
      activeTargets.map(({ lastError }) => lastError),
    );
    return up;
  });
  const { groups } = await prometheus('rules');
  ensure(
    groups.flatMap(({ rules }) => rules).every(({ health }) => health === 'ok' || health === 'unknown'),
    groups,
  );
  return `${targets.length} targets`;
}

/** Of the last half hour, as the load has left it. Queries of refusals, losses and held changes have no series unless there were some. */
async function queries() {
  const directory = 'config/grafana/dashboards';
  const panels = readdirSync(directory).flatMap(
    (name) => JSON.parse(readFileSync(`${directory}/${name}`, 'utf8')).panels,
  );
  const asked = panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));
  const empty = [];
  const ask = async ({ title, expr, rawSql }) => {
    if (rawSql !== undefined) return sql(`set role signalbox_reader; ${withoutMacros(rawSql)}`);
    const query = encodeURIComponent(expr.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '30m'));
    const { result } = await prometheus(`query?query=${query}`);
    if (result.length === 0) empty.push(`${title}: ${expr}`);
    return result;
  };
  for (let at = 0; at < asked.length; at += 8) await Promise.all(asked.slice(at, at + 8).map(ask));
  if (empty.length > 0) console.error(`queries without data:\n  ${empty.join('\n  ')}`);
  ensure(empty.length < asked.length / 4, `${empty.length} of ${asked.length} have no data`);
  return `${asked.length} asked, ${empty.length} without data`;
}

const withoutMacros = (query) =>
  query
    .replaceAll(/\$__timeFilter\((\w+)\)/g, `$1 > now() - interval '1 hour'`)
    .replaceAll(/\$__timeGroup\((\w+), \$__interval\)/g, 'floor(extract(epoch from $1) / 60) * 60');

async function downAndUp() {
  const count = () => sql("select count(*) from audit_events where at < now() - interval '1 second'");
  const volumes = async () => (await docker('volume', 'ls', '--format', '{{.Name}}')).trim().split('\n').sort();
  const rowsBefore = Number(await count());
  const volumesBefore = await volumes();
  await compose('down', '--timeout', '40');
  ensure(isDeepStrictEqual(await volumes(), volumesBefore), await volumes());
  ensure(!volumesBefore.some((name) => /^[0-9a-f]{64}$/.test(name)), volumesBefore);
  await compose('up', '--detach', '--wait');
  await eventually(async () => {
    const read = await call('read_file', { path: 'before.txt' });
    ensure(read.success && JSON.stringify(read).includes('hello'), read);
  });
  ensure(Number(await count()) >= rowsBefore && rowsBefore > 20, `${rowsBefore} rows before, ${await count()} after`);
  return `${rowsBefore} rows of the audit`;
}

try {
  await check('every target of the Dockerfile builds', buildTargets);
  await check('`docker compose up` alone, until all are healthy', () => compose('up', '--build', '--detach', '--wait'));
  await check('no root, no capability, read-only root', hardened);
  await check('ready, with isolation level 2 inside', ready);
  await check('a chat runs a tool', () => chat('before'));
  await check("npm's filesystem server, confined", confinedServer);
  await check('Chimech answers with its key, searches its knowledge base', chimech);
  await check('a call waits for an approval', approval);
  await check('the audit can be added to, and not changed', appendOnly);
  await check('every container restarted under load', restarts);
  await check('every target is up in Prometheus, rules are loaded', scraped);
  await check('every query of the dashboards has an answer', queries);
  await check('down and up: the data is kept, no volume without a name', downAndUp);
  await check('the audit verifies', async () =>
    last(await inside('gateway', 'node', 'dist/scripts/audit.js', 'verify')),
  );
} finally {
  if (rows.some(([, result]) => result !== 'ok'))
    process.stderr.write(await compose('logs', '--tail', '20').catch(String));
  await compose('down', '--volumes', '--timeout', '10').catch(() => undefined);
}
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, result, seconds, detail] of rows) {
  console.log(`${name.padEnd(width)}  ${result.padEnd(6)}  ${seconds.toFixed(1).padStart(6)} s  ${detail}`);
}
process.exitCode = rows.every(([, result]) => result === 'ok') ? 0 : 1;
