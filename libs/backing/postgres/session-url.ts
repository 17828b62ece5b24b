// The connection URL with session settings of our own. Settings that the operator put into it (`options`) stay.

export interface SessionSettings {
  applicationName: string;
  /** Server settings, as `name` → value. */
  set: Readonly<Record<string, string | number>>;
}

/**
 * Appends to the text instead of rebuilding it: a URL with a socket directory is not a URL to the URL class, and the
 * driver lets the last of two equal parameters win.
 */
export function sessionUrl(databaseUrl: string, settings: SessionSettings): string {
  const query = databaseUrl.indexOf('?');
  const given = query < 0 ? null : new URLSearchParams(databaseUrl.slice(query + 1)).get('options');
  const ours = Object.entries(settings.set).map(([name, value]) => `-c ${name}=${value}`);
  const options = [...(given === null ? [] : [given]), ...ours].join(' ');
  const parameters = `options=${encodeURIComponent(options)}&application_name=${encodeURIComponent(settings.applicationName)}`;
  return `${databaseUrl}${query < 0 ? '?' : '&'}${parameters}`;
}
