// Converts a tool server's sampling request to a model request. Pure.
import type { SamplingRequest } from '#libs/waits/sampling-request.js';
import type { ChatMessage, ContentPart } from '#libs/schemas/message.js';
import type { ModelRequest } from '../models/model-provider.js';

type Message = SamplingRequest['messages'][number];

export function fromSamplingRequest(request: SamplingRequest): Omit<ModelRequest, 'model'> {
  const { systemPrompt, temperature, stopSequences = [] } = request;
  return {
    messages: [
      ...(systemPrompt === undefined ? [] : [{ role: 'system' as const, content: systemPrompt }]),
      ...request.messages.map(toMessage),
    ],
    tools: [],
    stream: false,
    parameters: {
      max_tokens: request.maxTokens,
      ...(temperature === undefined ? {} : { temperature }),
      ...(stopSequences.length === 0 ? {} : { stop: stopSequences }),
    },
    unknown: {},
  };
}

function toMessage({ role, content }: Message): ChatMessage {
  const [only] = content;
  if (content.length === 1 && only?.type === 'text') return { role, content: only.text };
  return { role, content: content.map(toPart) };
}

function toPart(block: Message['content'][number]): ContentPart {
  if (block.type === 'text') return { type: 'text', text: block.text };
  return { type: 'image_url', image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
}
