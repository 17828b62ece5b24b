// Whether a process can serve, answered quickly: checks run in parallel under a short deadline, results are cached for a
// second, and concurrent requests share one run. So load cannot delay an answer for longer than that.
import { once } from 'node:events';
import { AppError } from '#libs/schemas/errors.js';

export interface CheckResult {
  status: 'ok' | 'degraded' | 'down';
  /** Why the check is not ok, for the operator; contains no secret and no host path. */
  reason?: string;
  details?: Record<string, string | number | boolean>;
}

export interface HealthCheck {
  readonly name: string;
  /** True if the process serves nothing without the checked part: then `down` makes the process not ready. */
  readonly critical?: boolean;
  check(signal: AbortSignal): Promise<CheckResult>;
}

export interface HealthReport {
  status: 'ok' | 'degraded' | 'unavailable';
  service: string;
  reason?: string;
  checks: ({ name: string } & CheckResult)[];
}

export type ServingState = 'starting' | 'serving' | 'stopping';

const checkDeadlineMs = 300;
const keptMs = 1_000;

export class Health {
  private state: ServingState = 'starting';
  private kept: { report: Promise<HealthReport>; until: number } | undefined;

  constructor(
    private readonly service: string,
    private readonly checks: readonly HealthCheck[],
  ) {}

  /** Takes effect immediately, despite cached results. A stopping process serves no more. */
  become(state: ServingState): void {
    if (this.state === 'stopping') return;
    this.state = state;
    this.kept = undefined;
  }

  async ready(): Promise<HealthReport> {
    if (this.state !== 'serving') {
      return { status: 'unavailable', service: this.service, reason: this.state, checks: [] };
    }
    const now = performance.now();
    if (this.kept === undefined || now >= this.kept.until) {
      const report = this.run();
      const kept = { report, until: Number.POSITIVE_INFINITY };
      this.kept = kept;
      // Counted from the end of the run, so that slow checks do not run twice at once.
      void report.then(() => (kept.until = performance.now() + keptMs));
    }
    return this.kept.report;
  }

  private async run(): Promise<HealthReport> {
    const checks = await Promise.all(this.checks.map(runCheck));
    const unavailable = checks.some((check, index) => check.status === 'down' && this.checks[index]!.critical === true);
    const status = unavailable ? 'unavailable' : checks.every((check) => check.status === 'ok') ? 'ok' : 'degraded';
    return { status, service: this.service, checks };
  }
}

async function runCheck(check: HealthCheck): Promise<{ name: string } & CheckResult> {
  const signal = AbortSignal.timeout(checkDeadlineMs);
  const late = once(signal, 'abort').then((): CheckResult => {
    return { status: 'down', reason: `no answer within ${checkDeadlineMs} ms` };
  });
  const asked = (async () => check.check(signal))().catch((error: unknown): CheckResult => ({
    status: 'down',
    reason: error instanceof AppError ? error.message : 'does not answer',
  }));
  return { name: check.name, ...(await Promise.race([asked, late])) };
}
