// What the checks of containers set, as somebody would in `.env`, and what they ask.
export const gateway = 'http://127.0.0.1:8000';
export const filesystemServer = '@modelcontextprotocol/server-filesystem@2026.8.31';
export const services = ['gateway', 'worker', 'chimech'];
export const variables = {
  ...process.env,
  COMPOSE_PROJECT_NAME: 'signalbox-check',
  TOOL_PACKAGES: filesystemServer,
  MCP_SERVERS: JSON.stringify({ files: { command: 'npx', args: ['-y', filesystemServer, '${WORKSPACE}'] } }),
};
