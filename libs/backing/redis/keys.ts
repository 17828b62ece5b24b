// Our keys. Keys that are used together share a hash tag, so that a cluster keeps them in one slot.

/** The prefix of BullMQ's own keys and of the names of the workers' queues. */
export const queuePrefix = '{signalbox}';
export const queueNamesKey = `${queuePrefix}:queue-names`;

/** Written to check whether the queue's server accepts writes. */
export const writableKey = `${queuePrefix}:writable`;

/** The key whose server publishes all messages of a process, so that they stay in order. */
export const publisherKey = `${queuePrefix}:publisher`;
export const channelPrefix = 'signalbox:channel:';

/** These keys have no hash tag, so that a cluster spreads them. */
export const windowKey = (key: string): string => `signalbox:window:${key}`;
export const sharedPlacesKey = (key: string): string => `signalbox:shared-places:${key}`;

/** The cache is bounded as a whole, so it is in one slot. */
const cachePrefix = '{signalbox:cache}';
export const cacheKeys = {
  valuePrefix: `${cachePrefix}:value:`,
  /** Stored key → number that grows with each write. */
  age: `${cachePrefix}:age`,
  /** Stored key → epoch ms at which its value expires. */
  expiry: `${cachePrefix}:expiry`,
  /** Stored key → bytes of its value. */
  bytes: `${cachePrefix}:bytes`,
  /** `total` bytes, last `number`. */
  state: `${cachePrefix}:state`,
};
