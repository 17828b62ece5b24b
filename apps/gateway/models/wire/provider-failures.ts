// Messages about a provider that cannot be used: its name, its address, why, and what to do next. Shown to callers, so without
// the key, and with only those parts of the address that cannot be a key.
import { isLoopback } from '#libs/config/check-config.js';
import { providerSources } from '#libs/config/provider-sources.js';
import type { ProviderConfig } from '#libs/config/schema.js';
import type { HttpFailure } from '#libs/http-client/outgoing.js';

export interface ProviderAccess {
  name: string;
  /** Scheme, host and port. */
  origin: string;
  /** The variables or settings that address and key come from. */
  sources: { address: string; key: string };
  hasKey: boolean;
}

export function providerAccess(name: string, config: ProviderConfig, baseUrl: string): ProviderAccess {
  const hasKey = config.api_key !== undefined || Object.keys(config.headers).length > 0;
  return { name, origin: new URL(baseUrl).origin, sources: providerSources(name, config), hasKey };
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name of the host cannot be resolved',
  ETIMEDOUT: 'no answer to the connection',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
};
const notTrusted = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;
const noTls = /^(?:EPROTO|ERR_SSL_)/;

/** For a request without an answer. */
export function cannotBeReached(access: ProviderAccess, { kind, what, cause }: HttpFailure): string {
  const { name, origin, sources } = access;
  if (kind !== 'away' && kind !== 'connect' && kind !== 'not_http')
    return `The model provider '${name}' at ${origin} ${what}`;
  const subject = `The model provider '${name}' cannot be reached at ${origin}`;
  const code = codeOf(cause);
  if (notTrusted.test(code)) {
    return `${subject}: its certificate is not trusted (${code}). Set NODE_EXTRA_CA_CERTS to the certificate of its authority, or change ${sources.address}.`;
  }
  if (noTls.test(code))
    return `${subject}: it does not speak TLS (${code}). Should ${sources.address} begin with http://?`;
  if (kind === 'not_http') return `${subject}: the server there ${what}. Check ${sources.address}.`;
  const reason = kind === 'connect' ? `it ${what}` : (reasons[code] ?? what);
  return `${subject}: ${reason}. ${nextStep(access)}`;
}

/** For 401 and 403. `words`: the provider's message, already safe to show. */
export function keyRefused({ name, origin, sources, hasKey }: ProviderAccess, status: number, words = ''): string {
  const subject = `The model provider '${name}' at ${origin}`;
  if (!hasKey) return `${subject} requires a key (${status}), and none is set. Set ${sources.key}.`;
  if (status !== 403) return `${subject} refused the key of ${sources.key} (${status}). Set a valid one, and restart.`;
  const said = words === '' ? '' : `: ${words.replace(/\.$/, '')}`;
  return `${subject} answered ${status} to the key of ${sources.key}${said}. Check what this key may use.`;
}

/** For an answer that is no list of models. */
export function listNotRead({ name, origin, sources }: ProviderAccess, status: number): string {
  const subject = `The list of models of the model provider '${name}' cannot be read at ${origin}`;
  const next = `Check ${sources.address}, or name its models in models.providers.${name}.models.`;
  return `${subject}: it answered ${status === 200 ? 'with something else' : status}. ${next}`;
}

/** For a list that did not come in time. */
export function listTooLate({ name, origin, sources }: ProviderAccess, ms: number): string {
  const subject = `The model provider '${name}' does not answer at ${origin}`;
  return `${subject}: its list of models did not arrive within ${ms / 1_000} s. Check whether it is running, or change ${sources.address}.`;
}

export const listsNothing = (name: string) =>
  `The model provider '${name}' lists no models. Name one in the request, or set DEFAULT_MODEL to ${name}/ and its name.`;

function nextStep({ name, origin, sources }: ProviderAccess): string {
  const { hostname, port } = new URL(origin);
  if (name === 'ollama' || port === '11434') return `Start Ollama, or set ${sources.address}.`;
  if (isLoopback(hostname)) return `Start it, or set ${sources.address}.`;
  return `Check the network, and ${sources.address}.`;
}

function codeOf(cause: unknown): string {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
