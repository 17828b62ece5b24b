// Outcomes that the store could not accept: one fsynced file each, loaded once the store is back. Bounded in bytes; an
// outcome that does not fit is refused, never half written. Workers may share the directory: each counts and loads all files.
import { mkdir, open, readdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Logger } from '#libs/logging/logger.js';
import type { CallEnd } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { parseJson } from '#libs/schemas/json.js';
import { toolOutcomeSchema } from '#libs/schemas/tool-outcome.js';

const endSchema = z.object({
  callId: z.string(),
  fence: z.string().optional(),
  worker: z.string().optional(),
  outcome: toolOutcomeSchema,
  requestId: z.string(),
  traceparent: z.string().optional(),
  keyId: z.string().optional(),
  ip: z.string().optional(),
  model: z.string().optional(),
});

/** The size of an ordinary outcome. */
const probeBytes = 64 * 1024;
const fileName = /^[A-Za-z0-9_-]+\.json$/;

export class OutcomeSpool {
  /** Bytes by call. */
  private readonly spooled = new Map<string, number>();
  private bytes = 0;
  /** The last outcome could not be written: the disk is full or unavailable. */
  private broken = false;

  constructor(
    private readonly directory: string,
    private readonly maxBytes: number,
    private readonly logger: Logger,
  ) {}

  /** Counts the files of earlier processes. */
  async open(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 });
    await this.look();
  }

  /** All files in the directory; those of other workers are counted at the next `load`. */
  get rows(): number {
    return this.spooled.size;
  }

  /** The call has ended, here or in a worker that shares the spool, and the outcome will be written to the store. */
  has(callId: string): boolean {
    return this.spooled.has(callId);
  }

  /** Whether an outcome of this many bytes fits, as far as is known without writing it. */
  hasRoom(bytes: number): boolean {
    return !this.broken && this.bytes + bytes <= this.maxBytes;
  }

  /** Resolves when the outcome is on disk. @throws AppError store_unavailable if the spool or the disk is full. */
  async add(end: CallEnd): Promise<void> {
    const text = JSON.stringify({ ...end, outcomeText: undefined });
    const bytes = Buffer.byteLength(text);
    if (this.bytes + bytes > this.maxBytes) throw new AppError('store_unavailable', 'The outcome spool is full');
    this.bytes += bytes;
    const path = join(this.directory, `${end.callId}.json`);
    try {
      const file = await open(`${path}.part`, 'w', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.part`, path);
      const directory = await open(this.directory, 'r');
      try {
        await directory.sync();
      } finally {
        await directory.close();
      }
    } catch (error) {
      this.bytes -= bytes;
      this.broken = true;
      await unlink(`${path}.part`).catch(() => undefined);
      throw new AppError('store_unavailable', 'The outcome spool cannot be written', { cause: error });
    }
    this.broken = false;
    this.bytes -= bytes;
    this.count(end.callId, bytes);
  }

  /** Passes each outcome to `write` until it throws; removes those that were written. */
  async load(write: (end: CallEnd) => Promise<boolean>): Promise<void> {
    for (const name of await this.look()) {
      const path = join(this.directory, name);
      const text = await readFile(path, 'utf8').catch(unlessGone);
      if (text === undefined) continue;
      const end = readEnd(text);
      if (end === undefined) this.logger.error({ metadata: { file: name } }, 'a spooled outcome cannot be read');
      else {
        // False if the call had ended in another way. Either way the outcome is settled.
        const written = await write(end);
        this.logger.info({ metadata: { callId: end.callId, written } }, 'a spooled outcome was loaded');
      }
      await (end === undefined ? rename(path, `${path}.unreadable`) : unlink(path)).catch(unlessGone);
      this.forget(callIdOf(name));
    }
  }

  /** Tries the disk again after a failure. */
  async recover(): Promise<void> {
    if (!this.broken) return;
    const path = join(this.directory, 'probe.part');
    try {
      await writeFile(path, 'x'.repeat(probeBytes));
      this.broken = false;
    } catch (error) {
      this.logger.debug({ error }, 'the outcome spool cannot be written yet');
    } finally {
      await unlink(path).catch(() => undefined);
    }
  }

  private count(callId: string, bytes: number): void {
    this.forget(callId);
    this.spooled.set(callId, bytes);
    this.bytes += bytes;
  }

  private forget(callId: string): void {
    this.bytes -= this.spooled.get(callId) ?? 0;
    this.spooled.delete(callId);
  }

  /** Counts the files again, since other workers add files, and remove those that they have loaded. */
  private async look(): Promise<string[]> {
    // Read the known files before listing, which may miss files that are added meanwhile.
    const known = [...this.spooled.keys()];
    const names = (await readdir(this.directory)).filter((name) => fileName.test(name)).sort();
    const there = new Set(names.map(callIdOf));
    for (const callId of known) if (!there.has(callId)) this.forget(callId);
    for (const name of names) {
      if (this.spooled.has(callIdOf(name))) continue;
      const found = await stat(join(this.directory, name)).catch(unlessGone);
      if (found !== undefined) this.count(callIdOf(name), found.size);
    }
    return names;
  }
}

const callIdOf = (name: string): string => name.slice(0, -'.json'.length);

function unlessGone(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

const readEnd = (text: string): CallEnd | undefined => endSchema.safeParse(parseJson(text)).data;
