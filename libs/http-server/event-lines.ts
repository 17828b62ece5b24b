// Line ends in the data of server-sent events: clients split lines in different ways.

const otherLineEnds = /[\u0085\u2028\u2029]/g;

/**
 * Events whose data is JSON, with the line ends that JSON allows in strings written as escapes: Python's `splitlines`, which
 * clients use, ends a line there.
 */
export function onlyLineFeeds(events: string): string {
  // ASCII, which is detected much faster, has no such line ends.
  if (Buffer.byteLength(events) === events.length) return events;
  return events.replace(otherLineEnds, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
