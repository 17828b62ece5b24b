// Reads a JSON report of vitest: how many tests of each file passed, failed and were skipped. Pure.
import { relative } from 'node:path';
import { z } from 'zod';
import { table } from './write-page.js';

const reportSchema = z.looseObject({
  testResults: z.array(
    z.looseObject({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.looseObject({ status: z.string() })),
    }),
  ),
});

/** @throws Error if the report has no test */
export function readTestReport(text: string): string[] {
  const files = new Map<string, { passed: number; failed: number; skipped: number }>();
  for (const { name, status, assertionResults } of reportSchema.parse(JSON.parse(text)).testResults) {
    const path = relative(process.cwd(), name).replaceAll('\\', '/');
    const counts = files.get(path) ?? { passed: 0, failed: 0, skipped: 0 };
    for (const test of assertionResults) {
      if (test.status === 'passed') counts.passed += 1;
      else if (test.status === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
    // A file that could not be run has no tests.
    if (status === 'failed' && !assertionResults.some((test) => test.status === 'failed')) counts.failed += 1;
    files.set(path, counts);
  }
  if (files.size === 0) throw new Error('the report has no test');
  const rows = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
  const sum = (what: 'passed' | 'failed' | 'skipped') => rows.reduce((total, [, counts]) => total + counts[what], 0);
  return table(
    ['file', 'passed', 'failed', 'skipped'],
    [
      ...rows.map(([path, { passed, failed, skipped }]) => [`\`${path}\``, passed, failed, skipped]),
      ['all', sum('passed'), sum('failed'), sum('skipped')],
    ],
  );
}
