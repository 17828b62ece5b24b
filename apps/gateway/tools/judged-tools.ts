// What a policy has to know of the tools, when it judges calls by the names of server and tool.
import type { JudgedTool } from '#libs/policy/decision.js';
import type { ToolOf } from '#libs/policy/judge-past-call.js';
import { toolOfCall } from './tool-of-call.js';

export function judgedTools(tools: readonly JudgedTool[]): ToolOf {
  const known = new Map(tools.map((tool) => [`${tool.server}/${tool.tool}`, tool]));
  return (server, tool, args) => {
    const found = known.get(`${server}/${tool}`);
    return found === undefined || args === undefined ? found : toolOfCall(found, args);
  };
}
