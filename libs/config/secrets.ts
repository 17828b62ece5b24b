// Keeps secrets of the configuration out of all output: masks values, makes whole objects unprintable, and lists the
// secrets, so that the logger can remove them.
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { inspect } from 'node:util';
import { secretsOfHeader } from '#libs/audit/known-secrets.js';
import { settingAt, type Path, type Secrecy } from './printing/schema-walk.js';

export const maskCharacter = '***';

const secretParameter = /^(?:\w*_)?(?:password|token|key|secret)$/i;

function maskValue(value: unknown, secrecy: Secrecy): unknown {
  if (secrecy === undefined || value === undefined) return value;
  if (secrecy === 'url' && typeof value === 'string') return maskUrl(value);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.fromEntries(Object.keys(value).map((key) => [key, maskCharacter]));
  }
  return maskCharacter;
}

/** Removes user, password and query, which may contain passwords. Host and path stay. */
function maskUrl(text: string): string {
  try {
    const url = readUrl(text);
    if (url.password !== '' || url.username !== '') {
      url.username = '';
      url.password = '';
      return url.href.replace('://', `://${maskCharacter}@`).replace(/\?.*$/, `?${maskCharacter}`);
    }
    return url.href.replace(/\?.*$/, `?${maskCharacter}`);
  } catch {
    return maskCharacter;
  }
}

export function hasPassword(text: string): boolean {
  try {
    const url = readUrl(text);
    return url.password !== '' || [...url.searchParams.keys()].some((name) => secretParameter.test(name));
  } catch {
    return true;
  }
}

/** For messages: short, and masked if it may be a secret, such as a key pasted in the wrong place. */
export function showValue(value: unknown, path: Path): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const setting = settingAt(path);
  const open = setting !== undefined && setting.secrecy === undefined && !['object', 'map'].includes(setting.kind);
  const text = open ? (JSON.stringify(value) ?? 'nothing') : maskCharacter;
  return text.length > 80 ? `${text.slice(0, 77)}…` : text;
}

export function maskDeep(value: unknown, path: Path = []): unknown {
  const secrecy = settingAt(path)?.secrecy;
  if (secrecy !== undefined) return maskValue(value, secrecy);
  if (Array.isArray(value)) return value.map((item, index) => maskDeep(item, [...path, index]));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskDeep(inner, [...path, key])]));
  }
  return value;
}

/** All secrets of a configuration, for the logger. Short ones are left out, because they may be parts of normal words. */
export function secretValues(value: unknown, path: Path = [], found = new Set<string>()): string[] {
  const secrecy = settingAt(path)?.secrecy;
  if (typeof value === 'string') {
    const whole = secrecy === true && !isPathHere(value) ? secretsOfHeader(value) : [];
    const texts = secrecy === 'url' ? passwordsOf(value) : whole;
    for (const text of texts) if (text.length >= 8) found.add(text);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) secretValues(inner, [...path, key], found);
  }
  return [...found];
}

/** A path is not struck out: without the path, answers and errors of the server that was given it help nobody. */
function isPathHere(value: string): boolean {
  if (!value.startsWith('/') || value.includes('\0')) return false;
  return existsSync(value) || (dirname(value) !== '/' && existsSync(dirname(value)));
}

function passwordsOf(text: string): string[] {
  try {
    const url = readUrl(text);
    const inQuery = [...url.searchParams].filter(([name]) => secretParameter.test(name));
    return [decodeURIComponent(url.password), ...inQuery.map(([, value]) => value)];
  } catch {
    return [];
  }
}

/** With several hosts (Redis sentinels or cluster), only the first is kept, because the URL class supports only one. */
function readUrl(text: string): URL {
  return new URL(text.replace(/^([a-z+]+:\/\/(?:[^@/?#]*@)?[^,@/?#]+),[^/?#]*/i, '$1'));
}

/** Makes JSON.stringify and util.inspect show masks, for the whole tree and all its parts. */
export function makeUnprintable<T>(value: T, path: Path = []): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const [key, inner] of Object.entries(value)) makeUnprintable(inner, [...path, key]);
  if (Array.isArray(value)) return value;
  const masked = () => maskDeep(value, path);
  Object.defineProperty(value, 'toJSON', { value: masked });
  Object.defineProperty(value, inspect.custom, { value: masked });
  return value;
}
