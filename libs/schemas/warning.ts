// A warning in an answer: a part of the request that was left out or changed so that the request could be served, or the limit
// that ended the use of tools.

export interface Warning {
  /** One or more sentences for people. */
  message: string;
  /** The member of the request that the warning is about. */
  param?: string;
}
