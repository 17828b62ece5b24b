// What a server asks its client while a call runs: a person, a model, the roots. It arrives as a request, in an answer of the newer
// era, or with the status of a task.
import { pathToFileURL } from 'node:url';
import {
  type Client,
  type CreateMessageResult,
  type ElicitResult,
  isSpecType,
  type ListRootsResult,
} from '@modelcontextprotocol/client';
import { isJsonObject } from '#libs/schemas/json.js';
import type { OnServerBound } from '../wire/server-bound.js';
import type { CallsInProgress } from './calls-in-progress.js';
import { asAskingError, nobodyAnswers, readQuestion, refused, toElicitResult } from './elicitation.js';
import { isOverBounds, readSampling, type SamplingSettings, toSamplingResult } from './sampling.js';

interface AskedSettings {
  root?: string | undefined;
  sampling?: SamplingSettings | undefined;
  onBound?: OnServerBound | undefined;
}

export class ServerRequests {
  constructor(
    private readonly client: Client,
    private readonly calls: CallsInProgress,
    private readonly settings: AskedSettings,
  ) {
    const { root, sampling } = settings;
    if (root !== undefined) client.setRequestHandler('roots/list', () => rootsOf(root));
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => this.elicit(params, mcpReq.signal));
    if (sampling === undefined) return;
    client.setRequestHandler('sampling/createMessage', ({ params }, { mcpReq }) => this.sample(params, mcpReq.signal));
  }

  /** Answers an unchecked request. @throws AppError, ProtocolError or SdkError if it cannot be answered; the signal's reason */
  async answer(
    { method, params }: { method: string; params?: unknown },
    signal: AbortSignal,
  ): Promise<ElicitResult | CreateMessageResult | ListRootsResult> {
    const { root } = this.settings;
    if (method === 'roots/list' && root !== undefined) return rootsOf(root);
    if (method === 'elicitation/create') return this.elicit(isJsonObject(params) ? params : {}, signal);
    if (method === 'sampling/createMessage') return this.sample(params, signal);
    throw this.shown(method, nobodyAnswers());
  }

  private async elicit(params: { [member: string]: unknown }, signal: AbortSignal): Promise<ElicitResult> {
    try {
      const call = this.calls.asking();
      if (call?.onQuestion === undefined) throw nobodyAnswers();
      return toElicitResult(await this.calls.answered(call, call.onQuestion(readQuestion(params), signal)));
    } catch (error) {
      throw this.shown('elicitation/create', error);
    }
  }

  private async sample(params: unknown, signal: AbortSignal): Promise<CreateMessageResult> {
    const { sampling, onBound } = this.settings;
    try {
      const call = this.calls.asking();
      if (sampling === undefined || call?.onSampling === undefined) throw nobodyAnswers();
      if (!isSpecType.CreateMessageRequestParams(params)) throw refused('the request to a model cannot be read');
      const answer = call.onSampling(readSampling(params, sampling), signal);
      return toSamplingResult(await this.calls.answered(call, answer));
    } catch (error) {
      if (isOverBounds(error)) onBound?.('sampling');
      throw this.shown('sampling/createMessage', error);
    }
  }

  private shown(method: string, error: unknown): unknown {
    return asAskingError(method, error, this.client.getProtocolEra());
  }
}

const rootsOf = (root: string): ListRootsResult => ({ roots: [{ uri: pathToFileURL(root).href, name: 'workspace' }] });
