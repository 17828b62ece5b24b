// Administrators create, list, rotate and revoke API keys.
import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore } from '#libs/access/key-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { requestContext } from '../request-context.js';
import { AdministratorGuard } from './administrator.guard.js';
import { CreateKeyDto, newKeyOf, RotateKeyDto } from './keys.dto.js';
import { readPageAfter, readPageLimit } from '../controllers/page-limit.js';
import { showKey } from './shown-key.js';

const defaultPage = 100;
const maxPage = 1_000;

@Controller('api/keys')
@UseGuards(AdministratorGuard)
export class KeysController {
  constructor(
    private readonly store: KeyStore,
    private readonly ring: KeyRing,
  ) {}

  @Post()
  async create(@Req() request: FastifyRequest, @Body() dto: CreateKeyDto): Promise<JsonObject> {
    const { key, stored } = await this.store.create(newKeyOf(dto), requestContext(request));
    await this.ring.refresh();
    return { ...showKey(stored), key };
  }

  @Get()
  async list(
    @Query('limit') limit?: string,
    @Query('after') after?: string,
  ): Promise<{ data: JsonObject[]; has_more: boolean }> {
    const size = readPageLimit(limit, maxPage, defaultPage);
    const found = await this.store.list({ limit: size + 1, after: readPageAfter(after) });
    return { data: found.slice(0, size).map(showKey), has_more: found.length > size };
  }

  @Post(':id/rotate')
  async rotate(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Body() dto?: RotateKeyDto,
  ): Promise<JsonObject> {
    const { key, stored } = await this.store.rotate(id, dto?.grace_s ?? 0, requestContext(request));
    await this.ring.refresh();
    return { ...showKey(stored), key };
  }

  @Delete(':id')
  @HttpCode(200)
  async revoke(@Req() request: FastifyRequest, @Param('id') id: string): Promise<JsonObject> {
    const stored = await this.store.revoke(id, requestContext(request));
    await this.ring.refresh();
    return showKey(stored);
  }
}
