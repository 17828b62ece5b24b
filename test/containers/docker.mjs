// Docker, the gateway, PostgreSQL and Prometheus of the compose file, as the checks of containers ask them. Needs Node and Docker.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gateway, variables } from './settings.mjs';

const run = promisify(execFile);

async function command(program, ...args) {
  const { stdout } = await run(program, args, { env: variables, maxBuffer: 64 << 20, timeout: 420_000 });
  return stdout;
}
export const docker = (...args) => command('docker', ...args);
export const compose = (...args) => docker('compose', ...args);
export const inside = (service, ...args) => compose('exec', '-T', service, ...args);
export const last = (text) => text.trim().split('\n').at(-1);

export function ensure(condition, message) {
  if (!condition) throw new Error(typeof message === 'string' ? message : JSON.stringify(message).slice(0, 1_500));
}

/** @param {() => Promise<unknown>} work until it holds, for two minutes */
export async function eventually(work) {
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

export async function get(path, headers = {}) {
  const answer = await fetch(`${gateway}${path}`, { headers, signal: AbortSignal.timeout(30_000) });
  ensure(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

export async function post(url, body, headers = {}) {
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

export async function sql(statement, user = 'signalbox') {
  const variables = ['-v', 'ON_ERROR_STOP=1', '-qAt', '-U', user, '-d', 'signalbox'];
  return (await inside('postgres', 'psql', ...variables, '-c', statement)).trim();
}

export async function prometheus(path) {
  const answer = JSON.parse(await inside('prometheus', 'wget', '-qO-', `http://127.0.0.1:9090/api/v1/${path}`));
  ensure(answer.status === 'success', answer);
  return answer.data;
}
