export const mcpRequirements = {
  'mcp.approvals':
    'a call that needs an approval asks the MCP client, in both eras, if it can be asked; what it approves runs, else the result says where to approve',
  'mcp.approvals-checked':
    'an MCP client that comes back with an answer decides only about its own call, with the same arguments, and once',
  'mcp.approvals-elsewhere':
    'a decision elsewhere, or the end of its time, ends the question to the MCP client at once',
  'mcp.bad-frames':
    'a frame that is no message of the protocol is refused whole, with a JSON-RPC error, and costs nothing',
  'mcp.bounded':
    'sessions and subscriptions of MCP clients are bounded in number and idle time, and refused with a code',
  'mcp.calls': 'an MCP client runs a tool on the path of every other call: queue, journal, structured result',
  'mcp.cancels': 'an MCP client that cancels, or goes away, stops the tool',
  'mcp.challenges':
    'a refusal of /mcp and /sse names the document of the resource, the scope, and what is wrong with the token',
  'mcp.client-entries':
    'the entries for Cursor and Claude Desktop in the documents are valid, and what they start is there',
  'mcp.failures': 'what a tool fails with is a result that carries the code; an unknown tool or method is an error',
  'mcp.guarded': 'the MCP endpoint checks Host and Origin and returns its errors as JSON-RPC',
  'mcp.list-changed': 'an MCP client that listens is told when the tools change',
  'mcp.names': 'MCP clients see names of tools that the strictest of them takes; the tools’ own names go on working',
  'mcp.lists': 'official MCP clients of both eras list the tools of the catalog, and describe one',
  'mcp.pages': 'the tools are listed in pages that show none twice, also when the catalog changes meanwhile',
  'mcp.pairings':
    'clients and tool servers on the SDKs 1.x and 2.x meet through the gateway in every pairing, progress included',
  'mcp.plain-json': 'an MCP client that takes no stream, or has no session, is answered plain JSON',
  'mcp.progress': 'progress of a tool reaches the MCP client that asked for it, growing',
  'mcp.protected-resource':
    'with a token issuer, the documents of /mcp and /sse as protected resources name it, at every address of the gateway',
  'mcp.sign-in': 'an MCP client that knows only the address of the gateway signs in at the token issuer',
  'mcp.resources':
    'MCP clients of both eras list and read the resources of tool servers, by list, template or link, as calls that are journaled and audited',
  'mcp.resource-names':
    'URIs of resources pass unchanged; of equal ones the second has its server in front; prompts are named as tools are',
  'mcp.resources-denied':
    'a resource or prompt that is denied to a caller is not listed, and a request for it is answered as for one that does not exist, and audited',
  'mcp.apps':
    'what tools and pages say of apps reaches MCP clients unchanged; of equal pages of two servers each tool names its own',
  'mcp.app-results':
    'results of a tool with an app keep structured content and _meta for the app, within a bound; other results keep no _meta of their server',
  'mcp.app-tools':
    'tools for apps only are offered to no model and listed to no client that shows no apps; an app can call them',
  'mcp.search':
    'with mode=search an MCP client of either era lists three tools, which find, describe and call all others; whatever decides, runs and records a call sees the tool that is called',
  'mcp.search-refused':
    'with mode=search a tool that is denied to the caller is never found, and an unknown name fails as it does in tools/call',
  'mcp.skills': 'files of skills are listed and read as other resources are',
  'mcp.prompts': 'MCP clients of both eras list the prompts of tool servers, and get one',
  'mcp.completion': 'MCP clients of both eras complete arguments of prompts and templates by their server',
  'mcp.subscriptions':
    'an MCP client that subscribes to a resource that it may read is told when the resource changes, for as long as it listens',
  'mcp.subscriptions-apart': 'users with an instance of their own of a server are not told of changes in another one',
  'mcp.logging':
    'an MCP client of either era gets what a tool server logs during its call, from the level that it wants',
  'mcp.instructions':
    'an MCP client is given the instructions of the servers of which it sees anything; changed ones are held back as changed tools are',
  'mcp.lists-changed': 'an MCP client that listens is told when resources and prompts change, and lists them',
  'mcp.sse': 'clients of 2024 (HTTP+SSE) are served at /sse by the same code, and get their answers on its stream',
  'mcp.stdio': 'npm run mcp:stdio is an MCP server on standard input and output, and the gateway behind it',
  'mcp.stops': 'a stop of the gateway ends the MCP streams that only wait, and waits for the calls',
  'mcp.tasks':
    'an MCP client has a call as a task: it is answered at once, and any gateway tells how the task stands, its result when it has ended, and all tasks',
  'mcp.tasks-ask':
    'a task that waits for an approval or an answer says so, and asks the MCP client for it if that can be asked',
  'mcp.tasks-cancelled': 'a task that the MCP client cancels ends, and so does its tool',
  'mcp.tasks-ended': 'a task whose call fails or is refused has the result that the call would have had',
  'mcp.tasks-kept': 'a task can be asked for until its time is over, which is at most that of runs',
  'mcp.tasks-killed': 'a task outlives its gateway: another one goes on with it, and its tool runs once',
  'mcp.tasks-limits': 'a task counts as a turn of its owner until it has ended or waits for people',
  'mcp.tasks-modern':
    'an MCP client of 2026-07-28 that knows tasks gets one for a call that is long, and no other client does',
  'mcp.tasks-refused':
    'a task of somebody else is unknown; a tool that cannot be called as a task is not listed as one',
  'mcp.workspaces':
    'an MCP client has the workspace that it names, else that of its MCP session, else that of its principal',
} as const;
