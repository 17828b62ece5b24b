// The output of `npm run config check`: all settings with masked secrets, and where each value comes from.
import type { Origins } from '../read-config.js';
import type { Config } from '../schema.js';
import { formatKey } from '../config-error.js';
import { maskDeep } from '../secrets.js';
import type { Path } from './schema-walk.js';

export function printConfig(config: Config, origins: Origins): string {
  const rows: [string, string, string][] = [];
  collect(maskDeep(config), []);
  const keyWidth = Math.min(52, Math.max(...rows.map(([key]) => key.length)));
  const valueWidth = Math.min(44, Math.max(...rows.map(([, value]) => value.length)));
  return rows
    .map(([key, value, origin]) => `${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}  ${origin}`)
    .join('\n');

  function collect(value: unknown, path: Path): void {
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
      for (const [key, inner] of Object.entries(value)) collect(inner, [...path, key]);
    } else if (value !== undefined) {
      rows.push([formatKey(path), JSON.stringify(value), originOf(path)]);
    }
  }

  function originOf(path: Path): string {
    for (let length = path.length; length > 0; length -= 1) {
      const origin = origins.get(formatKey(path.slice(0, length)));
      // The origin of a section does not apply to members that the file leaves out.
      if (origin !== undefined && (length === path.length || /^(?:environment|\.env) /.test(origin))) return origin;
    }
    return 'default';
  }
}
