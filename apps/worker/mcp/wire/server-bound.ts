// The limits on a server's data, as labels of the metric.

/** `listing` is cut there, `exchanges` are what it leaves open; all but `listing` fail a call, or end the server. */
export type ServerBound =
  | 'message_bytes'
  | 'message_values'
  | 'content_blocks'
  | 'unasked_messages'
  | 'noise'
  | 'questions'
  | 'unread_answers'
  | 'listing'
  | 'exchanges'
  | 'workspace';

export type OnServerBound = (bound: ServerBound) => void;
