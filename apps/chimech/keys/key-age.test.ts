import { expect } from 'vitest';
import { silentLogger } from '#libs/logging/logger.js';
import { verifies } from '../../../test/verifies.js';
import { isRotationDue, watchKeyAge } from './key-age.js';

verifies('chimech.key-rotation', 'from the day on, and not where nobody says how old they are', () => {
  const now = Date.parse('2026-04-01T00:00:00Z');
  const due = (createdAt: string | undefined) => isRotationDue({ createdAt, rotationDays: 90 }, now);
  expect([due('2026-01-01'), due('2026-01-02'), due(undefined)]).toEqual([true, false, false]);
});

verifies('chimech.key-rotation', 'the log warns', () => {
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: unknown, message: string) => void warned.push(message) };
  watchKeyAge({ createdAt: '2020-01-01', rotationDays: 90 }, logger)();
  watchKeyAge({ createdAt: new Date().toISOString(), rotationDays: 90 }, logger)();
  expect(warned).toEqual(['the keys of CHIMECH_API_KEY are due for rotation']);
});
