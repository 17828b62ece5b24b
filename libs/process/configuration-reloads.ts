// Rereads the configuration on a signal or when one of its files changes, and applies the tool servers, the toolsets and the
// policy if it is valid. An invalid one changes nothing. Other changed settings are logged and need a restart. Reads one at a time.
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { knowSecrets } from '#libs/audit/known-secrets.js';
import { changedSettings } from '#libs/config/files/changed-settings.js';
import { ConfigError, formatProblem } from '#libs/config/config-error.js';
import type { ConfigReader } from '#libs/config/load-config.js';
import { policyFilePath } from '#libs/config/policy-file.js';
import type { Config } from '#libs/config/schema.js';
import { documentHash } from '#libs/config/servers/document-hash.js';
import { documentFile } from '#libs/config/servers/server-address.js';
import { secretValues } from '#libs/config/secrets.js';
import { watchFiles } from '#libs/config/files/watch-files.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Logger } from '#libs/logging/logger.js';

export type ReloadOutcome = 'applied' | 'unchanged' | 'rejected';

export interface ReloadParts {
  started: Config;
  reader: ConfigReader;
  apply: (config: Config) => void | Promise<void>;
  strikeOut: (secrets: readonly string[]) => void;
  onOutcome: (outcome: ReloadOutcome) => void;
  logger: Logger;
}

export class ConfigurationReloads {
  private inForce: Config;
  private lastProblem?: string;
  private reading?: Promise<void>;
  private again?: string;
  private watch?: { close(): void };
  private closed = false;
  private documents: ReadonlyMap<string, string>;

  constructor(private readonly parts: ReloadParts) {
    this.inForce = parts.started;
    this.documents = this.documentsOf(parts.started);
  }

  /** The last configuration that was valid: its policy, toolsets and tool servers are in force. */
  get latest(): Config {
    return this.inForce;
  }

  /** Why the last configuration read is not in force, for health checks; contains no value and no path. */
  get problem(): string | undefined {
    return this.lastProblem;
  }

  /** The files that it names are watched too: the policy, and documents of APIs. */
  start(): void {
    const paths = () => {
      const { path } = this.parts.reader;
      const { policy, mcpServers } = this.inForce;
      const documents = Object.values(mcpServers).flatMap((server) => documentFile(dirname(path), server) ?? []);
      return [path, ...(policy.file === undefined ? [] : [policyFilePath(path, policy.file)]), ...documents];
    };
    this.watch = watchFiles(paths, { onChange: () => void this.request('the file has changed') });
  }

  /** Resolves after the current configuration, or a later one, has been read. */
  request(why: string): Promise<void> {
    if (this.reading !== undefined) {
      this.again = why;
      return this.reading;
    }
    this.reading = this.readAll(why).finally(() => (this.reading = undefined));
    return this.reading;
  }

  async close(): Promise<void> {
    this.closed = true;
    this.watch?.close();
    await this.reading;
  }

  private async readAll(first: string): Promise<void> {
    for (let why: string | undefined = first; why !== undefined && !this.closed; why = this.again) {
      this.again = undefined;
      this.parts.onOutcome(await this.readOnce(why).catch((error: unknown) => this.reject(error)));
    }
  }

  private async readOnce(why: string): Promise<ReloadOutcome> {
    const { started, reader, apply, strikeOut, logger } = this.parts;
    const next = reader.read();
    const before = this.inForce;
    // Calls may still run with secrets of the configuration before.
    const secrets = [started, before, next].flatMap((config) => secretValues(config));
    knowSecrets(secrets);
    strikeOut(secrets);
    const settings = changedSettings(started, next);
    if (settings.length > 0) logger.warn({ metadata: { settings } }, 'settings have changed that need a restart');
    const documents = this.documentsOf(next);
    const changes = compareServers(before.mcpServers, next.mcpServers, {
      before: this.documents,
      after: documents,
    });
    // Applied even if unchanged, since a missing program may have been installed.
    await apply(next);
    this.inForce = next;
    this.documents = documents;
    this.lastProblem = undefined;
    const others = (['policy', 'toolsets'] as const).filter((name) => !isDeepStrictEqual(before[name], next[name]));
    const changed = Object.fromEntries(others.map((name) => [name, 'changed']));
    logger.info({ metadata: { why, ...changes.names, ...changed } }, 'the configuration was read again');
    return changes.any || others.length > 0 ? 'applied' : 'unchanged';
  }

  /** The hashes of documents of APIs that are files, by server. */
  private documentsOf({ mcpServers }: Config): Map<string, string> {
    const directory = dirname(this.parts.reader.path);
    const found = new Map<string, string>();
    for (const [name, server] of Object.entries(mcpServers)) {
      const file = documentFile(directory, server);
      if (file !== undefined) found.set(name, documentHash(file));
    }
    return found;
  }

  private reject(error: unknown): ReloadOutcome {
    const known = error instanceof ConfigError;
    const count = known ? error.problems.length : 1;
    const problems = count === 1 ? 'a problem' : `${count} problems`;
    this.lastProblem = `the configuration read last has ${problems}, listed in the log: the previous one stays in force`;
    this.parts.logger.error(
      known ? { metadata: { problems: error.problems.map((each) => formatProblem(each).trim()) } } : { error },
      'the configuration could not be read again: the previous one stays in force',
    );
    return 'rejected';
  }
}

type Servers = Config['mcpServers'];

function compareServers(
  before: Servers,
  after: Servers,
  documents: { before: ReadonlyMap<string, string>; after: ReadonlyMap<string, string> },
): { names: Record<string, string[]>; any: boolean } {
  const [old, now] = [Object.keys(before), Object.keys(after)];
  const added = now.filter((name) => !Object.hasOwn(before, name));
  const removed = old.filter((name) => !Object.hasOwn(after, name));
  const isChanged = (name: string) =>
    canonicalHash(before[name]) !== canonicalHash(after[name]) ||
    documents.before.get(name) !== documents.after.get(name);
  const changed = now.filter((name) => Object.hasOwn(before, name) && isChanged(name));
  const moved = old.join(' ') !== now.join(' ');
  return { names: { added, changed, removed }, any: moved || changed.length > 0 };
}
