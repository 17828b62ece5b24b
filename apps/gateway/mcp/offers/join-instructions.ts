// What tool servers say to clients about themselves, joined for one caller: only of servers of which the caller sees anything.
import type { CatalogOf, KeyedCaller, MayUse } from '../../govern/tool-policy.js';
import type { OfferCatalog, OfferingServer } from '../../tools/tool-catalog.js';
import { namedOffers } from './named-offers.js';

/** Clients put it into the prompt of their model. */
const maxLength = 32 * 1024;

interface InstructionPorts {
  catalog: OfferCatalog;
  catalogOf: CatalogOf;
  mayUse: MayUse;
}

/** Undefined if there are none. What does not fit is left out whole. */
export function joinedInstructions(ports: InstructionPorts, caller: KeyedCaller): string | undefined {
  const offering = ports.catalog.offering();
  if (!namedOffers(offering).hasInstructions) return undefined;
  let joined = '';
  for (const server of offering) {
    const { instructions } = server.offers;
    if (instructions === undefined || !seesAny(ports, server, caller)) continue;
    const part = `${joined === '' ? '' : '\n\n'}# ${server.server}\n\n${instructions.trim()}`;
    if (joined.length + part.length <= maxLength) joined += part;
  }
  return joined === '' ? undefined : joined;
}

function seesAny({ catalogOf, mayUse }: InstructionPorts, { server, offers }: OfferingServer, caller: KeyedCaller) {
  return (
    catalogOf(caller).list(server).length > 0 ||
    offers.resources.some(({ uri }) => mayUse({ kind: 'resource', server, name: uri }, caller)) ||
    offers.templates.some(({ uriTemplate }) => mayUse({ kind: 'resource', server, name: uriTemplate }, caller)) ||
    offers.prompts.some(({ name }) => mayUse({ kind: 'prompt', server, name }, caller))
  );
}
