// Counts the tokens of a turn's first model call, as the model counts them; nothing is run or stored.
import type { RunStore } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { ModelRouter } from '../../models/model-provider.js';
import { requireModel } from '../../models/require-model.js';
import type { CatalogOf } from '../../govern/tool-policy.js';
import { toModelRequest } from '../ask-model.js';
import { offerTools, type OfferSettings } from '../offer-tools.js';
import { conversationFor } from '../offer/recall-found.js';
import type { TurnRequest } from '../turn-request.js';

export interface CountPorts {
  catalogOf: CatalogOf;
  models: ModelRouter;
  runs: RunStore;
  settings: OfferSettings;
}

/** @throws AppError invalid_value for a model that cannot count tokens */
export async function countTokens(request: TurnRequest, context: RequestContext, ports: CountPorts): Promise<number> {
  requireModel(request.model, context.access, ports.models);
  const offer = offerTools(request, ports.catalogOf(context), ports.settings);
  const route = ports.models.resolve(request.model);
  const { messages } = await conversationFor({ offer, request, context }, undefined, ports.runs);
  offer.search?.see(messages);
  const { providerTools } = request;
  const first = {
    ...offer,
    definitions: offer.firstDefinitions ?? offer.search?.definitions ?? offer.definitions,
    ...(providerTools === undefined ? {} : { providerTools }),
  };
  const { requestId, deadline, signal, traceparent } = context;
  const call = { requestId, deadline: deadline.at, signal, ...(traceparent === undefined ? {} : { traceparent }) };
  return ports.models.countTokens(route, toModelRequest(request, messages, first), call);
}
