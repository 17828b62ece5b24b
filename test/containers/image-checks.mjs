// The image and its containers: what they are made of, and what they may do.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { compose, docker, ensure, get, inside } from './docker.mjs';
import { filesystemServer, services } from './settings.mjs';

export async function buildTargets() {
  const stages = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM \S+ AS (\w+)$/gm)].map(([, name]) => name);
  const sizes = [];
  for (const stage of stages) {
    const tag = `signalbox-check-${stage}`;
    await docker(
      'build',
      '--quiet',
      '--target',
      stage,
      '--tag',
      tag,
      '--build-arg',
      `TOOL_PACKAGES=${filesystemServer}`,
      '.',
    );
    sizes.push(`${stage} ${megabytes(await docker('image', 'inspect', tag, '--format', '{{.Size}}'))}`);
  }
  const base = /^ARG NODE_IMAGE=(\S+)/m.exec(readFileSync('Dockerfile', 'utf8'))[1];
  return `${sizes.join(', ')}, of which ${megabytes(await docker('image', 'inspect', base, '--format', '{{.Size}}'))} are ${base}`;
}
const megabytes = (bytes) => `${Math.round(Number(bytes) / 1e6)} MB`;

export async function hardened() {
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
  for (const service of services) {
    const status = await inside(service, 'cat', '/proc/1/status');
    ensure(/^CapEff:\t0+$/m.test(status) && /^NoNewPrivs:\t1$/m.test(status), `${service}: ${status}`);
    await inside(service, 'sh', '-c', 'if touch /app/x 2>/dev/null; then exit 1; fi');
  }
  return `${containers.length} containers`;
}

export async function ready() {
  const { status, checks } = await get('/health/ready');
  const isolation = checks.find(({ name }) => name === 'isolation').details;
  ensure(status === 'ok' && isolation.level === 'confined', checks);
}
