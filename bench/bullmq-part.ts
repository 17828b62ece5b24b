// What both ends of a queue of BullMQ alone stand on: the Redis of the system under measure.

/** The address is the process's one argument. */
export const bullmqPart = () => ({
  name: 'bench-bullmq-alone',
  connection: { url: process.argv[2]!, maxRetriesPerRequest: null },
});
