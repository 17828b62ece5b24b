// Says who asks, what they may do, and how one can sign in: what a page needs before anything else.
import { Controller, Get, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore } from '#libs/access/key-store.js';
import type { Config } from '#libs/config/schema.js';
import { scopes } from '#libs/schemas/call-context.js';
import { isAdministrator } from '../admin/administrator.guard.js';
import { CONFIG } from '../injection-tokens.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { me as meShape } from '../openapi/overview-shapes.js';
import { requestContext } from '../request-context.js';

type Me = Shown<typeof meShape>;

@Controller('api/me')
export class MeController {
  constructor(
    private readonly ring: KeyRing,
    private readonly keys: KeyStore,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  @Get()
  async me(@Req() request: FastifyRequest): Promise<Me> {
    return { ...(await this.caller(request)), sign_in: this.signIn() };
  }

  private async caller(request: FastifyRequest): Promise<Omit<Me, 'sign_in'>> {
    const { principal, keyId, access } = requestContext(request);
    if (!this.ring.required) {
      const allowed = scopes.filter((scope) => scope !== 'admin' || isAdministrator(request));
      return { signed_in: 'open', principal, key: null, scopes: allowed };
    }
    if (access === undefined) return { signed_in: null, principal: null, key: null, scopes: [] };
    const key = keyId === undefined ? null : { id: keyId, name: (await this.keys.nameOf(keyId)) ?? null };
    return { signed_in: key === null ? 'jwt' : 'key', principal, key, scopes: [...access.scopes] };
  }

  private signIn(): Me['sign_in'] {
    const { jwt } = this.config.auth;
    const open = !this.ring.required;
    const client = jwt?.console_client_id;
    const oidc = jwt === undefined || client === undefined ? {} : { oidc: { issuer: jwt.issuer, client_id: client } };
    return { open, keys: !open, ...oidc };
  }
}
