// What is said of one route in the OpenAPI document, beside what the route itself says.

/** Media type to the schema of what it carries; none: no body. */
export type Content = Readonly<Record<string, object>>;

export interface DescribedOperation {
  summary: string;
  tag: 'chat' | 'models' | 'tools' | 'sessions' | 'runs' | 'keys' | 'approvals' | 'operations';
  description?: string;
  /** JSON body. */
  body?: object;
  /** The body may be left out. */
  bodyOptional?: boolean;
  /** Body that is no JSON. */
  binaryBody?: boolean;
  headers?: Record<string, string>;
  /** Name to its schema, which has a description. */
  query?: Record<string, object>;
  /** Status to what it carries, failures left out. */
  answers: Readonly<Record<number, Content>>;
  /** The shape of failures; absent: ours. */
  errors?: 'Error' | 'MessageError' | 'RpcError';
}
