// What a file with an OpenAPI document holds, and a hash to tell whether it has changed. Does not say whether it is a document.
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

export const maxDocumentBytes = 16 * 1024 * 1024;

/** Its bytes, or what is wrong with the file, in words that follow its name. Does not wait at a pipe. */
export function readDocumentFile(file: string): Buffer | string {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) return 'is not a file';
    if (stat.size > maxDocumentBytes) return `is larger than ${maxDocumentBytes} bytes`;
    return readFileSync(descriptor);
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unreadable'}`;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Another one when what can be read of the file has changed, or it has become readable. */
export function documentHash(file: string): string {
  const read = readDocumentFile(file);
  return typeof read === 'string' ? read : createHash('sha256').update(read).digest('hex');
}
