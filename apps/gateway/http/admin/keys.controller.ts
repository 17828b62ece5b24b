// API keys: made, listed, rotated, revoked by an administrator.
import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Post,
  Query,
  Req,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore } from '#libs/access/key-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { requestContext } from '../request-context.js';
import { AdministratorGuard } from './administrator.guard.js';
import { CreateKeyDto, newKeyOf, RotateKeyDto } from './keys.dto.js';
import { showKey } from './shown-key.js';

const defaultPage = 100;
const maxPage = 1_000;
const body = (expectedType: typeof CreateKeyDto | typeof RotateKeyDto) =>
  new ValidationPipe({ expectedType, transform: true, whitelist: true, forbidNonWhitelisted: true });

@Controller('api/keys')
@UseGuards(AdministratorGuard)
export class KeysController {
  constructor(
    private readonly store: KeyStore,
    private readonly ring: KeyRing,
  ) {}

  @Post()
  async create(@Req() request: FastifyRequest, @Body(body(CreateKeyDto)) dto: CreateKeyDto): Promise<JsonObject> {
    const { key, stored } = await this.store.create(newKeyOf(dto), requestContext(request));
    await this.ring.refresh();
    return { ...showKey(stored), key };
  }

  @Get()
  async list(
    @Query('limit') limit?: string,
    @Query('after') after?: string,
  ): Promise<{ data: JsonObject[]; has_more: boolean }> {
    const size = readLimit(limit);
    const found = await this.store.list({
      limit: size + 1,
      ...(after === undefined ? {} : { after: readAfter(after) }),
    });
    return { data: found.slice(0, size).map(showKey), has_more: found.length > size };
  }

  @Post(':id/rotate')
  async rotate(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Body(body(RotateKeyDto)) dto: RotateKeyDto | undefined,
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

function readLimit(limit: unknown): number {
  if (limit === undefined) return defaultPage;
  if (typeof limit === 'string' && /^\d{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= maxPage) {
    return Number(limit);
  }
  throw new AppError('invalid_value', `limit must be 1 to ${maxPage}`, { param: 'limit' });
}

function readAfter(after: unknown): string {
  if (typeof after === 'string') return after;
  throw new AppError('invalid_value', 'after must be the id of a key', { param: 'after' });
}
