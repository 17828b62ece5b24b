// The API of sessions. Sessions of other principals count as not found.
import { Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Session, SessionStore } from '#libs/runs/sessions/session-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { mintSessionId, sessionIdPattern } from '#libs/schemas/identifiers.js';
import { shownWorkspacePath } from '#libs/workspace/workspace-path.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { requireObject, validated } from '../../chat-apis/invalid-value.js';
import { isAdministrator } from '../admin/administrator.guard.js';
import { SESSION_STORE } from '../injection-tokens.js';
import type { session as sessionShape, Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { readPageLimit } from './page-limit.js';

const maxPage = 100;
const maxMetadataBytes = 16 * 1024;

export const createSessionSchema = z.object({
  session_id: z.string().regex(sessionIdPattern, 'must be 1 to 128 letters, digits, _ or -').nullish(),
  // The same object: a copy would lose members with special names.
  metadata: z
    .custom<JsonObject>(isJsonObject, 'must be an object')
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, {
      error: `may have at most ${maxMetadataBytes} bytes`,
    })
    .meta({ type: 'object' })
    .nullish(),
});

type ShownSession = Shown<typeof sessionShape>;

@Controller('api/sessions')
export class SessionsController {
  constructor(
    @Inject(SESSION_STORE) private readonly sessions: SessionStore,
    private readonly workspaces: Workspaces,
  ) {}

  /** Answers 201 for a new session, 200 for an existing one, whose expiry is renewed. */
  @Post()
  async create(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<ShownSession> {
    const { principal, signal } = requestContext(request);
    const body = validated(createSessionSchema, request.body == null ? {} : requireObject(request.body));
    const id = body.session_id ?? mintSessionId();
    const known = await this.sessions.get(principal, id);
    const session = await this.sessions.ensure(principal, id, { metadata: body.metadata ?? undefined });
    void reply.status(known === undefined ? 201 : 200);
    return this.show(session, signal);
  }

  @Get()
  async list(
    @Req() request: FastifyRequest,
    @Query() query: Record<string, unknown>,
  ): Promise<{ sessions: ShownSession[]; has_more: boolean; next_cursor: string | null }> {
    const { signal } = requestContext(request);
    const { limit, after, principal, cursor } = query;
    const size = readPageLimit(limit, maxPage);
    const from = cursor === undefined ? { principal: undefined, id: after } : readSessionCursor(cursor);
    const id = from.id === undefined ? undefined : checkSessionId(from.id, 'after');
    const found = await this.found(request, principal, { limit: size + 1, principal: from.principal, id });
    const sessions: ShownSession[] = [];
    for (const session of found.slice(0, size)) sessions.push(await this.show(session, signal));
    const last = found.length > size ? sessions.at(-1) : undefined;
    return {
      sessions,
      has_more: last !== undefined,
      next_cursor: last === undefined ? null : writeSessionCursor(last),
    };
  }

  /** Those of others only for administrators: to anybody else they do not exist. */
  private found(
    request: FastifyRequest,
    asked: unknown,
    after: { limit: number; principal: string | undefined; id: string | undefined },
  ): Promise<Session[]> {
    const { principal: own } = requestContext(request);
    const { limit, principal, id } = after;
    const owner = asked === undefined ? own : String(asked);
    if (owner !== own && !isAdministrator(request)) return Promise.resolve([]);
    if (owner !== '*') return this.sessions.list(owner, { limit, ...(id === undefined ? {} : { after: id }) });
    const page = principal === undefined || id === undefined ? {} : { after: { principal, id } };
    return this.sessions.listAll({ limit, ...page });
  }

  @Get(':id')
  async get(@Req() request: FastifyRequest, @Param('id') id: string): Promise<ShownSession> {
    const { principal, signal } = requestContext(request);
    return this.show(await findSession(this.sessions, principal, id), signal);
  }

  @Delete(':id')
  @HttpCode(204)
  async delete(@Req() request: FastifyRequest, @Param('id') id: string): Promise<void> {
    const { principal } = requestContext(request);
    const session = await this.sessions.delete(principal, checkSessionId(id));
    if (session === undefined) throw sessionNotFound(id);
    // Without a signal: the removal completes even if the caller disconnects.
    await this.workspaces.remove(session.directory);
  }

  private async show(session: Session, signal: AbortSignal): Promise<ShownSession> {
    const { bytes, files } = await this.workspaces.workspace(session).usage({ signal });
    const { maxBytes, maxFiles, maxDepth } = this.workspaces.limits;
    return {
      id: session.id,
      object: 'session',
      principal: session.principal,
      created_at: session.createdAt.toISOString(),
      expires_at: session.expiresAt.toISOString(),
      workspace_path: shownWorkspacePath(session.id),
      metadata: session.metadata,
      usage: { bytes, files },
      limits: { bytes: maxBytes, files: maxFiles, depth: maxDepth },
    };
  }
}

const writeSessionCursor = ({ principal, id }: Pick<Session, 'principal' | 'id'>): string =>
  Buffer.from(`${id} ${principal}`).toString('base64url');

/** @throws AppError invalid_value */
function readSessionCursor(cursor: unknown): { principal: string; id: string } {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : '';
  const [, id, principal] = /^([A-Za-z0-9_-]{1,128}) (.*)$/s.exec(text) ?? [];
  if (id !== undefined && principal !== undefined) return { principal, id };
  throw new AppError('invalid_value', 'cursor must be the next_cursor of a page', { param: 'cursor' });
}

const sessionNotFound = (id: string) => new AppError('session_not_found', `Session '${id}' not found`);

/** @throws AppError invalid_value */
export function checkSessionId(id: unknown, param = 'session_id'): string {
  if (typeof id === 'string' && sessionIdPattern.test(id)) return id;
  throw new AppError('invalid_value', `${param} must be 1 to 128 letters, digits, _ or -`, { param });
}

/** @throws AppError session_not_found, invalid_value */
export async function findSession(sessions: SessionStore, principal: string, id: string): Promise<Session> {
  const session = await sessions.get(principal, checkSessionId(id));
  if (session === undefined) throw sessionNotFound(id);
  return session;
}
