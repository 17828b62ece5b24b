// Warns when the keys are older than they should be: at the start, once a day, and in a metric.
import type { Logger } from '#libs/logging/logger.js';

const dayMs = 86_400_000;

export interface KeyAgeSettings {
  /** ISO 8601; undefined if nobody says. */
  createdAt: string | undefined;
  rotationDays: number;
}

export function isRotationDue({ createdAt, rotationDays }: KeyAgeSettings, now: number = Date.now()): boolean {
  return createdAt !== undefined && now - Date.parse(createdAt) >= rotationDays * dayMs;
}

/** Returns what stops it. */
export function watchKeyAge(settings: KeyAgeSettings, logger: Logger): () => void {
  const look = () => {
    if (!isRotationDue(settings)) return;
    const metadata = { createdAt: settings.createdAt, rotationDays: settings.rotationDays };
    logger.warn({ metadata }, 'the keys of CHIMECH_API_KEY are due for rotation');
  };
  look();
  const timer = setInterval(look, dayMs).unref();
  return () => clearInterval(timer);
}
