// Names that BullMQ accepts: no `:`, no bare integer. Different ids stay different.

export const commonQueueName = 'tools';

/** A worker's own queue, for sessions that it leases. */
export const workerQueueName = (worker: string): string => `${commonQueueName}-${escaped(worker)}`;

/** The worker that owns the queue; undefined for the common one. */
export function workerOfQueue(queue: string): string | undefined {
  const prefix = `${commonQueueName}-`;
  if (!queue.startsWith(prefix)) return undefined;
  return queue.slice(prefix.length).replaceAll('%3A', ':').replaceAll('%25', '%');
}

export function jobIdOf(callId: string): string {
  const id = escaped(callId);
  return /^-?\d+$/.test(id) ? `%${id}` : id;
}

const escaped = (text: string): string => text.replaceAll('%', '%25').replaceAll(':', '%3A');
