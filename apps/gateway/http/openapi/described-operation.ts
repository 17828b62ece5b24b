// The description of a route for the OpenAPI document.

/** The schema of the body by media type; empty for no body. */
export type Content = Readonly<Record<string, object>>;

export interface DescribedOperation {
  summary: string;
  tag: 'chat' | 'models' | 'tools' | 'sessions' | 'runs' | 'keys' | 'approvals' | 'audit' | 'operations';
  description?: string;
  /** JSON body. */
  body?: object;
  bodyOptional?: boolean;
  /** The body is not JSON. */
  binaryBody?: boolean;
  headers?: Record<string, string>;
  /** Schemas with descriptions, by name. */
  query?: Record<string, object>;
  /** By status, without errors. */
  answers: Readonly<Record<number, Content>>;
  /** The schema of errors; default `Error`. */
  errors?: 'Error' | 'MessageError' | 'RpcError';
}
