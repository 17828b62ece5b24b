// The pictures, sounds and documents that each family takes, and under which name. Other data becomes text: the
// content of a text file, or a line that names the data. Nothing is converted and nothing is refused.
import type { ReadPart } from './read-content-part.js';

export type MediaFamily = 'anthropic' | 'gemini' | 'openai';
export type DataPart = Extract<ReadPart, { kind: 'data' }>;
/** `described`: the model gets a description in place of the data. */
export type SentPart = { mediaType: string; data: string } | { text: string; described?: true };

const web = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const types = (kind: string, names: string) => names.split(' ').map((name) => `${kind}/${name}`);

/**
 * https://platform.claude.com/docs/en/build-with-claude/vision, https://platform.openai.com/docs/guides/images-vision, and
 * https://ai.google.dev/gemini-api/docs/image-understanding with its neighbours for sounds, films and documents.
 */
const taken: Record<MediaFamily, ReadonlySet<string>> = {
  anthropic: new Set([...web, 'application/pdf']),
  openai: new Set([...web, 'audio/wav', 'audio/mpeg', 'application/pdf']),
  gemini: new Set([
    ...types('image', 'jpeg png webp heic heif'),
    ...types('audio', 'wav mpeg aiff aac ogg flac mp4 webm'),
    ...types('video', 'mp4 mpeg quicktime x-msvideo x-flv webm x-ms-wmv 3gpp'),
    'application/pdf',
  ]),
};

const sameAs = new Map(
  Object.entries({
    'image/jpeg': 'image/jpg image/pjpeg image/jfif image/x-jpeg',
    'image/png': 'image/x-png image/apng',
    'audio/wav': 'audio/x-wav audio/wave audio/x-pn-wav audio/vnd.wave',
    'audio/mpeg': 'audio/mp3 audio/x-mp3 audio/mpeg3 audio/x-mpeg audio/mpga',
    'audio/mp4': 'audio/m4a audio/x-m4a',
    'audio/aac': 'audio/x-aac',
    'audio/aiff': 'audio/x-aiff audio/aif',
    'audio/flac': 'audio/x-flac',
    'audio/ogg': 'audio/opus audio/vorbis',
    'video/mpeg': 'video/mpg video/mpegs',
    'video/quicktime': 'video/mov',
    'video/x-msvideo': 'video/avi video/msvideo',
    'video/x-ms-wmv': 'video/wmv',
    'application/pdf': 'application/x-pdf',
  }).flatMap(([type, others]) => others.split(' ').map((other) => [other, type] as const)),
);

/** The media type without parameters, in lower case, under its usual name: `image/jpeg` for `image/JPG; q=1`. */
export function plainMediaType(mimeType: string): string {
  const type = mimeType.split(';', 1)[0]!.trim().toLowerCase();
  return sameAs.get(type) ?? type;
}

/**
 * The family's name for the type; undefined if the family does not take the type. With `data` (base64), a picture's first
 * bytes decide its type: Anthropic refuses a picture under a wrong name.
 */
export function mediaTypeFor(family: MediaFamily, mimeType: string, data = ''): string | undefined {
  const plain = plainMediaType(mimeType);
  const type =
    plain.startsWith('image/') || plain === 'application/octet-stream' ? (pictureType(data) ?? plain) : plain;
  return taken[family].has(type) ? type : undefined;
}

/** A picture's type by its first bytes, in base64. */
function pictureType(data: string): string | undefined {
  if (data.startsWith('/9j/')) return 'image/jpeg';
  if (data.startsWith('iVBORw0KGg')) return 'image/png';
  if (data.startsWith('R0lGOD')) return 'image/gif';
  return data.startsWith('UklGR') && data.slice(12, 16) === 'RUJQ' ? 'image/webp' : undefined;
}

export function toSentPart(family: MediaFamily, part: DataPart): SentPart {
  const data = plainBase64(part.data);
  const mediaType = mediaTypeFor(family, part.mediaType, data);
  if (mediaType !== undefined && data !== '') return { mediaType, data };
  const type = plainMediaType(part.mediaType);
  const text = isText.test(type) ? Buffer.from(data, 'base64').toString('utf8') : '';
  if (text.trim() !== '') return { text };
  const size = `${Math.floor((data.length * 3) / 4)} bytes`;
  return { text: `[${[part.name, type, size].filter((word) => word !== undefined).join(', ')}]`, described: true };
}

const isText = /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson|sql|x-sh)$|\+(?:json|xml|yaml)$/;

/** Clients break base64 into lines or use its form for URLs, which APIs refuse. Invalid characters are left out. */
const plainBase64 = (data: string): string =>
  /[^A-Za-z0-9+/=]/.test(data) ? Buffer.from(data, 'base64').toString('base64') : data;

export const notTaken = (model: string, type: string): string =>
  `${model} does not accept ${type}, so it is only mentioned in text`;
