// Headers that no setting may send to a tool server, since connections and the protocol have them.
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const ownHeaders =
  /^(?:host|connection|keep-alive|upgrade|te|trailer|transfer-encoding|expect|accept.*|content-.*|mcp-.*|last-event-id)$/i;

/** True also for what is no name of a header. */
export const isOwnHeader = (name: string): boolean => !headerName.test(name) || ownHeaders.test(name);
