// MCP's extension for tasks, since 2026-07-28: what a client and a server declare that know it.
// https://github.com/modelcontextprotocol/ext-tasks
export const tasksExtension = 'io.modelcontextprotocol/tasks';
