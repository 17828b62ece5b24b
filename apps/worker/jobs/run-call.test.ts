import { expect } from 'vitest';
import { replaceMembers } from '#libs/schemas/replace-members.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { silentLogger } from '#libs/logging/logger.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import type { Journal } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolReply } from '#libs/schemas/tool-job.js';
import { someCall, someJob } from '../../../test/support/stored-rows.js';
import { temporaryDirectory } from '../../../test/support/services/start-process.js';
import { createMigratedDatabase } from '../../../test/support/services/test-database.js';
import { verifies } from '../../../test/verifies.js';
import { OutcomeSpool } from './outcome-spool.js';
import { OutcomeWriter } from './outcome-writer.js';
import { CallRunner, type CallRunnerParts } from './run-call.js';
import { RunningCalls } from './running-calls.js';

verifies('worker.lost-answer', 'the gateway is told to look', async () => {
  const [testDatabase, directory] = await Promise.all([createMigratedDatabase(), temporaryDirectory()]);
  const database = openDatabase({ url: testDatabase.url, poolSize: 2, timeoutMs: 5_000, applicationName: 'test' });
  try {
    const stored = new PostgresJournal(database);
    let lost = 0;
    const journal: Journal = replaceMembers<Journal>(stored, {
      end: async (end) => {
        const ended = await stored.end(end);
        if (lost++ === 0) throw new AppError('store_unavailable', 'The answer was cut off');
        return ended;
      },
    });
    const call = someCall();
    await stored.plan(call, { requestId: 'req_1' });
    const running = new RunningCalls();
    running.cancel([call.id], 'cancelled');
    const replies: [string, Partial<ToolReply>][] = [];
    const parts = {
      journal,
      running,
      outcomes: new OutcomeWriter(journal, new OutcomeSpool(directory.path, 1_000, silentLogger), silentLogger, 1),
      replies: { send: (to: string, reply: Partial<ToolReply>) => replies.push([to, reply]) },
      pool: { server: () => undefined },
      workerId: 'worker-1',
      logger: silentLogger,
    };
    const job = someJob(call);
    await new CallRunner(parts as unknown as CallRunnerParts).run({ job, redelivered: false });
    expect(await stored.get(call.id)).toMatchObject({ state: 'cancelled' });
    expect(replies).toEqual([[job.replyTo, { kind: 'outcome', callId: call.id }]]);
  } finally {
    await database.close();
    await testDatabase.drop();
    await directory.remove();
  }
});
