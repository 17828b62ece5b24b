// Nest injection tokens for dependencies without a class. Provided in gateway.module.ts.

export const APPS_PORTS = Symbol('AppsPorts');
export const AUDIT_PORTS = Symbol('AuditPorts');
export const CONFIG = Symbol('Config');
export const CONFIGURATION = Symbol('Configuration');
export const CONNECTION_PORTS = Symbol('ConnectionPorts');
export const ERROR_OBSERVER = Symbol('ErrorObserver');
export const MODEL_ROUTER = Symbol('ModelRouter');
export const OVERVIEW_PORTS = Symbol('OverviewPorts');
export const POLICY_PORTS = Symbol('PolicyPorts');
export const RUNS_PORTS = Symbol('RunsPorts');
export const SESSION_STORE = Symbol('SessionStore');
export const SYSTEM_PORTS = Symbol('SystemPorts');
