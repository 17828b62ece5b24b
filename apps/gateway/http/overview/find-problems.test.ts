import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { budgetProblems, findProblems, type Looked } from './find-problems.js';

const worker = (id: string, members: { isGone?: boolean; draining?: boolean } = {}): Looked['workers'][number] => ({
  id,
  kind: 'worker',
  details: {},
  draining: false,
  isGone: false,
  ageMs: 7_000.4,
  startedAt: new Date(),
  ...members,
});
const well: Looked = {
  servers: [{ name: 'web', state: 'ready' }],
  workers: [worker('worker-a')],
  audit: { enabled: true, isBroken: false },
  checks: [{ name: 'store', status: 'ok' }],
};

verifies('overview.problems', 'nothing', () => {
  expect(findProblems(well)).toEqual([]);
});

verifies('overview.problems', 'servers, a worker that is gone, the audit, and what the health report says', () => {
  const problems = findProblems({
    servers: [
      { name: 'files', state: 'refused', reason: 'not installed' },
      { name: 'web', state: 'unavailable' },
      { name: 'slow', state: 'starting' },
    ],
    workers: [worker('worker-a'), worker('worker-b', { isGone: true }), worker('worker-c', { draining: true })],
    audit: { enabled: false, isBroken: true },
    checks: [
      { name: 'models', status: 'degraded', reason: 'Set a key.' },
      { name: 'queue', status: 'down' },
      { name: 'servers', status: 'degraded', reason: 'not ready: web' },
    ],
  });
  expect(problems).toMatchObject([
    { code: 'worker_gone', severity: 'warning', worker: 'worker-b', seen_ms_ago: 7_000 },
    { code: 'server_refused', severity: 'error', server: 'files', reason: 'not installed' },
    { code: 'server_unavailable', severity: 'warning', server: 'web', reason: null },
    { code: 'audit_disabled', severity: 'warning' },
    { code: 'audit_broken', severity: 'error' },
    { code: 'check_failed', severity: 'warning', check: 'models', reason: 'Set a key.' },
    { code: 'check_failed', severity: 'error', check: 'queue' },
  ]);
  expect(problems[1]!.message).toBe('Tool server files is refused: not installed');
});

verifies('overview.problems', 'without a worker, only that', () => {
  const servers: Looked['servers'] = [{ name: 'web', state: 'unavailable' }];
  expect(findProblems({ ...well, servers, workers: [worker('worker-c', { draining: true })] })).toMatchObject([
    { code: 'no_workers', severity: 'error' },
  ]);
});

verifies('overview.problems', 'budgets near their end, and used up', () => {
  const near = [
    { principal: 'ann', keyId: 'key_1', share: 1.2 },
    { principal: 'bob', keyId: undefined, share: 0.85 },
  ];
  expect(budgetProblems(near)).toMatchObject([
    {
      code: 'budget_used_up',
      severity: 'error',
      principal: 'ann',
      key_id: 'key_1',
      message: '120 % of the budget of ann is used',
    },
    { code: 'budget_near_end', severity: 'warning', principal: 'bob', key_id: null },
  ]);
});
