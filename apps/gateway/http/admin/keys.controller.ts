// Administrators create, list, rotate and revoke API keys.
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, Req, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore, type StoredKey } from '#libs/access/key-store.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { UsageStore } from '#libs/usage/usage-store.js';
import { validated } from '../../chat-apis/invalid-value.js';
import { CONFIG } from '../injection-tokens.js';
import { requestContext } from '../request-context.js';
import { AdministratorGuard } from './administrator.guard.js';
import { CreateKeyDto, newKeyOf, RotateKeyDto } from './keys.dto.js';
import { keyFilterOf, keysQuerySchema } from './list-queries.js';
import { readPageLimit } from '../controllers/page-limit.js';
import { type BudgetUses, budgetUses, showKey } from './shown-key.js';

const defaultPage = 100;
const maxPage = 1_000;

/** With the members of `showKey`. */
interface ShownListedKey {
  spending: BudgetUses;
}

@Controller('api/keys')
@UseGuards(AdministratorGuard)
export class KeysController {
  constructor(
    private readonly store: KeyStore,
    private readonly ring: KeyRing,
    private readonly usage: UsageStore,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Post()
  async create(@Req() request: FastifyRequest, @Body() dto: CreateKeyDto): Promise<JsonObject> {
    const { key, stored } = await this.store.create(newKeyOf(dto), requestContext(request));
    await this.ring.changed();
    return { ...showKey(stored), key };
  }

  @Get()
  async list(@Query() query: Record<string, unknown>): Promise<{ data: ShownListedKey[]; has_more: boolean }> {
    const asked = validated(keysQuerySchema, query);
    const size = readPageLimit(asked.limit, maxPage, defaultPage);
    await this.ring.noteUses();
    const found = await this.store.list({ ...keyFilterOf(asked), limit: size + 1, after: asked.after });
    return { data: await this.withSpending(found.slice(0, size)), has_more: found.length > size };
  }

  @Get(':id')
  async get(@Param('id') id: string): Promise<ShownListedKey> {
    await this.ring.noteUses();
    const [shown] = await this.withSpending(await this.store.list({ id, limit: 1 }));
    if (shown === undefined) throw new AppError('not_found', 'There is no key with this id');
    return shown;
  }

  @Post(':id/rotate')
  async rotate(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Body() dto?: RotateKeyDto,
  ): Promise<JsonObject> {
    const { key, stored } = await this.store.rotate(id, dto?.grace_s ?? 0, requestContext(request));
    await this.ring.changed();
    return { ...showKey(stored), key };
  }

  @Delete(':id')
  @HttpCode(200)
  async revoke(@Req() request: FastifyRequest, @Param('id') id: string): Promise<JsonObject> {
    const stored = await this.store.revoke(id, requestContext(request));
    await this.ring.changed();
    return showKey(stored);
  }

  private async withSpending(keys: readonly StoredKey[]): Promise<ShownListedKey[]> {
    if (keys.length === 0) return [];
    const spent = await this.usage.spent(keys.map(({ id, owner }) => ({ keyId: id, principal: owner })));
    const { day_usd, month_usd } = this.config.budgets;
    return keys.map((key, index) => {
      const limits = { day: key.budgets.day_usd ?? day_usd, month: key.budgets.month_usd ?? month_usd };
      return { ...showKey(key), spending: budgetUses(spent[index]!, limits) };
    });
  }
}
