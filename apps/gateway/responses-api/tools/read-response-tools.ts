// Reads the tools of a responses request: those in `tools`, and those that items of the input add. Tools in a namespace are
// offered under a joined name, custom tools as functions.
import type { Config } from '#libs/config/schema.js';
import type { ProviderTool } from '#libs/schemas/tool-definition.js';
import type { Warning } from '#libs/schemas/warning.js';
import type { RequestedTool } from '../../turn/turn-request.js';
import { readCustomTool } from '../../chat-apis/free-text.js';
import { readMcpTool } from '../../chat-apis/mcp-tool.js';
import { leftOut, runsAtOpenAi, type OtherTool } from '../../chat-apis/provider-tools.js';
import { readFunction, refuseTwice } from '../../chat-apis/read-tools.js';
import type { InputItem, ResponseRequestBody } from '../response-request.schema.js';
import { JoinedNames } from './joined-names.js';

type GivenTool = NonNullable<ResponseRequestBody['tools']>[number];
type NamedTool = Extract<GivenTool, { type: 'namespace' }>['tools'][number];

export interface ReadTools {
  tools: RequestedTool[];
  providerTools: ProviderTool[];
  names: JoinedNames;
  /** Types of tools that are not served. */
  leftOut: ReadonlySet<string>;
  warnings: Warning[];
}

/** @throws AppError reserved_name, invalid_value */
export function readResponseTools(
  { tools, input }: Pick<ResponseRequestBody, 'tools' | 'input'>,
  limits: Config['limits'],
): ReadTools {
  const reader = new ToolReader(limits);
  reader.add(tools ?? [], 'tools');
  const items: readonly InputItem[] = Array.isArray(input) ? input : [];
  items.forEach((item, at) => {
    if (item.type === 'additional_tools') reader.add(item.tools, `input[${at}].tools`);
  });
  return reader;
}

class ToolReader implements ReadTools {
  readonly names = new JoinedNames();
  readonly providerTools: ProviderTool[] = [];
  readonly leftOut = new Set<string>();
  readonly warnings: Warning[] = [];
  private readonly functions = new Map<string, RequestedTool>();
  private readonly servers: RequestedTool[] = [];

  constructor(private readonly limits: Config['limits']) {}

  get tools(): RequestedTool[] {
    return [...this.functions.values(), ...this.servers];
  }

  /** A tool that an earlier list has too is replaced. */
  add(given: readonly GivenTool[], path: string): void {
    const named: { tool: RequestedTool; at: string }[] = [];
    given.forEach((tool, index) => {
      const at = `${path}[${index}]`;
      if (tool.type === 'namespace') {
        tool.tools.forEach((each, number) => {
          const about = number === 0 ? tool.description : undefined;
          named.push({
            tool: this.readNamed(each, `${at}.tools[${number}]`, { namespace: tool.name, about }),
            at: `${at}.tools[${number}]`,
          });
        });
      } else if (tool.type === 'mcp') this.servers.push(readMcpTool(tool));
      else if (tool.type === 'other') this.readOther(tool.given as OtherTool, at);
      else named.push({ tool: this.readNamed(tool, at), at });
    });
    refuseTwice(
      named.map(({ tool }) => tool),
      (index) => `${named[index]!.at}.name`,
    );
    for (const { tool } of named) if (tool.type === 'function') this.functions.set(tool.definition.name, tool);
  }

  private readNamed(
    tool: NamedTool,
    at: string,
    { namespace, about }: { namespace?: string; about?: string | null | undefined } = {},
  ): RequestedTool {
    const read =
      tool.type === 'custom'
        ? readCustomTool(
            { ...tool, grammar: tool.format?.type === 'grammar' ? tool.format : undefined },
            at,
            this.limits,
          )
        : readFunction(tool, { name: `${at}.name`, parameters: `${at}.parameters` }, this.limits);
    if (namespace === undefined || read.type !== 'function') return read;
    const { definition, form } = read;
    const description = [about ? `${namespace}: ${about}` : '', definition.description ?? '']
      .filter((text) => text !== '')
      .join('\n\n');
    return {
      type: 'function',
      definition: {
        ...definition,
        name: this.names.join(namespace, tool.name),
        ...(description !== '' && { description }),
      },
      form: { ...form, name: tool.name, namespace },
    };
  }

  private readOther(tool: OtherTool, at: string): void {
    if (runsAtOpenAi(tool.type)) {
      this.providerTools.push({ api: 'openai', tool });
      return;
    }
    this.leftOut.add(tool.type);
    this.warnings.push(leftOut(tool.type, at));
  }
}
