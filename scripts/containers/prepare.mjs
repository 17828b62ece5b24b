// The service `prepare` of docker-compose.yml, which runs before all others and ends: gives each service, in a directory of its
// own on one volume, the secrets that it reads and its configuration. Secrets are made once and kept there; .env may say others.
// Needs nothing but Node, and never prints a secret.
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { alertmanagerConfig } from './alertmanager-config.mjs';
import { makeSecrets } from '../make-secrets.mjs';

const application = ['database_application_url', 'redis_url', 'metrics_token'];
/** By service: who is broken into loses these, and no others. */
export const secretsOf = {
  gateway: [...application, 'vault_key', 'audit_signing_key'],
  worker: [...application, 'vault_key'],
  chimech: ['database_application_url', 'chimech_api_key', 'metrics_token'],
  migrate: ['database_url', 'database_application_url', 'database_reader_url', 'redis_url', 'audit_signing_key'],
  redis: ['redis_auth.conf', 'redis_password'],
  postgres: ['postgres_password'],
  prometheus: ['metrics_token'],
  grafana: ['grafana_password', 'postgres_reader_password'],
};
/** By service: the directory of config/ that it reads. */
export const configOf = {
  redis: 'redis',
  prometheus: 'prometheus',
  grafana: 'grafana',
  loki: 'loki',
  collector: 'alloy',
};

export function prepareContainers(directory, environment) {
  const config = join(dirname(fileURLToPath(import.meta.url)), '../../config');
  const made = join(directory, 'made');
  const count = makeSecrets(made, environment).length;
  for (const [service, names] of Object.entries(secretsOf)) {
    const target = fresh(join(directory, service, 'secrets'));
    for (const name of names) copy(join(made, name), join(target, name));
  }
  for (const [service, name] of Object.entries(configOf)) {
    copy(join(config, name), fresh(join(directory, service, 'config')));
  }
  const file = join(fresh(join(directory, 'alertmanager/config')), 'alertmanager.yml');
  writeFileSync(file, JSON.stringify(alertmanagerConfig(environment), null, 2));
  for (const service of readdirSync(directory)) if (service !== 'made') open(join(directory, service));
  return count;
}

/** Emptied rather than made anew: a container that runs has it mounted. */
function fresh(path) {
  mkdirSync(path, { recursive: true });
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
  return path;
}

const copy = (from, to) => cpSync(from, to, { recursive: true, force: true });

/** Every service has a user of its own. */
function open(path) {
  chmodSync(path, 0o755);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) open(join(path, entry.name));
    else chmodSync(join(path, entry.name), 0o444);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const count = prepareContainers(process.argv[2], process.env);
  console.log(count === 0 ? 'the secrets are there already' : `${count} secrets made or changed`);
}
