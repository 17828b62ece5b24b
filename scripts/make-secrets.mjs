// `node scripts/make-secrets.mjs [directory]`: makes the secrets that docker-compose.yml and k8s/overlays/dev read, random,
// one file each. Needs nothing but Node. What is there already stays: a second run changes no password.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const directory = process.argv[2] ?? 'secrets';
// Only its owner gets in; the files are readable because containers mount each alone and read it as their own user.
mkdirSync(directory, { recursive: true, mode: 0o700 });

const random = () => randomBytes(24).toString('base64url');
const postgresPassword = secret('postgres_password', random());
const redisPassword = secret('redis_password', random());
secret('database_url', `postgres://signalbox:${postgresPassword}@postgres:5432/signalbox`);
secret('redis_url', `redis://default:${redisPassword}@redis:6379`);
secret('redis_auth.conf', `requirepass ${redisPassword}`);
secret('metrics_token', random());
secret('chimech_api_key', random());
secret('grafana_password', random());
// Signs the checkpoints of the audit.
secret('audit_signing_key', generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).trim());

/** Returns what the file holds now. */
function secret(name, value) {
  const path = join(directory, name);
  try {
    writeFileSync(path, `${value}\n`, { flag: 'wx', mode: 0o400 });
    // Not by `mode`, of which a strict umask takes away.
    chmodSync(path, 0o444);
    console.log(`made ${path}`);
    return value;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    console.log(`kept ${path}`);
    return readFileSync(path, 'utf8').trim();
  }
}
