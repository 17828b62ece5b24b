export const toolsetRequirements = {
  'toolsets.members': 'of the entries of a set, the last that matches a tool decides whether the set has it',
  'toolsets.names':
    'a set shows a tool under a name and description of its own; no two of its tools have the same name, whatever the servers call theirs',
  'toolsets.configured':
    'a set that is written wrongly, or named as a server is, keeps the process from starting and names the entry; one that matches nothing is logged, and told by config check and doctor',
  'toolsets.mcp':
    'MCP clients of both eras, on the SDKs 1.x and 2.x, list and call at /mcp/<set> exactly the tools of the set, under its names',
  'toolsets.mcp-apart':
    'a set has sessions of its own, knows no tool outside of it, and is refused in the form of JSON-RPC if it is not configured',
  'toolsets.offers': 'at /mcp/<set>, only servers with a tool in the set show resources, prompts and instructions',
  'toolsets.chats': 'a set is a server_label of chats, responses and messages, also in tool_choice and allowed_tools',
  'toolsets.real-tool':
    'policy, approval, cache, journal and audit see the tool that is called, whatever name a set gives it; so does a run that goes on after the set has changed',
  'toolsets.keys': 'a key may be limited to a set, by every door, and follows it when it changes',
  'toolsets.reload': 'sets that are changed in the file take effect without a restart',
  'toolsets.listed': 'GET /api/tools says which sets have a tool, and lists those of one set',
};
