// The parts of a user message for OpenAI-compatible upstreams: media types under their usual names, and text in place of media
// that OpenAI does not take. Content that needs no change is returned as the same object.
import { isJsonObject, textOrEmpty } from '#libs/schemas/json.js';
import type { ContentPart, MessageContent } from '#libs/schemas/message.js';
import { notTaken, plainMediaType, toSentPart } from '../conversation/media-types.js';
import { readContent } from '../conversation/read-content-part.js';
import type { Warnings } from '../conversation/warnings.js';

export function toOpenAiContent(content: MessageContent, model: string, warnings: Warnings): MessageContent {
  if (typeof content === 'string') return content;
  const parts = content.map((part) => toPart(part, model, warnings));
  return parts.every((part, at) => part === content[at]) ? content : parts;
}

function toPart(part: ContentPart, model: string, warnings: Warnings): ContentPart {
  const carried = part[part.type];
  if (part.type === 'text' || !isJsonObject(carried)) return part;
  const [read] = readContent([part]);
  if (read?.kind !== 'data') return part;
  const sent = toSentPart('openai', read);
  if ('text' in sent) {
    if (sent.described) warnings.add(notTaken(model, plainMediaType(read.mediaType)), 'messages');
    return {
      type: 'text',
      text: sent.described || read.name === undefined ? sent.text : `${read.name}:\n${sent.text}`,
    };
  }
  const url = `data:${sent.mediaType};base64,${sent.data}`;
  if (part.type === 'image_url') return carried['url'] === url ? part : { ...part, image_url: { ...carried, url } };
  if (part.type === 'file')
    return carried['file_data'] === url ? part : { ...part, file: { ...carried, file_data: url } };
  const format = sent.mediaType === 'audio/mpeg' ? 'mp3' : 'wav';
  if (textOrEmpty(carried['format']) === format && carried['data'] === sent.data) return part;
  return { ...part, input_audio: { ...carried, format, data: sent.data } };
}
