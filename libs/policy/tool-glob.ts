// Which tools a rule applies to: `server/tool`, or `server/uri` of resources and `server/name` of prompts, where `*` matches any
// characters or none. Names are case-sensitive.
// Patterns without a slash are refused, so that no rule matches more than it appears to.

export interface ToolGlob {
  pattern: string;
  exact: boolean;
  matches(server: string, tool: string): boolean;
}

/** @throws Error that explains the syntax */
export function compileToolGlob(pattern: string): ToolGlob {
  const slash = pattern.indexOf('/');
  if (slash < 1 || slash === pattern.length - 1) {
    throw new Error('a tool is written server/tool, such as files/* or */delete_*');
  }
  const server = starMatcher(pattern.slice(0, slash));
  const tool = starMatcher(pattern.slice(slash + 1));
  return {
    pattern,
    exact: !pattern.includes('*'),
    matches: (ofServer, ofTool) => server(ofServer) && tool(ofTool),
  };
}

/** `*` matches any characters. Linear in the text: each part is searched once, after the previous one. */
export function starMatcher(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    const end = text.length - last.length;
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found < 0 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}
