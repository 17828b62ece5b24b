// Tools of one's own inside the worker (docs/own-tools.md): a provider here whose class carries @McpServer is found at
// start, and its tools stand in the catalog. It is empty as delivered.
import { Module } from '@nestjs/common';

@Module({ providers: [] })
export class OwnToolsModule {}
