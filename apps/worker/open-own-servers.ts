// Creates in-process MCP servers from the decorated classes of Nest modules. Refuses the names of builtin servers.
import { Module, type Type } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, NestFactory } from '@nestjs/core';
import { NestLog } from '#libs/logging/nest-log.js';
import { discoverMcpServers } from '#libs/mcp-server/create-mcp-server.js';
import type { ToolServer, ToolServerOptions } from '#libs/mcp-server/tool-server.js';

export interface OwnServers {
  servers: ToolServer[];
  /** Closes the servers, then the modules. */
  close(): Promise<void>;
}

@Module({})
class Found {}

/** @throws Error for duplicate names of servers or tools, and whatever a provider's constructor throws */
export async function openOwnServers(
  modules: readonly Type[],
  reserved: readonly string[],
  options: ToolServerOptions,
): Promise<OwnServers> {
  const context = await NestFactory.createApplicationContext(
    { module: Found, imports: [DiscoveryModule, ...modules] },
    { logger: new NestLog(options.logger), abortOnError: false },
  );
  try {
    const servers = discoverMcpServers(context.get(DiscoveryService, { strict: false }), options);
    const taken = servers.find(({ name }) => reserved.includes(name));
    if (taken !== undefined) throw new Error(`'${taken.name}' is the name of a builtin MCP server`);
    return {
      servers,
      close: async () => {
        await Promise.allSettled(servers.map((server) => server.close()));
        await context.close();
      },
    };
  } catch (error) {
    await context.close();
    throw error;
  }
}
