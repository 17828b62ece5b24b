// Maps environment variables to keys, and parses their text. Pure.
import { settings, type Setting, type SettingKind } from './printing/schema-walk.js';

const fixedNames: Record<string, string> = {
  'server.host': 'HOST',
  'server.port': 'PORT',
  'server.allowed_origins': 'ALLOWED_ORIGINS',
  'models.default': 'DEFAULT_MODEL',
  'chimech.api_keys': 'CHIMECH_API_KEY',
  'chimech.api_keys_created_at': 'CHIMECH_API_KEY_CREATED_AT',
  'chimech.api_key_rotation_days': 'API_KEY_ROTATION_DAYS',
  'chimech.max_requests_per_minute': 'MAX_REQUESTS_PER_MINUTE',
  'isolation.minimum': 'MIN_ISOLATION',
  'isolation.allow_unsandboxed': 'ALLOW_UNSANDBOXED',
  'audit.enabled': 'AUDIT',
  'telemetry.otlp_endpoint': 'OTEL_EXPORTER_OTLP_ENDPOINT',
  'telemetry.otlp_headers': 'OTEL_EXPORTER_OTLP_HEADERS',
};

/** The rule: the key's path in capitals, joined by underscores. `tools.max_result_bytes` is TOOLS_MAX_RESULT_BYTES. */
export function environmentName(path: readonly string[]): string {
  const key = path.join('.');
  return (
    fixedNames[key] ??
    path
      .join('_')
      .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
      .toUpperCase()
  );
}

export const environmentSettings: ReadonlyMap<string, Setting> = new Map(
  settings.map((setting) => [environmentName(setting.path), setting]),
);

export interface KnownProvider {
  name: string;
  /** Sets `api_key`, or `base_url` for a server without keys. */
  variable: string;
  sets: 'api_key' | 'base_url';
  members: { kind: 'openai' | 'anthropic' | 'gemini'; base_url: string; reasoning_replay?: 'always' };
  baseUrlVariable?: string;
}

/** The first enabled provider becomes the default. */
export const knownProviders: readonly KnownProvider[] = [
  {
    name: 'openai',
    variable: 'OPENAI_API_KEY',
    sets: 'api_key',
    members: { kind: 'openai', base_url: 'https://api.openai.com/v1' },
    baseUrlVariable: 'OPENAI_BASE_URL',
  },
  {
    name: 'anthropic',
    variable: 'ANTHROPIC_API_KEY',
    sets: 'api_key',
    members: { kind: 'anthropic', base_url: 'https://api.anthropic.com' },
    baseUrlVariable: 'ANTHROPIC_BASE_URL',
  },
  {
    name: 'gemini',
    variable: 'GEMINI_API_KEY',
    sets: 'api_key',
    members: { kind: 'gemini', base_url: 'https://generativelanguage.googleapis.com' },
    baseUrlVariable: 'GEMINI_BASE_URL',
  },
  {
    name: 'deepseek',
    variable: 'DEEPSEEK_API_KEY',
    sets: 'api_key',
    members: { kind: 'openai', base_url: 'https://api.deepseek.com/v1', reasoning_replay: 'always' },
    baseUrlVariable: 'DEEPSEEK_BASE_URL',
  },
  {
    name: 'ollama',
    variable: 'OLLAMA_BASE_URL',
    sets: 'base_url',
    members: { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1' },
  },
];

/** Adds the path of Ollama's compatible API if it is missing. */
export function withApiPath(url: string): string {
  return /^https?:\/\/[^/]+\/?$/.test(url) ? `${url.replace(/\/$/, '')}/v1` : url;
}

const yes = /^(?:1|true|yes|on)$/i;
const no = /^(?:0|false|no|off)$/i;

/** Parses text as a kind of value. Invalid text is returned unchanged, and the schema refuses it. */
export function valueOfText(text: string, kind: SettingKind | 'object'): unknown {
  switch (kind) {
    case 'text':
    case 'object':
      return text;
    case 'number':
      return /^-?\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : text;
    case 'boolean':
      return yes.test(text.trim()) ? true : no.test(text.trim()) ? false : text;
    case 'list':
      // Lists of maps, such as the rules of the policy, are JSON.
      if (text.trimStart().startsWith('[')) return jsonOf(text);
      return text.split(',').flatMap((item) => item.trim() || []);
    case 'map':
      return jsonOf(text);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
