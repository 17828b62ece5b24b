// An API as a tool server in this process: each connection has its own, with the rights of its user.
import type { ServedCall } from '#libs/mcp-server/tool-server.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import type { OpenApiClient } from './api-client.js';
import type { ApiTool } from './api-tool.js';
import type { ReadFile } from './encode-body.js';
import type { Api } from './read-api.js';
import { requestOfCall } from './request-of-call.js';
import { type ApiResult, type KeepFile, resultOfAnswer } from './result-of-answer.js';

/** The files of a call's session. */
export interface CallFiles {
  read: ReadFile;
  keep: KeepFile;
}

export interface ApiServerParts {
  name: string;
  api: Pick<Api, 'baseUrl' | 'tools' | 'leftOut'>;
  client: OpenApiClient;
  filesOf: (call: ToolCallOptions) => CallFiles;
}

export class ApiServer {
  readonly name: string;
  private readonly tools: ReadonlyMap<string, ApiTool>;

  constructor(private readonly parts: ApiServerParts) {
    this.name = parts.name;
    this.tools = new Map(parts.api.tools.map((tool) => [tool.definition.name, tool]));
  }

  get leftOut(): readonly string[] {
    return this.parts.api.leftOut;
  }

  list(): ApiTool['definition'][] {
    return [...this.tools.values()].map(({ definition }) => definition);
  }

  async call({ tool: name, arguments: args, signal }: ServedCall, call: ToolCallOptions): Promise<ApiResult> {
    const { api, client, filesOf } = this.parts;
    const tool = this.tools.get(name);
    if (tool === undefined) throw new AppError('invalid_tool_arguments', `Unknown tool: ${name.slice(0, 100)}`);
    const files = filesOf(call);
    const given = isJsonObject(args) ? args : {};
    const request = await requestOfCall(tool, given, { baseUrl: api.baseUrl, readFile: files.read });
    return resultOfAnswer(tool, await client.send(request, signal, call), files.keep);
  }

  /** The connection is the only listener. Nothing changes: another document is another configuration of the server. */
  attach(): () => void {
    return () => this.parts.client.close();
  }
}
