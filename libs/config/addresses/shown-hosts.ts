// The address in a setting as a message shows it: host and port, or several of a Redis, without anything that may be a secret.

/** ` at db.internal:5432`, or nothing where the address names no host: a socket, or text that cannot be told from a password. */
export function atHosts(url: string): string {
  const [, authority = '', rest = ''] = /^[a-z+]+:\/\/([^/?#]*)(.*)$/is.exec(url.trim()) ?? [];
  const hosts = authority.slice(authority.lastIndexOf('@') + 1);
  return hosts === '' || rest.includes('@') ? '' : ` at ${hosts}`;
}
