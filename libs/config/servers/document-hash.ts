// What a file with an OpenAPI document holds, to tell whether it has changed. Does not say whether it is a document.
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

export const maxDocumentBytes = 16 * 1024 * 1024;

/** Another one when the file has changed, or has become readable. Does not wait at a pipe. */
export function documentHash(file: string): string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isFile() || stat.size > maxDocumentBytes) return `no document of ${stat.size} bytes`;
    return createHash('sha256').update(readFileSync(descriptor)).digest('hex');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
