// An approved call of the tools API that cannot run at once: what the person decided still counts when it is asked for again.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome } from '#libs/schemas/tool-outcome.js';
import { ApprovalNeeded } from '../../apps/gateway/govern/approval-needed.js';
import { openGateway, queuePathOfFile, requestContext, type TestGateway } from '../support/queue-path.js';
import { verifies } from '../verifies.js';

const path = queuePathOfFile({}, `policy: { rules: [{ name: asked, tool: '*/append', effect: require_approval }] }`);

interface Asked {
  name: string;
  argumentsText: string;
  sessionId: string;
  idempotencyKey?: string;
}

const append = (members: Partial<Asked> = {}): Asked => ({
  name: 'append',
  argumentsText: JSON.stringify({ text: randomUUID() }),
  sessionId: randomUUID(),
  ...members,
});

/** How it ended, the code of its error, or the approval that it needs. */
async function ask(gateway: TestGateway, asked: Asked): Promise<string> {
  try {
    const call = await gateway.keyed.prepare(asked, requestContext());
    return (await call.run(() => undefined)).outcome.state;
  } catch (error) {
    if (error instanceof ApprovalNeeded) return error.approval.id;
    return error instanceof AppError ? error.code : String(error);
  }
}

async function approved(asked: Asked): Promise<string> {
  const id = await ask(path.gateway, asked);
  await path.gateway.approvals.decide(id, { decision: 'approve' }, requestContext());
  return id;
}

for (const idempotencyKey of [undefined, randomUUID()]) {
  verifies(
    'approvals.refused',
    idempotencyKey === undefined ? 'the queue is full' : 'the same with a key',
    async () => {
      const { services, gateway, worker } = path;
      const limits = { ...services.config.limits, queue_length: 0 };
      const crowded = await openGateway({ ...services, config: { ...services.config, limits } });
      const asked = append(idempotencyKey === undefined ? {} : { idempotencyKey });
      await approved(asked);
      expect([await ask(crowded, asked), await ask(crowded, asked)]).toEqual(['queue_full', 'queue_full']);
      expect(await ask(gateway, asked)).toBe('completed');
      const { text } = JSON.parse(asked.argumentsText) as { text: string };
      expect(worker.probe.effects.filter((effect) => effect === text)).toHaveLength(1);
      await crowded.close();
    },
  );
}

for (const idempotencyKey of [undefined, randomUUID()]) {
  const which = idempotencyKey === undefined ? 'without' : 'with';
  verifies(
    'approvals.refused',
    `refused after it was taken up, ${which} a key; a third one is asked about`,
    async () => {
      const { services, gateway } = path;
      const asked = append(idempotencyKey === undefined ? {} : { idempotencyKey });
      const id = await approved(asked);
      const [call] = await services.rows<{ id: string }>('select call_id as id from approvals where id = $1', [id]);
      const { job } = (await services.journal.get(call!.id))!;
      expect(await services.journal.replan(job!)).toBe(true);
      const full = new AppError('queue_full', 'The queue is full');
      expect(await services.journal.cancelPlanned([call!.id], { requestId: 'req_1' }, full)).toEqual([call!.id]);
      expect(await ask(gateway, asked)).toBe('completed');
      const { name, argumentsText, sessionId } = asked;
      expect(await ask(gateway, { name, argumentsText, sessionId })).toMatch(/^appr_(?!$)/);
      expect(await ask(gateway, { name, argumentsText, sessionId })).not.toBe(id);
    },
  );
}

verifies('approvals.refused', 'one with a key that ended before it began asks for an approval again', async () => {
  const { services, gateway } = path;
  const asked = append({ idempotencyKey: randomUUID() });
  const id = await approved(asked);
  const [call] = await services.rows<{ id: string }>('select call_id as id from approvals where id = $1', [id]);
  // Its caller left while it was in the queue.
  const outcome = failedOutcome('cancelled', 'cancelled', 'The call was cancelled');
  expect(await services.journal.end({ callId: call!.id, requestId: 'req_1', outcome })).toBe(true);
  await approved(asked);
  expect(await ask(gateway, asked)).toBe('completed');
});
