// What the `security` of a document asks for that requests do not carry. It decides nothing about calls: the operator is told.
import { isJsonObject, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import { elementsOf, type ApiOperation } from './operations-of.js';
import { followed } from './read-document.js';

/** Credentials that requests do not carry, and the tools whose operations do not do without. */
export interface NeededCredentials {
  /** In words: `key (header X-Key)`; several that are needed together are joined by `and`. */
  credentials: string;
  tools: string[];
}

export interface Carried {
  /** Lower-case names of headers that requests carry. */
  headers: readonly string[];
  /** What the address has in its query. */
  query: URLSearchParams;
}

/** The first of several alternatives is told. Schemes that the document does not describe are taken to be met. */
export function neededCredentials(
  operations: readonly Pick<ApiOperation, 'name' | 'security'>[],
  document: JsonObject,
  carried: Carried,
): NeededCredentials[] {
  const { components } = document;
  const schemes = isJsonObject(components) ? components['securitySchemes'] : undefined;
  const missingOf = (alternative: JsonObject) =>
    Object.keys(alternative).flatMap((name) => {
      const scheme = isJsonObject(schemes) && Object.hasOwn(schemes, name) ? followed(schemes[name], document) : {};
      const where = missing(scheme, carried);
      return where === undefined ? [] : [`${name} (${where})`];
    });
  const byCredentials = new Map<string, string[]>();
  for (const { name, security } of operations) {
    const alternatives = elementsOf(security ?? document['security'])
      .filter(isJsonObject)
      .map(missingOf);
    if (alternatives.length === 0 || alternatives.some((each) => each.length === 0)) continue;
    const credentials = alternatives[0]!.join(' and ');
    byCredentials.set(credentials, [...(byCredentials.get(credentials) ?? []), name]);
  }
  return [...byCredentials].map(([credentials, tools]) => ({ credentials, tools }));
}

/** Where the requests would have to carry it; undefined if they do. */
function missing(scheme: JsonObject, { headers, query }: Carried): string | undefined {
  const name = textOrEmpty(scheme['name']);
  switch (scheme['type']) {
    case 'apiKey':
      if (scheme['in'] === 'query') return query.has(name) ? undefined : `query ${name} of base_url`;
      if (scheme['in'] === 'cookie') return headers.includes('cookie') ? undefined : `header Cookie with ${name}`;
      return headers.includes(name.toLowerCase()) ? undefined : `header ${name}`;
    case 'http':
    case 'oauth2':
    case 'openIdConnect':
      return headers.includes('authorization') ? undefined : 'header Authorization';
    case 'mutualTLS':
      return 'a certificate, which is not supported';
    default:
      return undefined;
  }
}
