// The questions that a search is judged by: those of questions.yaml, and further sets in files of their own (`blind-a.yaml` has set A).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { SearchQuestion } from './judge-search.js';

const setFile = /^blind-(.)\.yaml$/;

export function readQuestions(directory: string): SearchQuestion[] {
  const read = (file: string) => parse(readFileSync(join(directory, file), 'utf8')) as SearchQuestion[];
  const sets = readdirSync(directory)
    .filter((file) => setFile.test(file))
    .toSorted();
  return [
    ...read('questions.yaml'),
    ...sets.flatMap((file) =>
      read(file).map((question) => ({ ...question, set: setFile.exec(file)![1]!.toUpperCase() })),
    ),
  ];
}
