// The limits on a server's data, as labels of the metric.

/** A `listing` is cut; `exchanges` are requests left open; `sampling` is refused; the others fail a call, or end the server. */
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
