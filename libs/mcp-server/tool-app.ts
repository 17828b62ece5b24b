// What MCP's extension for apps (`io.modelcontextprotocol/ui`, revision 2026-01-26) adds to a tool: a page that shows its results,
// and who may call it. Members of `_meta` that servers write; no shape is trusted.
// https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';

export const appExtension = 'io.modelcontextprotocol/ui';
export const appMimeType = 'text/html;profile=mcp-app';
/** What a client declares that shows apps, as the gateway does. */
export const appCapability = { [appExtension]: { mimeTypes: [appMimeType] } };

export const appUriScheme = 'ui://';
const maxMetaBytes = 8 * 1024;
const maxUriLength = 4_096;

interface AppTool {
  /** What the server lists about the app in `_meta`, unchanged. */
  appMeta?: JsonObject | undefined;
}

/** The members of a tool's `_meta` that concern its app. Undefined if there are none, or too much. */
export function readAppMeta(meta: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const { ui, 'ui/resourceUri': older } = meta;
  const appMeta: JsonObject = {
    ...(isJsonObject(ui) ? { ui } : {}),
    ...(typeof older === 'string' ? { 'ui/resourceUri': older } : {}),
  };
  const isUsable = Object.keys(appMeta).length > 0 && Buffer.byteLength(JSON.stringify(appMeta)) <= maxMetaBytes;
  return isUsable ? appMeta : undefined;
}

/** The URI of the tool's page, as its server knows it. */
export function appUriOf({ appMeta }: AppTool): string | undefined {
  if (appMeta === undefined) return undefined;
  const { ui, 'ui/resourceUri': older } = appMeta;
  const uri = (isJsonObject(ui) ? ui['resourceUri'] : undefined) ?? older;
  return typeof uri === 'string' && uri.startsWith(appUriScheme) && uri.length <= maxUriLength ? uri : undefined;
}

/** The members of `appMeta` with another URI in place of the server's. */
export function withAppUri(appMeta: JsonObject, uri: string): JsonObject {
  const { ui, 'ui/resourceUri': older, ...rest } = appMeta;
  return {
    ...rest,
    ...(isJsonObject(ui) ? { ui: ui['resourceUri'] === undefined ? ui : { ...ui, resourceUri: uri } } : {}),
    ...(older === undefined ? {} : { 'ui/resourceUri': uri }),
  };
}

/** Whether models may call the tool. */
export const isForModels = (tool: AppTool): boolean => isVisibleTo('model', tool);
/** Whether apps of the tool's server may call the tool. */
export const isForApps = (tool: AppTool): boolean => isVisibleTo('app', tool);

function isVisibleTo(who: 'model' | 'app', { appMeta }: AppTool): boolean {
  if (appMeta === undefined) return true;
  const { ui } = appMeta;
  const visibility = isJsonObject(ui) ? ui['visibility'] : undefined;
  return !Array.isArray(visibility) || visibility.includes(who);
}
