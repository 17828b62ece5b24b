import { expect, test } from 'vitest';
import pg from 'pg';
import { sessionUrl } from './session-url.js';

const settings = { applicationName: 'signalbox backing', set: { search_path: 'bullmq,public', statement_timeout: 5 } };

function read(url: string): { options: string; application_name: string; database: string; host: string } {
  const client = new pg.Client({ connectionString: sessionUrl(url, settings) });
  return (client as unknown as { connectionParameters: ReturnType<typeof read> }).connectionParameters;
}

test('settings reach the driver, those of the operator stay', () => {
  const ours = '-c search_path=bullmq,public -c statement_timeout=5';
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
