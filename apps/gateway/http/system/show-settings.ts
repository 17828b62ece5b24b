// The settings in force as the API shows them: with their meaning, default, variable and origin, and without secrets, credentials in
// addresses, and directories of the host. Pure.
import { basename } from 'node:path';
import { strikeOutKnown } from '#libs/audit/known-secrets.js';
import { redactText } from '#libs/audit/redact.js';
import { formatKey } from '#libs/config/config-error.js';
import { environmentName } from '#libs/config/environment.js';
import { listSettings, type ListedSetting } from '#libs/config/printing/list-settings.js';
import { entrySettings, type Path, type Setting, settingAt, settings } from '#libs/config/printing/schema-walk.js';
import { originsOf } from '#libs/config/read-config.js';
import type { Config } from '#libs/config/schema.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { shownSetting as settingShape } from '../openapi/system-shapes.js';

export type ShownSetting = Shown<typeof settingShape>;

const fixed = new Map(settings.map((setting) => [formatKey(setting.path), setting]));
/** Maps whose entries have settings of their own. */
const maps = [['models', 'providers'], ['mcpServers']].map((path) => ({
  path,
  members: new Map(entrySettings(path).map((setting) => [formatKey(setting.path), setting])),
}));
/** Arguments of programs may be keys, and nothing in them says so. */
const mayBeSecret = /^mcpServers\.[^.]+\.args$/;

/** `latest`: the configuration that was read last, from which the policy and the tool servers are. In the order of the schema. */
export function showSettings(started: Config, latest: Config): ShownSetting[] {
  const isReread = ({ path }: ListedSetting) => path[0] === 'policy' || path[0] === 'mcpServers';
  const given = [
    ...listSettings(started, originsOf(started)).filter((setting) => !isReread(setting)),
    ...listSettings(latest, originsOf(latest)).filter(isReread),
  ];
  const keys = given.map(({ key }) => key);
  const unset = settings.filter(({ path }) => {
    const key = formatKey(path);
    return !keys.some((each) => each === key || each.startsWith(`${key}.`));
  });
  const rows = [
    ...given.map(showSetting),
    ...unset.map(({ path }) => showSetting({ path, key: formatKey(path), value: undefined, origin: undefined })),
  ];
  const groups = [...new Set(settings.map(({ path }) => path[0]!))];
  const places = new Map([...fixed.keys()].map((key, index) => [key, index]));
  const placeOf = ({ key, group }: ShownSetting) => [groups.indexOf(group), places.get(key) ?? -1] as const;
  return rows.sort((one, other) => {
    const [group, place] = placeOf(one);
    const [otherGroup, otherPlace] = placeOf(other);
    return group - otherGroup || (place >= 0 && otherPlace >= 0 ? place - otherPlace : 0);
  });
}

function showSetting({ path, key, value, origin }: ListedSetting): ShownSetting {
  const setting = describe(path);
  const isSecret = settingAt(path)?.secrecy === true || mayBeSecret.test(key);
  const isEmpty = value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0);
  const given = value === undefined ? null : shownValue(value);
  return {
    key,
    group: String(path[0]),
    value: isSecret ? (isEmpty ? 'not set' : 'set') : given,
    secret: isSecret,
    ...originOf(origin),
    variable: fixed.has(key) ? environmentName(path.map(String)) : null,
    default: setting?.defaultValue ?? null,
    meaning: setting?.description ?? '',
  };
}

/** The setting at this path, or the map that it is an entry of. */
function describe(path: Path): Setting | undefined {
  for (const map of maps) {
    const inside = path.slice(map.path.length + 1);
    if (inside.length > 0 && map.path.every((part, index) => part === path[index])) return nearest(inside, map.members);
  }
  return nearest(path, fixed);
}

function nearest(path: Path, known: ReadonlyMap<string, Setting>): Setting | undefined {
  for (let length = path.length; length > 0; length -= 1) {
    const setting = known.get(formatKey(path.slice(0, length)));
    if (setting !== undefined) return setting;
  }
  return undefined;
}

function originOf(origin: string | undefined): Pick<ShownSetting, 'origin' | 'source'> {
  if (origin === undefined) return { origin: 'default', source: null };
  const [, from, variable] = /^(environment|\.env) (\w+)$/.exec(origin) ?? [];
  if (variable !== undefined) return { origin: from === '.env' ? 'env_file' : 'environment', source: variable };
  return { origin: 'file', source: basename(origin) };
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value);
  if (Array.isArray(value)) return value.map(shownValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shownValue(inner)]));
}

/** An absolute path is shown by its last part, an address without its credentials and its query. */
function shownText(text: string): string {
  const safe = redactText(strikeOutKnown(text));
  if (/^file:/i.test(safe)) return `…/${safe.split('/').at(-1)}`;
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(safe)) return safe.replace(/:\/\/[^/?#]*@/, '://***@').replace(/[?#].*$/s, '?***');
  return safe.replace(/(^|=)(?:[A-Za-z]:)?[\\/](?:[^\\/]+[\\/])+/g, '$1…/');
}
