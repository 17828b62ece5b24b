// Wraps the gateway's ports with points where tests can kill the process.
import type { Backing } from '#libs/backing/backing.js';
import type { Faults } from '#libs/config/fault-points.js';
import type { ConnectionStore } from '#libs/connections/connection-store.js';
import type { RunStore } from '#libs/runs/run-store.js';
import { replaceMembers } from '#libs/schemas/replace-members.js';
import type { ModelRouter } from './models/model-provider.js';

interface FaultyPorts {
  runs<T extends RunStore>(runs: T): T;
  backing(backing: Backing): Backing;
  models<T extends ModelRouter>(models: T): T;
  connections(store: ConnectionStore): ConnectionStore;
}

/** Without faults, the ports are returned unchanged. */
export function faultyPorts(faults: Faults | undefined): FaultyPorts {
  if (faults === undefined) {
    const same = <T>(port: T): T => port;
    return { runs: same, backing: same, models: same, connections: same };
  }
  return {
    runs: (runs) => {
      const methods: Partial<RunStore> = {
        async planRound(round, audit) {
          await runs.planRound(round, audit);
          await faults.at('after-plan');
        },
        async end(...end) {
          await faults.at('before-end');
          const ended = await runs.end(...end);
          await faults.at('before-answer');
          return ended;
        },
      };
      return replaceMembers(runs, methods as Partial<typeof runs>);
    },
    backing: (backing) =>
      replaceMembers(backing, {
        queue: replaceMembers(backing.queue, {
          async add(job, options) {
            await backing.queue.add(job, options);
            await faults.at('after-add');
          },
        }),
      }),
    models: (models) => {
      const methods: Partial<ModelRouter> = {
        async call(route, request, call, take) {
          if (request.messages.some((message) => message.role === 'tool')) await faults.at('before-round');
          await models.call(route, request, call, take);
        },
      };
      return replaceMembers(models, methods as Partial<typeof models>);
    },
    connections: (store) =>
      replaceMembers(store, {
        async connect(...made) {
          await faults.at('before-connect');
          const connection = await store.connect(...made);
          await faults.at('after-connect');
          return connection;
        },
      }),
  };
}
