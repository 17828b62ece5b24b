// The text of a file or of an https address, with bounds. An address is guarded as those of the tool `fetch` are, so that a pasted
// one reaches nothing of this network; http is for this machine only.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AddressGuard, hostOf } from '#libs/http-client/address-guard.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import { NotImportable, shown } from './imported-server.js';

const maxBytes = 1024 * 1024;
const fetchMs = 15_000;

export interface ImportSource {
  text: string;
  readBeside(path: string): string;
}

const isAddress = (from: string) => /^https?:\/\//i.test(from);

/** @param allow private hosts and networks that may be asked. @throws NotImportable */
export async function readSource(from: string, allow: readonly string[], signal: AbortSignal): Promise<ImportSource> {
  if (isAddress(from)) {
    const readBeside = () => {
      throw new NotImportable('it names an envFile, which is not read from an address');
    };
    return { text: await download(from, allow, signal), readBeside };
  }
  const path = resolve(from);
  const beside = (named: string) => {
    const words = named.replaceAll(/\$\{workspaceFolder\}\/?/g, '');
    return readBounded(isAbsolute(words) ? words : resolve(dirname(path), words));
  };
  return { text: readBounded(path), readBeside: beside };
}

/** Does not wait at a pipe or a device. */
function readBounded(path: string): string {
  const name = shown(path);
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new NotImportable(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unreadable'}`);
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new NotImportable(`${name} is not a file`);
    if (stat.size > maxBytes) throw new NotImportable(`${name} is larger than ${maxBytes} bytes`);
    return textOf(readFileSync(file));
  } finally {
    closeSync(file);
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new NotImportable('it is not text in UTF-8');
  }
}

async function download(address: string, allow: readonly string[], signal: AbortSignal): Promise<string> {
  if (!URL.canParse(address)) throw new NotImportable(`${shown(address)} is not a URL`);
  const url = new URL(address);
  const host = hostOf(url);
  const isHere = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
  if (url.protocol !== 'https:' && !isHere) throw new NotImportable('only https addresses are read');
  if (url.username !== '' || url.password !== '') throw new NotImportable('an address with a password is not read');
  const toError = ({ what }: { what: string }) => new NotImportable(`${host} ${what}`);
  let client: HttpClient | undefined;
  try {
    client = new HttpClient({
      baseUrl: url.origin,
      headers: { 'user-agent': 'signalbox', accept: 'application/json', 'accept-encoding': 'identity' },
      timeoutMs: { connect: 0, first_byte: Infinity, idle: Infinity },
      keepAliveMs: 1_000,
      maxExchanges: 1,
      maxBytes,
      opensAt: 'headers',
      guard: new AddressGuard(isHere ? [host, '127.0.0.0/8', '::1/128', ...allow] : allow),
      toError,
    });
    const request = { method: 'GET', path: url.pathname + url.search };
    const answer = await client.open(request, { signal, deadline: steadyNow() + fetchMs });
    if (answer.status !== 200) {
      const isElsewhere = answer.status >= 300 && answer.status < 400;
      const hint = isElsewhere ? ', which leads elsewhere: give the address that it leads to' : '';
      throw new NotImportable(`${host} answered with status ${answer.status}${hint}`);
    }
    const parts: Uint8Array[] = [];
    await answer.read((bytes) => void parts.push(bytes));
    return textOf(Buffer.concat(parts));
  } catch (error) {
    // The guard's own error is a sentence too.
    throw error instanceof NotImportable ? error : new NotImportable((error as Error).message);
  } finally {
    await client?.close().catch(() => undefined);
  }
}
