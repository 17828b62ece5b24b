// The sessions and files endpoints on a real socket, a real store and a directory of their own, for their tests.
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { OperatorAccess } from '#libs/health/operator-access.js';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { createMigratedDatabase } from './support/services/test-database.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { AppErrorFilter } from '../apps/gateway/http/app-error.filter.js';
import { registerFileUploads } from '../apps/gateway/http/files/file-uploads.js';
import { FilesController } from '../apps/gateway/http/files/files.controller.js';
import { SESSION_STORE } from '../apps/gateway/http/injection-tokens.js';
import { registerOnRequest } from '../apps/gateway/http/on-request.js';
import { SessionsController } from '../apps/gateway/http/controllers/sessions.controller.js';

export const megabyte = 1024 * 1024;

type Init = NonNullable<Parameters<typeof fetch>[1]>;

/** What the answers of these endpoints may have. */
export interface Shown extends Record<string, unknown> {
  error: { code: string; param?: string };
  sessions: { id: string }[];
  files: { path: string; size: number; type: string }[];
  usage: { bytes: number; files: number };
}

type FilesApp = Awaited<ReturnType<typeof startFilesApp>>;

/** One app for the suite that calls this, and a new session id (`id`) for each of its tests. */
export function useFilesApp() {
  let app: FilesApp;
  let count = 0;
  beforeAll(async () => {
    app = await startFilesApp();
  });
  afterAll(() => app.close());
  beforeEach(() => {
    count += 1;
  });
  const files = {
    get app() {
      return app;
    },
    get id() {
      return `sess_${count}`;
    },
    api: (...given: Parameters<FilesApp['api']>) => app.api(...given),
    put: (path: string, body: Parameters<FilesApp['put']>[2], headers?: Record<string, string>) =>
      app.put(files.id, path, body, headers),
    hostOf: () => app.hostOf(files.id),
  };
  return files;
}

async function startFilesApp() {
  const testDatabase = await createMigratedDatabase();
  const database = openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'test' });
  const sessions = new PostgresSessionStore(database, { idleTtlMs: 60_000 });
  const root = mkdtempSync(join(tmpdir(), 'signalbox-files-'));
  const workspaces = await Workspaces.open(root, { maxBytes: 300 * megabyte, maxFiles: 100, maxDepth: 8 });
  const adapter = new FastifyAdapter({
    bodyLimit: megabyte,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 8_192 },
  });
  const fastify = adapter.getInstance();
  registerOnRequest(fastify, {
    config: readConfig({ environment: { LIMITS_TURN_MS: '60000' } }),
    access: new OperatorAccess(undefined),
    logger: silentLogger,
  });
  registerFileUploads(fastify);
  const module = {
    module: class TestModule {},
    controllers: [SessionsController, FilesController],
    providers: [
      { provide: SESSION_STORE, useValue: sessions },
      { provide: Workspaces, useValue: workspaces },
    ],
  };
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, { logger: false, abortOnError: false });
  const failures: string[] = [];
  app.useGlobalFilters(new AppErrorFilter(silentLogger, ({ code }) => void failures.push(code)));
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const api = (path: string, init: Init = {}) => fetch(`http://127.0.0.1:${port}/api/sessions${path}`, init);
  return {
    root,
    port,
    sessions,
    /** Codes of what failed so far, also where nobody was there to be told. */
    failures,
    api,
    put: (id: string, path: string, body: NonNullable<Init['body']>, headers: Record<string, string> = {}) =>
      api(`/${id}/files/${path}`, { method: 'PUT', body, headers }),
    hostOf: async (id: string) => join(root, (await sessions.get('local', id))!.directory),
    close: async () => {
      await app.close();
      await database.close();
      await testDatabase.drop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

export const json = async (response: Response) => (await response.json()) as Shown;
export const failure = async (response: Response) => [response.status, (await json(response)).error.code];
