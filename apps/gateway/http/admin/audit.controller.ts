// Serves the audit to administrators, in pages or as one download.
import { Readable } from 'node:stream';
import { Controller, Get, Query, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AuditLog, shownAuditEvent } from '#libs/audit/audit-log.js';
import { auditMediaTypes, exportAudit } from '#libs/audit/export-audit.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { attachment } from '../content-type.js';
import { requestContext } from '../request-context.js';
import { AdministratorGuard } from './administrator.guard.js';
import { AuditExportDto, AuditPageDto, defaultAuditPage } from './audit.dto.js';

@Controller('api/audit')
@UseGuards(AdministratorGuard)
export class AuditController {
  constructor(private readonly audit: AuditLog) {}

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
}
