// What a deployment does for its users and operators, through restarts.
import { readdirSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { compose, docker, ensure, eventually, get, inside, post, prometheus, sql } from './docker.mjs';
import { ready } from './image-checks.mjs';
import { gateway, services } from './settings.mjs';

const writes = (name) => ({
  messages: [{ role: 'user', content: `Write "hello" to ${name}.txt` }],
  tools: [{ type: 'mcp', server_label: 'workspace' }],
  session_id: 'containers',
});

export async function chat(name, headers = {}) {
  const { tool_execution: done } = JSON.parse(await post(`${gateway}/api/chat/completions`, writes(name), headers));
  ensure(isDeepStrictEqual(done?.tools_called, ['write_file']) && done.calls[0].success, done);
}

/** A browser at the address of the gateway gets the page, with its script and its styles. */
export async function consolePage() {
  const signal = AbortSignal.timeout(30_000);
  const page = await fetch(gateway, { headers: { accept: 'text/html' }, signal });
  const text = await page.text();
  const files = [...text.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, path]) => new URL(path, page.url));
  ensure(page.ok && page.url.includes('/console') && files.length > 0, `${page.status} ${page.url} ${text}`);
  for (const url of files) {
    const { ok, headers } = await fetch(url, { signal });
    ensure(ok && /javascript|css/.test(headers.get('content-type')), `${url}`);
  }
}

async function call(name, args) {
  return JSON.parse(await post(`${gateway}/api/tools/call`, { name, arguments: args, session_id: 'containers' }));
}

export async function confinedServer() {
  const token = (await inside('gateway', 'cat', '/run/secrets/metrics_token')).trim();
  const { data, servers = data } = await get('/api/servers', { authorization: `Bearer ${token}` });
  const files = servers.find(({ name }) => name === 'files');
  ensure(files?.state === 'ready' && files.isolation === 'confined', servers);
  const path = '/mcp_workspaces/containers/from-npm.txt';
  const written = await call('files__write_file', { path, content: 'hello' });
  ensure(written.success, written);
  const read = await call('read_text_file', { path });
  ensure(JSON.stringify(read).includes('hello'), read);
  const refused = await call('read_text_file', { path: '/run/secrets/metrics_token' }).catch(({ message }) => message);
  ensure(/Access denied/.test(refused) && !refused.includes(token), refused);
}

function askChimech(name, args, authorization) {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const accept = 'application/json, text/event-stream';
  return post('http://127.0.0.1:8002/mcp', message, { accept, authorization });
}

const chimechKey = async () => `Bearer ${(await inside('chimech', 'cat', '/run/secrets/chimech_api_key')).trim()}`;

export async function chimech() {
  const key = await chimechKey();
  await inside('chimech', 'signalbox', 'import', '/app/config/chimech/templates');
  const answer = await askChimech('chimech/query', { question: 'What is the capital of France?' }, key);
  ensure(answer.includes('tokens_used'), answer);
  const found = await askChimech('chimech/search', { query: 'weekly report' }, key);
  ensure(found.includes('weekly-report'), found);
  const stranger = await askChimech('chimech/query', { question: '?' }, 'Bearer wrong').catch(({ status }) => status);
  ensure(stranger === 401, stranger);
  const inChat = await call('chimech/search', { query: 'weekly report' });
  ensure(inChat.success, inChat);
}

export async function approval() {
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

/** As the role of gateways and workers: the owner takes it on. */
export async function appendOnly() {
  for (const statement of [
    'update audit_events set success = true',
    'delete from audit_events',
    'truncate audit_events',
  ]) {
    const refused = await sql(`set role signalbox_application; ${statement}`).catch(({ stderr }) => stderr);
    ensure(/permission denied for table audit_events/.test(refused), `${statement}: ${refused}`);
  }
}

export async function restarts() {
  const stop = new AbortController();
  const done = { answered: 0, chats: 0, refused: 0, failed: [] };
  const load = async (work, number) => {
    for (let round = 0; !stop.signal.aborted; round++) {
      try {
        await work(`load-${number}-${round}`);
        done.answered++;
        if (work === chat) done.chats++;
      } catch (error) {
        // Refused, or cut off in sight of the caller: what is answered must be whole.
        if (error.status >= 500 || error.name === 'TypeError' || error.name === 'TimeoutError') done.refused++;
        else done.failed.push(error.message);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  };
  const key = await chimechKey();
  const question = { question: 'What is the capital of France?' };
  const loads = [chat, chat, chat, () => askChimech('chimech/query', question, key)].map(load);
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
  stop.abort();
  await Promise.all(loads);
  ensure(done.failed.length === 0 && done.answered > 20, done);
  const audited = Number(await sql("select count(*) from audit_events where tool = 'write_file' and success"));
  ensure(audited >= done.chats, `${done.chats} chats, ${audited} rows`);
  await eventually(ready);
  return `${done.answered} requests answered, ${done.refused} refused meanwhile`;
}

export async function scraped() {
  const targets = await eventually(async () => {
    const { activeTargets } = await prometheus('targets?state=active');
    const up = activeTargets.filter(({ health }) => health === 'up').map(({ labels }) => labels.job);
    const wanted = services.map((name) => `signalbox-${name}`);
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

/** Of what only trouble counts; everything else has a series after the load. */
const troubles =
  /rate_limited|refused|bounds_total|instances_closed|egress|changes|outcome_unknown|(?:code|outcome)(?:=~|!~|="error")/;

export async function queries() {
  const directory = 'config/grafana/dashboards';
  const panels = readdirSync(directory).flatMap(
    (name) => JSON.parse(readFileSync(`${directory}/${name}`, 'utf8')).panels,
  );
  const targets = panels.flatMap(({ title, targets: own }) => own.map((target) => ({ title, ...target })));
  const ask = async ({ title, expr, rawSql }) => {
    if (rawSql !== undefined) return sql(`set role signalbox_reader; ${withoutMacros(rawSql)}`);
    const { result } = await prometheus(`query?query=${encodeURIComponent(expr.replaceAll('$__rate_interval', '5m'))}`);
    // Errors have a rate only while there are more of them.
    if (result.length === 0) await call('no_such_tool', {}).catch(() => undefined);
    ensure(result.length > 0 || troubles.test(expr), `without data: ${title}: ${expr}`);
    return result;
  };
  const answers = [];
  for (let at = 0; at < targets.length; at += 8) {
    // A rate needs two scrapes after the last restart.
    const some = targets.slice(at, at + 8).map((target) => eventually(() => ask(target)));
    answers.push(...(await Promise.all(some)));
  }
  const quiet = answers.filter((answer) => Array.isArray(answer) && answer.length === 0).length;
  return `${answers.length} asked, ${quiet} of troubles that there were not`;
}

const withoutMacros = (query) =>
  query
    .replaceAll(/\$__timeFilter\((\w+)\)/g, `$1 > now() - interval '1 hour'`)
    .replaceAll(/\$__timeGroup\((\w+), \$__interval\)/g, 'floor(extract(epoch from $1) / 60) * 60');

export async function downAndUp() {
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
