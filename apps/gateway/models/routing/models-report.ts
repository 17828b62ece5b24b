// What is known of the providers, their models and the aliases, for operators. Without secrets.
import type { ProviderConfig } from '#libs/config/schema.js';
import type { ProviderAccess } from '../wire/provider-failures.js';
import type { ProviderHistory, TakenFallback } from './call-history.js';

export interface ModelsReport {
  /** The model for requests that name none. */
  model: string;
  /** Sentences for the operator. */
  problems: readonly string[];
  /** When this gateway began to count calls. */
  countedSince: Date;
  /** In the order of the configuration; the offline model last. */
  providers: ProviderReport[];
  aliases: AliasReport[];
}

export interface ProviderReport extends ProviderHistory {
  name: string;
  kind: ProviderConfig['kind'];
  tools: ProviderConfig['tools'];
  /** Undefined: it has no address. */
  access: ProviderAccess | undefined;
  /** Why it cannot be used, and what to do. */
  problem: string | undefined;
  models: {
    source: 'configuration' | 'provider' | 'built_in';
    names: readonly string[];
    /** When the provider last gave its list. */
    listedAt: Date | undefined;
  };
}

export interface AliasReport {
  name: string;
  /** As `provider/model`, or `provider` for its first model, in the order in which they are tried. */
  targets: string[];
  /** Why it leads to no model. */
  problem: string | undefined;
  fallbacks: TakenFallback[];
}
