// A tool made of an operation: what is offered, and how a call of it becomes a request. Plain data, since it comes from a thread.
import type { JsonObject } from '#libs/schemas/json.js';

const styles = ['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const;
export type ParameterStyle = (typeof styles)[number];
export const isStyle = (given: unknown): given is ParameterStyle => styles.some((style) => style === given);

export interface ApiParameter {
  /** The name among the tool's arguments. */
  argument: string;
  name: string;
  place: 'path' | 'query' | 'header' | 'cookie';
  style: ParameterStyle;
  explode: boolean;
  /** Reserved characters that cannot end a value of a query are sent as they are. */
  allowReserved?: true;
  /** The value is sent as JSON (`content` of a parameter). */
  isJson: boolean;
}

/** How a member of a form is sent, where its default is not meant. */
export interface PartEncoding {
  style?: ParameterStyle;
  explode?: boolean;
  contentType?: string;
}

export interface ApiBody {
  argument: string;
  mediaType: string;
  kind: 'json' | 'form' | 'multipart' | 'text' | 'file';
  /** The members of a form that are files. */
  files: string[];
  encodings: Record<string, PartEncoding>;
}

export interface ApiTool {
  definition: {
    name: string;
    title?: string;
    description: string;
    inputSchema: JsonObject;
    annotations: { readOnlyHint: boolean; destructiveHint?: boolean; idempotentHint?: boolean; openWorldHint: true };
  };
  method: string;
  /** `/users/{id}`, below the base address. */
  path: string;
  parameters: ApiParameter[];
  body?: ApiBody;
  /** The arguments that choose a page of the answer. */
  pages: string[];
}
