export const toolRequirements = {
  'tools.decorators-authorize': "a server's authorize runs before every handler and its refusal is UNAUTHORIZED",
  'tools.decorators-dynamic': 'tools registered and removed at run time are announced',
  'tools.decorators-errors': 'what a tool throws reaches the caller with its code and nothing that is not safe to show',
  'tools.decorators-found': 'decorated providers are found at start, duplicate names stop it naming both places',
  'tools.decorators-progress': 'a decorated tool reports progress and is cancelled through its signal',
  'tools.decorators-publish':
    'a decorated method is listed with its name, schema with defaults, annotations and metadata',
  'tools.decorators-results': 'a decorated method may return text, an object or MCP content',
  'tools.workspace-archive': 'a workspace is archived as a tar of its files and directories',
  'tools.workspace-links-refused': 'links, pipes, sockets and devices in a workspace lead nowhere',
  'tools.workspace-paths-confined': 'no form of a path reaches outside the own workspace',
  'tools.workspace-quota-exact': 'a write that would exceed a limit of the workspace is refused, exactly and whole',
  'tools.workspace-race-free': 'swapping a directory for a link while files are written lets none escape',
  'tools.workspace-removal-complete': 'a workspace is removed whole whatever tools did to it, and nothing else',
  'tools.workspace-writes-whole': 'a write that fails leaves what was there before',
} as const;
