// The bounds of what is taken from a server, in the words of the metric.

/**
 * What a server sent beyond what is taken, or left open (`exchanges`): `listing` is cut there, everything else fails a
 * call, or ends the server.
 */
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
