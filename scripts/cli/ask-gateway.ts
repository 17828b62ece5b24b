// Requests of a command to a gateway that runs. What goes wrong is said in a sentence with the address that was asked.
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import { isJsonObject } from '#libs/schemas/json.js';

export interface AskedGateway {
  /** `http://127.0.0.1:8000` */
  url: string;
  key?: string | undefined;
  timeoutMs: number;
}

/** Exit code 3. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

/** The body of an answer. @throws Unreachable; Error with what the gateway refuses */
export async function askGateway(
  { url, key, timeoutMs }: AskedGateway,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const headers = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const request = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(new URL(path, url), { ...request, signal: AbortSignal.timeout(timeoutMs) });
    answer = await response.json();
  } catch (error) {
    const why = error instanceof SyntaxError ? 'the server there is not Signalbox' : whyUnreachable(error);
    throw new Unreachable(`The gateway cannot be reached at ${url}: ${why}. \`signalbox start\` starts one.`, {
      cause: error,
    });
  }
  if (response.ok) return answer;
  const error = isJsonObject(answer) ? answer['error'] : undefined;
  const said =
    isJsonObject(error) && typeof error['message'] === 'string' ? error['message'] : `status ${response.status}`;
  const hint = response.status === 401 && key === undefined ? '. Set SIGNALBOX_KEY to a key of this gateway.' : '';
  throw new Error(`${said}${hint}`);
}
