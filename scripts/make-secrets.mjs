// `node scripts/make-secrets.mjs [directory]`: makes the secrets that docker-compose.yml and k8s/overlays/dev read, random,
// one file each. Needs nothing but Node. What is there already stays, unless the environment says another value: a second run
// changes no password.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** @returns {string[]} what was made or changed */
export function makeSecrets(directory, environment = {}) {
  // Only its owner gets in; the files are readable because containers mount each alone and read it as their own user.
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const written = [];

  const read = (name) => {
    try {
      return readFileSync(join(directory, name), 'utf8').trim();
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
      return undefined;
    }
  };
  const keep = (name, value) => {
    if (read(name) === value) return value;
    const path = join(directory, name);
    writeFileSync(`${path}.new`, `${value}\n`, { mode: 0o400 });
    // Not by `mode`, of which a strict umask takes away.
    chmodSync(`${path}.new`, 0o444);
    renameSync(`${path}.new`, path);
    written.push(path);
    return value;
  };
  /** The one given, else the one that is there, else a random one. */
  const secret = (name, make = () => randomBytes(24).toString('base64url')) =>
    keep(name, environment[name.toUpperCase()] || (read(name) ?? make()));

  const database = (user, password) => `postgres://${user}:${encodeURIComponent(password)}@postgres:5432/signalbox`;
  keep('database_url', database('signalbox', secret('postgres_password')));
  keep('database_application_url', database('signalbox_application', secret('postgres_application_password')));
  keep('database_reader_url', database('signalbox_reader', secret('postgres_reader_password')));
  const redisPassword = secret('redis_password');
  keep('redis_url', `redis://default:${encodeURIComponent(redisPassword)}@redis:6379`);
  keep('redis_auth.conf', `requirepass ${quoted(redisPassword)}`);
  secret('metrics_token');
  secret('chimech_api_key');
  secret('grafana_password');
  // Seals what users have given for tool servers.
  secret('vault_key', () => randomBytes(32).toString('base64'));
  // Signs the checkpoints of the audit.
  secret('audit_signing_key', () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).trim(),
  );
  return written;
}

/** As Redis reads a word of its configuration. */
function quoted(text) {
  return /^[\w-]+$/.test(text) ? text : `"${text.replaceAll(/[\\"]/g, '\\$&')}"`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const path of makeSecrets(process.argv[2] ?? 'secrets')) console.log(`made ${path}`);
}
