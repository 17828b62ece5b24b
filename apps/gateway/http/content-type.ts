// The headers for a file of a workspace. Files with scripts that a browser would run in our origin are never shown inline.
import { extname } from 'node:path';

const types: Record<string, string> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.py': 'text/plain',
  '.sh': 'text/plain',
  '.svg': 'image/svg+xml',
  '.ts': 'text/plain',
  '.txt': 'text/plain',
  '.webp': 'image/webp',
  '.xhtml': 'application/xhtml+xml',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
};
const active = new Set(['text/html', 'image/svg+xml', 'application/xhtml+xml', 'application/xml']);

export function fileHeaders(path: string): Record<string, string> {
  const type = types[extname(path).toLowerCase()] ?? 'application/octet-stream';
  const name = path.slice(path.lastIndexOf('/') + 1);
  return {
    'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    ...(active.has(type) ? { 'content-disposition': attachment(name) } : {}),
  };
}

/** RFC 6266, with an ASCII name for old clients. */
export function attachment(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
