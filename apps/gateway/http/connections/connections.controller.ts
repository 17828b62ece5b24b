// The caller's connections to tool servers: which there are, how one is made, and how it ends.
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ConnectionsInForce } from '../../connections/open-connections.js';
import type { Connections, ListedConnection } from '../../connections/user-connections.js';
import { CONFIG, CONNECTION_PORTS } from '../injection-tokens.js';
import type { begunSignIn, connection as connectionShape } from './connection-operations.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';
import { ConnectDto } from './connections.dto.js';
import { FlowCookies } from './flow-cookies.js';
import { readReturnTo } from './return-address.js';

type ShownConnection = Shown<typeof connectionShape>;
type BegunSignIn = Shown<typeof begunSignIn>;

@Controller('api/connections')
export class ConnectionsController {
  private readonly publicUrl: string;

  constructor(
    @Inject(CONNECTION_PORTS) private readonly ports: { connections: ConnectionsInForce },
    @Inject(CONFIG) private readonly config: Pick<Config, 'server'>,
  ) {
    this.publicUrl = publicAddress(config.server);
  }

  @Get()
  async list(@Req() request: FastifyRequest): Promise<{ data: ShownConnection[] }> {
    const found = await this.ports.connections.current?.list(requestContext(request));
    return { data: (found ?? []).map(shown) };
  }

  @Post(':server')
  @HttpCode(200)
  async connect(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('server') server: string,
    @Body() body?: ConnectDto,
  ): Promise<BegunSignIn | ShownConnection> {
    const connections = this.opened();
    const context = requestContext(request);
    if (body?.headers != null) {
      // Read from the raw body: the validated copy lacks members with special names.
      const { headers } = request.body as { headers: Record<string, unknown> };
      return shown(await connections.connectHeaders(context, server, headers));
    }
    const places = { publicUrl: this.publicUrl, origins: this.config.server.allowed_origins };
    const returnTo = readReturnTo(body?.return_to, places);
    const { flowId, address, expiresAt } = await connections.begin(context, server, returnTo);
    // The console's own request: the browser in which the address is opened next is that of the caller.
    if (request.headers['sec-fetch-site'] === 'same-origin') {
      reply.header('set-cookie', new FlowCookies(connections.vault, this.publicUrl).of(flowId));
    }
    return { authorization_url: address, expires_at: expiresAt.toISOString() };
  }

  @Delete(':server')
  @HttpCode(204)
  async disconnect(@Req() request: FastifyRequest, @Param('server') server: string): Promise<void> {
    const connections = (await this.ports.connections.open()) ?? this.opened();
    await connections.disconnect(requestContext(request), server);
  }

  private opened(): Connections {
    const { current } = this.ports.connections;
    if (current !== undefined) return current;
    throw new AppError('not_found', 'There is no tool server that users connect to');
  }
}

function shown({ server: { name, auth }, ...found }: ListedConnection): ShownConnection {
  const { state, scopes, wantedScopes, account, connectedAt, expiresAt } = found;
  return {
    server: name,
    kind: auth.kind,
    state,
    scopes: [...scopes],
    connected_at: connectedAt?.toISOString() ?? null,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt.toISOString() }),
    ...(account === undefined ? {} : { account }),
    ...(wantedScopes.length === 0 ? {} : { wanted_scopes: [...wantedScopes] }),
    ...(auth.names === undefined ? {} : { names: [...auth.names] }),
  };
}
