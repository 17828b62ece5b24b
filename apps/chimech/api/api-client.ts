// The gateway for one call of a tool: chats and embeddings that end with the call. Chats offer no tools, so that Chimech
// cannot call itself in a circle. It counts what the call has used.
import { AppError } from '#libs/schemas/errors.js';
import { ChimechMCPError } from '../errors/chimech-mcp-error.js';
import { say, type Language } from '../language.js';
import { GatewayFailure, type GatewayClient, type GatewayResponse } from './gateway.js';
import { readChatAnswer, readEmbeddings, readError, type ChatAnswer } from './read-answers.js';

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ModelPrompt {
  messages: readonly PromptMessage[];
  maxTokens?: number;
  temperature?: number;
  priority?: 'interactive' | 'batch';
  /** Asks for the probabilities of the tokens too. */
  confidence?: boolean;
  /** Ends it before the call ends. */
  signal?: AbortSignal;
}

export interface ApiClient {
  /** @throws ChimechMCPError CONTEXT_TOO_LONG, API_RATE_LIMIT, API_ERROR, TIMEOUT */
  chat(request: ModelPrompt): Promise<ChatAnswer>;
  /** One vector a text. @throws as chat */
  embeddings(texts: readonly string[]): Promise<number[][]>;
}

export class CallApiClient implements ApiClient {
  tokensUsed = 0;
  /** Time that the gateway took, ms. */
  waitedMs = 0;

  constructor(
    private readonly gateway: GatewayClient,
    private readonly call: { signal: AbortSignal; language: Language; requestId: string; token: string | undefined },
  ) {}

  async chat(request: ModelPrompt): Promise<ChatAnswer> {
    const { messages, maxTokens, temperature, priority, confidence, signal } = request;
    const path = '/v1/chat/completions';
    const { model } = this.gateway.settings;
    const body = {
      ...(model === undefined ? {} : { model }),
      messages,
      tools: [],
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      ...(temperature === undefined ? {} : { temperature }),
      ...(priority === undefined ? {} : { priority }),
    };
    let answer = await this.post(path, confidence === true ? { ...body, logprobs: true } : body, signal);
    // Some models refuse to give them: then there is an answer without.
    if (confidence === true && answer.status === 400 && /logprobs/i.test(readError(answer.body).message)) {
      answer = await this.post(path, body, signal);
    }
    const read = readChatAnswer(this.succeeded(answer));
    if (read === undefined) throw this.apiError(noText);
    this.tokensUsed += read.tokensUsed;
    return read;
  }

  async embeddings(texts: readonly string[]): Promise<number[][]> {
    const { embeddingsModel } = this.gateway.settings;
    if (embeddingsModel === undefined) throw this.apiError(noEmbeddingsModel);
    const answer = await this.post('/v1/embeddings', { model: embeddingsModel, input: texts });
    const read = readEmbeddings(this.succeeded(answer), texts.length);
    if (read === undefined) throw this.apiError(noVectors);
    this.tokensUsed += read.tokensUsed;
    return read.vectors;
  }

  private async post(path: string, body: object, earlier?: AbortSignal): Promise<GatewayResponse> {
    const startedAt = performance.now();
    const signal = earlier === undefined ? this.call.signal : AbortSignal.any([this.call.signal, earlier]);
    try {
      return await this.gateway.post(path, body, { ...this.call, signal });
    } catch (error) {
      if (!(error instanceof GatewayFailure)) throw error;
      if (error.kind === 'cancelled') throw cancelled(error.cause);
      const { message } = error;
      if (error.kind === 'timeout') throw this.failed('TIMEOUT', { en: message, zh: '网关响应超时' });
      throw this.apiError({ en: message, zh: '网关无法访问，或连接已中断' });
    } finally {
      this.waitedMs += performance.now() - startedAt;
    }
  }

  /** The body of a successful answer. @throws ChimechMCPError */
  private succeeded({ status, body, retryAfterSeconds }: GatewayResponse): unknown {
    if (status >= 200 && status < 300) return body;
    const { message, code } = readError(body);
    if (code === 'budget_exceeded') {
      throw this.failed(
        'API_RATE_LIMIT',
        { en: message, zh: `网关的预算已用完：${message}` },
        waitOf(retryAfterSeconds),
      );
    }
    if (status === 429) {
      const wait = retryAfterSeconds ?? 1;
      throw this.failed(
        'API_RATE_LIMIT',
        {
          en: `The rate limit of the gateway was reached: wait ${wait} s`,
          zh: `已达到网关的调用上限，请等待 ${wait} 秒`,
        },
        waitOf(wait),
      );
    }
    if (code === 'context_length_exceeded') {
      throw this.failed('CONTEXT_TOO_LONG', {
        en: `The request is too long for the model: ${message}`,
        zh: `内容超出模型的上下文长度：${message}`,
      });
    }
    if (status === 504) throw this.failed('TIMEOUT', { en: `The model took too long: ${message}`, zh: `模型响应超时` });
    if (status === 401 || status === 403) {
      throw this.apiError(
        this.call.token === undefined
          ? refused
          : { en: `The gateway rejected the caller: ${message}`, zh: `网关拒绝了调用者：${message}` },
      );
    }
    throw this.apiError({
      en: `The gateway answered ${status}${message === '' ? '' : `: ${message}`}`,
      zh: `网关返回 ${status}${message === '' ? '' : `：${message}`}`,
    });
  }

  private apiError(texts: Record<Language, string>): ChimechMCPError {
    return this.failed('API_ERROR', texts);
  }

  private failed(
    code: 'API_ERROR' | 'API_RATE_LIMIT' | 'CONTEXT_TOO_LONG' | 'TIMEOUT',
    texts: Record<Language, string>,
    details?: { retryAfterSeconds: number },
  ): ChimechMCPError {
    return new ChimechMCPError(say(this.call.language, texts), code, undefined, details);
  }
}

const waitOf = (seconds = 1) => ({ retryAfterSeconds: seconds });

const cancelled = (reason: unknown) =>
  reason instanceof Error ? reason : new AppError('cancelled', 'The call was cancelled');

const noText = { en: 'The model returned no text', zh: '模型没有返回文本' };
const noVectors = { en: 'The gateway returned no embeddings', zh: '网关没有返回向量' };
const noEmbeddingsModel = { en: 'CHIMECH_EMBEDDINGS_MODEL is not set', zh: '未设置 CHIMECH_EMBEDDINGS_MODEL' };
const refused = {
  en: 'The gateway rejected the key of Chimech (CHIMECH_GATEWAY_KEY)',
  zh: '网关拒绝了 Chimech 的密钥（CHIMECH_GATEWAY_KEY）',
};
