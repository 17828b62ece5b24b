import { expect, test } from 'vitest';
import pg from 'pg';
import { clientConfig } from './connection.js';

const settings = { timeoutMs: 100, applicationName: 'signalbox backing', set: { search_path: 'bullmq,public' } };

function read(url: string): { options: string; application_name: string; database: string; host: string } {
  const client = new pg.Client(clientConfig({ url, ...settings }));
  return (client as unknown as { connectionParameters: ReturnType<typeof read> }).connectionParameters;
}

test('settings reach the driver, those of the operator stay', () => {
  const ours = '-c TimeZone=UTC -c search_path=bullmq,public';
  expect(read('postgres://user:p%40ss@db.example:5433/signalbox')).toMatchObject({
    options: ours,
    application_name: 'signalbox backing',
    database: 'signalbox',
  });
  const given = 'postgres://user@db.example/signalbox?options=-c%20work_mem%3D8MB&application_name=theirs';
  expect(read(given)).toMatchObject({
    options: `-c work_mem=8MB ${ours}`,
    application_name: 'signalbox backing',
  });
  expect(read('postgres://user@/signalbox?host=/run/postgresql')).toMatchObject({
    options: ours,
    host: '/run/postgresql',
  });
});
