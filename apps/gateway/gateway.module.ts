// The gateway's Nest module: the controllers, and the parts from gateway.ts that they need.
import { type DynamicModule, Module, ValidationPipe } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore } from '#libs/access/key-store.js';
import { AuditLog } from '#libs/audit/audit-log.js';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { McpEndpoint } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import { RunListing } from '#libs/runs/listing/run-listing.js';
import { UsageStore } from '#libs/usage/usage-store.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { Turns } from './turn/turns.js';
import type { Gateway } from './gateway.js';
import { KeysController } from './http/admin/keys.controller.js';
import { ApprovalsController } from './http/admin/approvals.controller.js';
import { UsageController } from './http/admin/usage.controller.js';
import { AuditController } from './http/admin/audit.controller.js';
import { AppErrorFilter } from './http/app-error.filter.js';
import { ChatController } from './http/turns/chat.controller.js';
import { FilesController } from './http/files/files.controller.js';
import {
  APPS_PORTS,
  AUDIT_PORTS,
  CONFIG,
  CONFIGURATION,
  CONNECTION_PORTS,
  ERROR_OBSERVER,
  MODEL_ROUTER,
  OVERVIEW_PORTS,
  POLICY_PORTS,
  RUNS_PORTS,
  SESSION_STORE,
  SYSTEM_PORTS,
} from './http/injection-tokens.js';
import { ConnectionsController } from './http/connections/connections.controller.js';
import { McpController } from './http/mcp/mcp.controller.js';
import { MessagesController } from './http/turns/messages.controller.js';
import { ModelsController } from './http/controllers/models.controller.js';
import { ResponsesController } from './http/turns/responses.controller.js';
import { ReplayController } from './http/runs/replay.controller.js';
import { AppsController } from './http/apps/apps.controller.js';
import { RunsController } from './http/runs/runs.controller.js';
import { ServersController } from './http/controllers/servers.controller.js';
import { SessionsController } from './http/controllers/sessions.controller.js';
import { OverviewController } from './http/overview/overview.controller.js';
import { MeController } from './http/overview/me.controller.js';
import { ModelsHealthController } from './http/system/models-health.controller.js';
import { SettingsController } from './http/system/settings.controller.js';
import type { ConfigurationInForce } from './http/system/system-ports.js';
import { PolicyController } from './http/policy/policy.controller.js';
import { observerOfStreams } from './http/turns/stream-turn.js';
import { ToolChangesController } from './http/controllers/tool-changes.controller.js';
import { OffersController } from './http/controllers/offers.controller.js';
import { ToolsController } from './http/controllers/tools.controller.js';
import { PolicyDrafts } from './govern/drafts/policy-drafts.js';
import { TurnAdmission } from './govern/turn-admission.js';
import { TurnEndpoint } from './http/turns/turn-endpoint.js';
import { Waits } from './govern/waits.js';
import { CallerOffers } from './mcp/offers/caller-offers.js';
import { MentionedOffers } from './mcp/offers/mentioned-offers.js';
import { KeyedToolCalls } from './turn/dispatch/keyed-tool-calls.js';
import { FirstCatalog } from './tools/first-catalog.js';
import { ToolChangeDecisions } from './tools/tool-change-decisions.js';
import { ToolPolicy } from './govern/tool-policy.js';
import { ToolServers } from './tools/tool-servers.js';

export interface GatewayModuleParts {
  config: Config;
  configuration: ConfigurationInForce;
  gateway: Gateway;
  workspaces: Workspaces;
  admission: TurnAdmission;
  mcp: McpEndpoint;
  logger: Logger;
  metrics: Metrics;
  operations: DynamicModule;
  filter: AppErrorFilter;
  /** Where the configuration is read from. */
  configFile: string;
}

@Module({})
export class GatewayModule {
  static of({
    config,
    configuration,
    gateway,
    workspaces,
    admission,
    mcp,
    logger,
    metrics,
    operations,
    filter,
    configFile,
  }: GatewayModuleParts): DynamicModule {
    const observeStreamError = observerOfStreams(metrics, logger);
    const { catalog, policy, offerRequests } = gateway;
    const offers = new CallerOffers({ catalog, mayUse: policy.mayUse, offerRequests });
    return {
      module: GatewayModule,
      imports: [operations],
      controllers: [
        ChatController,
        MessagesController,
        ResponsesController,
        RunsController,
        ReplayController,
        OverviewController,
        PolicyController,
        MeController,
        ModelsHealthController,
        SettingsController,
        ModelsController,
        ToolsController,
        AppsController,
        OffersController,
        ToolChangesController,
        ServersController,
        McpController,
        ConnectionsController,
        SessionsController,
        FilesController,
        KeysController,
        ApprovalsController,
        UsageController,
        AuditController,
      ],
      providers: [
        { provide: CONFIG, useValue: config },
        { provide: ERROR_OBSERVER, useValue: observeStreamError },
        { provide: MODEL_ROUTER, useValue: gateway.models },
        {
          provide: RUNS_PORTS,
          useValue: {
            ...gateway,
            channels: gateway.backing.channels,
            runListing: new RunListing(gateway.database),
            observeError: observeStreamError,
          },
        },
        { provide: OVERVIEW_PORTS, useValue: gateway },
        { provide: CONNECTION_PORTS, useValue: gateway },
        { provide: SYSTEM_PORTS, useValue: gateway },
        { provide: CONFIGURATION, useValue: configuration },
        {
          provide: POLICY_PORTS,
          useValue: {
            ...gateway,
            drafts: new PolicyDrafts({
              inForce: () => gateway.policy.inForce,
              onRefused: (limit) => metrics.rateLimited.inc({ limit }),
            }),
            configFile,
          },
        },
        { provide: APPS_PORTS, useValue: { ...gateway, catalogOf: gateway.policy.catalogOf } },
        { provide: AUDIT_PORTS, useValue: gateway },
        { provide: SESSION_STORE, useValue: gateway.sessions },
        { provide: ToolPolicy, useValue: gateway.policy },
        { provide: Waits, useValue: gateway.approvals },
        { provide: AuditLog, useValue: new AuditLog(gateway.database) },
        { provide: KeyStore, useValue: gateway.keys },
        { provide: UsageStore, useValue: gateway.usage.store },
        { provide: KeyRing, useValue: gateway.keyRing },
        { provide: CallerOffers, useValue: offers },
        {
          provide: MentionedOffers,
          useValue: new MentionedOffers({ offers, runs: gateway.runs, limits: config.limits }),
        },
        { provide: KeyedToolCalls, useValue: gateway.keyedToolCalls },
        { provide: ToolChangeDecisions, useValue: gateway.toolChangeDecisions },
        { provide: Toolsets, useValue: gateway.toolsets },
        { provide: FirstCatalog, useValue: gateway.firstCatalog },
        { provide: ToolServers, useValue: gateway.toolServers },
        { provide: Workspaces, useValue: workspaces },
        { provide: Turns, useValue: gateway.turns },
        { provide: TurnAdmission, useValue: admission },
        TurnEndpoint,
        { provide: McpEndpoint, useValue: mcp },
        { provide: APP_FILTER, useValue: filter },
        // A body's member that its DTO class lacks is refused.
        {
          provide: APP_PIPE,
          useValue: new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }),
        },
      ],
    };
  }
}
