// For your own tools inside the worker (docs/own-tools.md): the tools of every provider here with @McpServer are added to
// the catalog. Empty by default.
import { Module } from '@nestjs/common';

@Module({ providers: [] })
export class OwnToolsModule {}
