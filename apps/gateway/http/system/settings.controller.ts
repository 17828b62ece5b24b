// The settings in force, versions and health, for administrators.
import { readFileSync } from 'node:fs';
import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { firstStateless } from '#libs/mcp-server/endpoint/eras.js';
import { changedSettings } from '#libs/config/files/changed-settings.js';
import { Health } from '#libs/health/health.js';
import { installedPath } from '#libs/process/find-installed.js';
import { misnamedModels } from '../../models/routing/check-models.js';
import { AdministratorGuard } from '../admin/administrator.guard.js';
import { CONFIGURATION, SYSTEM_PORTS } from '../injection-tokens.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { settingsAnswer } from '../openapi/system-shapes.js';
import { showSettings } from './show-settings.js';
import type { ConfigurationInForce, SystemPorts } from './system-ports.js';

type ShownSettings = Shown<typeof settingsAnswer>;

const { version } = JSON.parse(readFileSync(installedPath('package.json'), 'utf8')) as { version: string };

@Controller('api/settings')
export class SettingsController {
  constructor(
    @Inject(SYSTEM_PORTS) private readonly ports: SystemPorts,
    @Inject(CONFIGURATION) private readonly configuration: ConfigurationInForce,
    private readonly health: Health,
  ) {}

  @Get()
  @UseGuards(AdministratorGuard)
  async settings(): Promise<ShownSettings> {
    const { started, latest } = this.configuration;
    const [postgresql, { status, checks }] = await Promise.all([this.postgresVersion(), this.health.ready()]);
    return {
      gateway: this.ports.id,
      settings: showSettings(started, latest()),
      warnings: this.warnings(checks),
      versions: {
        signalbox: version,
        node: process.versions.node,
        postgresql,
        redis: this.ports.backing.redisVersion ?? null,
        mcp: [firstStateless, ...SUPPORTED_PROTOCOL_VERSIONS],
      },
      health: {
        status,
        checks: checks.map(({ name, status, reason }) => ({ name, status, reason: reason ?? null })),
      },
    };
  }

  private warnings(checks: readonly { name: string; reason?: string }[]): ShownSettings['warnings'] {
    const { started, latest } = this.configuration;
    const notApplied = checks.find(({ name }) => name === 'configuration')?.reason;
    return [
      ...misnamedModels(started.models, 'offline').map(({ setting, message }) => {
        return { setting, code: 'misnamed_model' as const, message };
      }),
      ...changedSettings(started, latest()).map((setting) => {
        return { setting, code: 'needs_restart' as const, message: 'It was changed, and needs a restart' };
      }),
      ...(notApplied === undefined ? [] : [{ setting: null, code: 'not_applied' as const, message: notApplied }]),
    ];
  }

  private async postgresVersion(): Promise<string> {
    const [row] = await this.ports.database.query<{ version: string }>(
      `/* settings.version */ select current_setting('server_version') as version`,
      [],
    );
    return row!.version;
  }
}
