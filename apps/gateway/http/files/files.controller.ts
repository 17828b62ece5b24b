// The API of a session's files, streamed in both directions. PUT creates the session, reading does not. Needs
// `registerFileUploads` on the Fastify instance.
import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { Controller, Delete, Get, Head, Inject, Param, Put, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionStore } from '#libs/runs/sessions/session-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { FileInfo, OpenFile } from '#libs/workspace/open-file.js';
import { tarStream } from '#libs/workspace/tar-stream.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { attachment, fileHeaders } from '../content-type.js';
import { checkPreconditions, checkUnchanged, notModified, readRange, type ByteRange } from './conditions.js';
import { SESSION_STORE } from '../injection-tokens.js';
import { requestContext } from '../request-context.js';
import { checkSessionId, findSession } from '../controllers/sessions.controller.js';

const maxListed = 10_000;
const uploadIdleMs = 60_000;

@Controller('api/sessions/:id/files')
export class FilesController {
  constructor(
    @Inject(SESSION_STORE) private readonly sessions: SessionStore,
    private readonly workspaces: Workspaces,
  ) {}

  @Get()
  async list(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
    @Query('archive') archive?: string,
  ): Promise<void> {
    const { principal, signal } = requestContext(request);
    const workspace = this.workspaces.workspace(await findSession(this.sessions, principal, id));
    if (archive !== undefined) return this.archive(workspace, { id, archive }, request, reply);
    const { entries, truncated } = await workspace.list('.', { recursive: true, limit: maxListed, signal });
    await reply.send({ session_id: id, files: entries.map(showEntry), truncated });
  }

  // Registered before GET, which would answer HEAD by opening a stream.
  @Head('*')
  async head(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    await this.read(request, reply, id);
  }

  @Get('*')
  async get(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    await this.read(request, reply, id);
  }

  @Put('*')
  async put(@Req() request: FastifyRequest, @Res() reply: FastifyReply, @Param('id') id: string): Promise<void> {
    const { principal, signal } = requestContext(request);
    const path = pathOf(request);
    const session = await this.sessions.ensure(principal, checkSessionId(id));
    const expected = (current: FileInfo | undefined) => checkPreconditions(request.headers, current);
    const length = Number(request.headers['content-length'] ?? Number.NaN);
    const written = await inWorkspace(
      this.workspaces.workspace(session).write(path, upload(request.raw, signal), {
        createDirectories: true,
        expected,
        signal,
        ...(Number.isSafeInteger(length) ? { sizeHint: length } : {}),
      }),
    );
    const { size, etag } = written.info;
    await reply
      .status(written.created ? 201 : 200)
      .header('etag', etag)
      .send({ path, size, etag, created: written.created });
  }

  @Delete('*')
  async delete(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
    @Query('recursive') recursive?: string,
  ): Promise<void> {
    const { principal, signal } = requestContext(request);
    const workspace = this.workspaces.workspace(await findSession(this.sessions, principal, id));
    const expected = (current: FileInfo | undefined) => checkPreconditions(request.headers, current);
    await inWorkspace(workspace.remove(pathOf(request), { recursive: recursive === 'true', expected, signal }));
    await reply.status(204).send();
  }

  private async read(request: FastifyRequest, reply: FastifyReply, id: string): Promise<void> {
    const { principal, signal } = requestContext(request);
    const path = pathOf(request);
    const workspace = this.workspaces.workspace(await findSession(this.sessions, principal, id));
    const file = await inWorkspace(workspace.openFile(path));
    let streaming = false;
    try {
      const { size, etag, modifiedAt } = file.info;
      reply.headers({
        etag,
        'last-modified': modifiedAt.toUTCString(),
        'accept-ranges': 'bytes',
        ...fileHeaders(path),
      });
      checkUnchanged(request.headers, file.info);
      if (notModified(request.headers, file.info)) return void (await reply.status(304).send());
      // RFC 9110 defines ranges only for GET.
      const range = request.method === 'HEAD' ? undefined : rangeOf(request, reply, file.info);
      const { start, end } = range ?? { start: 0, end: size };
      if (range !== undefined) reply.status(206).header('content-range', `bytes ${start}-${end - 1}/${size}`);
      reply.header('content-length', String(end - start));
      if (request.method === 'HEAD') return void (await reply.send());
      streaming = true;
      await reply.send(fileStream(file, { start, end }, signal));
    } finally {
      if (!streaming) await file.close();
    }
  }

  private async archive(
    workspace: Workspace,
    { id, archive }: { id: string; archive: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    if (archive !== 'tar') throw new AppError('invalid_value', "archive must be 'tar'", { param: 'archive' });
    const { signal } = requestContext(request);
    await workspace.ensure();
    // Checked first, because a stream that has started cannot return an error.
    await workspace.checkDepth(signal);
    const directory = await workspace.openDirectory('.');
    const stream = streamOf(tarStream(directory, { maxDepth: workspace.limits.maxDepth, signal }), () =>
      directory.close(),
    );
    await reply
      .header('content-type', 'application/x-tar')
      .header('content-disposition', attachment(`${id}.tar`))
      .send(stream);
  }
}

function pathOf(request: FastifyRequest): string {
  const path = (request.params as Record<string, string | undefined>)['*'] ?? '';
  if (path.startsWith('/')) throw new AppError('invalid_value', 'The path must be relative', { param: 'path' });
  return path;
}

/** Translates the error for paths outside the workspace, whose code is for tools. */
async function inWorkspace<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'path_outside_workspace') throw error;
    throw new AppError('invalid_value', error.message, { param: 'path' });
  }
}

function rangeOf(request: FastifyRequest, reply: FastifyReply, file: FileInfo): ByteRange | undefined {
  try {
    return readRange(request.headers, file);
  } catch (error) {
    reply.header('content-range', `bytes */${file.size}`);
    throw error;
  }
}

const fileStream = (file: OpenFile, range: ByteRange, signal: AbortSignal): Readable =>
  streamOf(file.read(range, signal), () => file.close());

/** `close` runs once, however the stream ends, even if it was never read. */
function streamOf(chunks: AsyncIterable<Buffer>, close: () => Promise<void>): Readable {
  const stream = Readable.from(chunks, { objectMode: false, highWaterMark: 256 * 1024 });
  stream.once('close', () => void close().catch(() => undefined));
  return stream;
}

/** Does not close the request if the writer stops, because the error must still reach the client. */
async function* upload(request: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  const idle = () => request.destroy(new AppError('cancelled', 'The upload has stopped'));
  request.setTimeout(uploadIdleMs, idle);
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      signal.throwIfAborted();
      yield chunk as Buffer;
    }
  } catch (error) {
    // Node's own error would count as an internal error.
    throw error instanceof AppError ? error : new AppError('cancelled', 'The client has gone', { cause: error });
  } finally {
    request.setTimeout(0);
    request.off('timeout', idle);
  }
}

const showEntry = (entry: FileInfo & { path: string }) => ({
  path: entry.path,
  type: entry.type,
  size: entry.type === 'file' ? entry.size : 0,
  modified_at: entry.modifiedAt.toISOString(),
  ...(entry.type === 'file' ? { etag: entry.etag } : {}),
});
