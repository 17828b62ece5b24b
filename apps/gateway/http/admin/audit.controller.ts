// Serves the audit to administrators: in pages, as one download, row by row with its proof, and verified.
import { Readable } from 'node:stream';
import { Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuditLog, shownAuditEvent } from '#libs/audit/audit-log.js';
import type { AuditKeeper } from '#libs/audit/chain/audit-keeper.js';
import { readPublicKey } from '#libs/audit/chain/checkpoint.js';
import { proveRow } from '#libs/audit/proof/prove-row.js';
import { auditMediaTypes, exportAudit } from '#libs/audit/export-audit.js';
import type { Config } from '#libs/config/schema.js';
import type { Database } from '#libs/postgres/open-database.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { requireObject, validated } from '../../chat-apis/invalid-value.js';
import { attachment } from '../content-type.js';
import { AUDIT_PORTS, CONFIG, ERROR_OBSERVER } from '../injection-tokens.js';
import { requestContext } from '../request-context.js';
import { AdministratorGuard } from './administrator.guard.js';
import { AuditExportDto, AuditPageDto, defaultAuditPage, verifyAuditSchema } from './audit.dto.js';
import { streamVerification } from './stream-verification.js';

export interface AuditPorts {
  database: Database;
  /** Absent where no audit is written. */
  auditKeeper: AuditKeeper | undefined;
}

@Controller('api/audit')
@UseGuards(AdministratorGuard)
export class AuditController {
  private isVerifying = false;

  constructor(
    private readonly audit: AuditLog,
    @Inject(AUDIT_PORTS) private readonly ports: AuditPorts,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(ERROR_OBSERVER) private readonly observeError: (error: AppError, requestId: string) => void,
  ) {}

  @Get()
  async page(
    @Query() { limit, cursor, ...filter }: AuditPageDto,
  ): Promise<{ data: JsonObject[]; next_cursor: string | null }> {
    const page = await this.audit.page(filter, limit ?? defaultAuditPage, cursor);
    return { data: page.rows.map(shownAuditEvent), next_cursor: page.cursor ?? null };
  }

  /** A failure on the way breaks the connection, so that an incomplete export does not look complete. */
  @Get('export')
  async export(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Query() { format = 'ndjson', ...filter }: AuditExportDto,
  ): Promise<void> {
    const { signal } = requestContext(request);
    const text = exportAudit(this.audit.all(filter, signal), format);
    // Read the first part before the headers go out: a store that is away still gets an error status.
    const first = await text.next();
    const parts = async function* () {
      if (first.done !== true) yield first.value;
      yield* text;
    };
    reply.header('content-type', auditMediaTypes[format]);
    reply.header('content-disposition', attachment(`audit.${format}`));
    await reply.send(Readable.from(parts(), { objectMode: true, highWaterMark: 1, signal }));
  }

  /** Ends when the client disconnects. */
  @Post('verify')
  @HttpCode(200)
  async verify(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { since } = validated(verifyAuditSchema, requireObject(request.body ?? {}));
    if (this.isVerifying) {
      throw new AppError('concurrency_exceeded', 'The audit is being verified already', { retryAfterSeconds: 5 });
    }
    const { requestId, signal } = requestContext(request);
    const key = this.publicKey();
    this.isVerifying = true;
    try {
      await streamVerification(reply, this.ports.database, {
        ...(since === undefined ? {} : { since: new Date(since) }),
        publicKeys: key === undefined ? [] : [key],
        signal,
        requestId,
        keepAliveMs: this.config.server.keep_alive_ms,
        onError: this.observeError,
      });
    } finally {
      this.isVerifying = false;
    }
  }

  @Get(':id')
  async row(@Param('id') id: string): Promise<JsonObject> {
    return shownAuditEvent(await this.audit.row(id));
  }

  @Get(':id/proof')
  async proof(@Param('id') id: string, @Res() reply: FastifyReply): Promise<void> {
    const { database, auditKeeper } = this.ports;
    const checkpoint = auditKeeper === undefined ? undefined : () => auditKeeper.checkpoint();
    const proof = await proveRow(database, id, { publicKey: this.publicKey(), checkpoint });
    reply.header('content-disposition', attachment(`audit-${id}.json`));
    await reply.type('application/json').send(JSON.stringify(proof, null, 1));
  }

  private publicKey() {
    const { signing_key: key } = this.config.audit;
    return key === undefined ? undefined : readPublicKey(key);
  }
}
