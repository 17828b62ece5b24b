// What a caller is told in the answer about its request: what was left out of it, or changed, so that it could be served, and
// which limit ended the use of tools.

export interface Warning {
  /** One or more sentences for people. */
  message: string;
  /** The member of the request that it is about. */
  param?: string;
}
