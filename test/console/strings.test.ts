// Every text of the console in both languages, with the same parts. The compiler says so too; this also finds empty ones.
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { verifies } from '../verifies.js';

type Texts = Record<string, unknown>;

verifies('console.languages', 'no text is missing, empty, or of another form', async () => {
  const root = 'apps/console';
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !path.startsWith('i18n/') && /(?:\/|-)strings\.ts$/.test(path),
  );
  expect(paths.length).toBeGreaterThan(2);
  for (const path of paths) {
    const module = (await import(pathToFileURL(`${root}/${path}`).href)) as Record<string, { en: Texts; zh: Texts }>;
    for (const { en, zh } of Object.values(module)) {
      expect(Object.keys(zh).sort(), path).toEqual(Object.keys(en).sort());
      for (const [name, text] of Object.entries(en)) {
        expect(typeof zh[name], `${path}: ${name}`).toBe(typeof text);
        if (typeof text === 'string')
          expect(text.trim() !== '' && String(zh[name]).trim() !== '', `${path}: ${name}`).toBe(true);
      }
    }
  }
});
