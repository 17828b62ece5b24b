// The settings in force, each with its value and where it comes from. Secrets are masked. Knows nothing of how they are shown.
import { formatKey } from '../config-error.js';
import type { Origins } from '../read-config.js';
import type { Config } from '../schema.js';
import { maskDeep } from '../secrets.js';
import type { Path } from './schema-walk.js';

export interface ListedSetting {
  path: Path;
  /** `models.providers.openai.kind` */
  key: string;
  /** Masked if it is a secret. */
  value: unknown;
  /** As in `Origins`; undefined for a default. */
  origin: string | undefined;
}

/** All settings that have a value, in the order of the schema. */
export function listSettings(config: Config, origins: Origins): ListedSetting[] {
  const found: ListedSetting[] = [];
  collect(maskDeep(config), []);
  return found;

  function collect(value: unknown, path: Path): void {
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
      for (const [key, inner] of Object.entries(value)) collect(inner, [...path, key]);
    } else if (value !== undefined) {
      found.push({ path, key: formatKey(path), value, origin: originOf(path) });
    }
  }

  function originOf(path: Path): string | undefined {
    for (let length = path.length; length > 0; length -= 1) {
      const origin = origins.get(formatKey(path.slice(0, length)));
      // The origin of a section does not apply to members that the file leaves out.
      if (origin !== undefined && (length === path.length || /^(?:environment|\.env) /.test(origin))) return origin;
    }
    return undefined;
  }
}
