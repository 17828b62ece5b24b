// The limits on a server's data, as labels of the metric.

/** `listing` is cut there, `exchanges` are what it leaves open; `sampling` is refused; all others fail a call, or end the server. */
export type ServerBound =
  | 'message_bytes'
  | 'message_values'
  | 'content_blocks'
  | 'unasked_messages'
  | 'noise'
  | 'questions'
  | 'sampling'
  | 'unread_answers'
  | 'listing'
  | 'exchanges'
  | 'workspace'
  | 'memory';

export type OnServerBound = (bound: ServerBound) => void;
