// Values of parameters as text in an address or a form, percent-encoded (OpenAPI's `style` and `explode`, RFC 6570).
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ApiParameter } from './api-tool.js';

type Encoded = Pick<ApiParameter, 'name' | 'style' | 'explode' | 'allowReserved'>;

const encode = (text: string): string =>
  // A text may have half a character, which no address can.
  encodeURIComponent(text.replaceAll(/[\uD800-\uDFFF]/gu, '\uFFFD')).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** What RFC 6570 lets through (3.2.3), except for what a server would read as the end of a value or as a space: `&`, `+` and `#`. */
const encodeUnreserved = (text: string): string =>
  encode(text).replaceAll(
    /%(?:25([0-9A-F]{2})|(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D|5B|5D))/gi,
    (_whole, triple?: string, code?: string) =>
      code === undefined ? `%${triple!}` : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** What stands for a value that is no list and no object; an inner one is JSON. */
export const plainText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const delimiters = { spaceDelimited: '%20', pipeDelimited: '%7C' } as const;

/** `name=value`, for a query or a form; none for null and for an empty list. */
export function encodedPairs({ name, style, explode, allowReserved }: Encoded, value: Json): string[] {
  const valueOf = allowReserved === true ? encodeUnreserved : encode;
  const pair = (key: string, text: string) => `${encode(key)}=${text}`;
  if (value === null) return [];
  if (style === 'deepObject') return deepPairs(name, value).map(([key, text]) => pair(key, valueOf(text)));
  if (Array.isArray(value)) {
    const texts = value.map((each) => valueOf(plainText(each)));
    if (explode) return texts.map((text) => pair(name, text));
    const delimiter = style === 'spaceDelimited' || style === 'pipeDelimited' ? delimiters[style] : ',';
    return texts.length === 0 ? [] : [pair(name, texts.join(delimiter))];
  }
  if (!isJsonObject(value)) return [pair(name, valueOf(plainText(value)))];
  if (explode) return Object.entries(value).map(([key, each]) => pair(key, valueOf(plainText(each))));
  return [pair(name, flat(value, valueOf).join(','))];
}

/** `filter[color]`, `items[0][price]`: as Rails, PHP and qs read it. */
function deepPairs(name: string, value: Json): [string, string][] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.flatMap((each, index) => deepPairs(`${name}[${index}]`, each));
  if (!isJsonObject(value)) return [[name, plainText(value)]];
  return Object.entries(value).flatMap(([key, each]) => deepPairs(`${name}[${key}]`, each));
}

/** Members and their values, one after the other. */
const flat = (value: JsonObject, valueOf = encode): string[] =>
  Object.entries(value).flatMap(([key, each]) => [encode(key), valueOf(plainText(each))]);

/** In the place of `{name}`. */
export function encodedSegment({ name, style, explode }: Encoded, value: Json): string {
  if (style === 'matrix') {
    if (explode && (Array.isArray(value) || isJsonObject(value)))
      return encodedPairs({ name, style: 'form', explode }, value)
        .map((each) => `;${each}`)
        .join('');
    return `;${encode(name)}=${listed(value, false, ',')}`;
  }
  if (style === 'label') return `.${listed(value, explode, explode ? '.' : ',')}`;
  return listed(value, explode, ',');
}

function listed(value: Json, explode: boolean, delimiter: string): string {
  if (Array.isArray(value)) return value.map((each) => encode(plainText(each))).join(delimiter);
  if (!isJsonObject(value)) return encode(plainText(value));
  if (!explode) return flat(value).join(delimiter);
  return Object.entries(value)
    .map(([key, each]) => `${encode(key)}=${encode(plainText(each))}`)
    .join(delimiter);
}

/** Headers are not percent-encoded. */
export function headerText({ explode }: Pick<Encoded, 'explode'>, value: Json): string {
  if (Array.isArray(value)) return value.map(plainText).join(',');
  if (!isJsonObject(value)) return plainText(value);
  const pairs = Object.entries(value).map(([key, each]) => [key, plainText(each)]);
  return explode ? pairs.map((pair) => pair.join('=')).join(',') : pairs.flat().join(',');
}
