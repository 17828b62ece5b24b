import { afterEach, expect } from 'vitest';
import {
  chineseArticles,
  openTestKnowledge,
  packageReadmes,
  recallAtFive,
  type TestKnowledge,
} from '../../../test/support/knowledge.js';
import { verifies } from '../../../test/verifies.js';

let knowledge: TestKnowledge;
afterEach(() => knowledge.close());

verifies('knowledge.recall', 'READMEs of npm packages, asked for by their descriptions', async () => {
  knowledge = await openTestKnowledge();
  const readmes = packageReadmes();
  for (const { path, content } of readmes) knowledge.write(path, content);
  const { failed, imported } = await knowledge.import();
  expect(failed).toEqual([]);
  expect(imported).toBe(readmes.length);
  expect(readmes.length).toBeGreaterThan(200);
  // Fewer words describe nothing that can be told from its neighbours, and packages of one project share a description.
  const counts = new Map<string, number>();
  for (const { question } of readmes) counts.set(question, (counts.get(question) ?? 0) + 1);
  const telling = readmes.filter(({ question }) => counts.get(question) === 1 && question.split(/\s+/).length >= 5);
  // All of them would take long.
  const questions = telling.filter((_, index) => index % 2 === 0);
  expect(questions.length).toBeGreaterThan(100);
  const { recall, missed } = await recallAtFive(knowledge.base, questions);
  expect(recall, missed.join('\n')).toBeGreaterThanOrEqual(0.9);
  const asked = await recallAtFive(knowledge.base, [
    { question: 'validating JSON documents against a schema', path: 'ajv.md' },
    { question: 'convert between character encodings', path: 'iconv-lite.md' },
    { question: 'read and write YAML files', path: 'yaml.md' },
    { question: 'which client talks to PostgreSQL?', path: 'pg.md' },
    { question: 'metrics for Prometheus in node', path: 'prom-client.md' },
    { question: 'jobs in a queue on Redis', path: 'bullmq.md' },
    { question: 'signing and verifying JWTs', path: 'jose.md' },
    { question: 'property based tests', path: 'fast-check.md' },
  ]);
  expect(asked.missed).toEqual([]);
});

verifies('knowledge.recall', 'Chinese articles, asked for in other words', async () => {
  knowledge = await openTestKnowledge();
  const articles = chineseArticles();
  for (const { path, content } of articles) knowledge.write(path, content);
  expect(await knowledge.import()).toMatchObject({ imported: articles.length, failed: [] });
  expect(articles.length).toBeGreaterThan(60);
  const { recall, missed } = await recallAtFive(knowledge.base, articles);
  expect(recall, missed.join('\n')).toBeGreaterThanOrEqual(0.9);
});
