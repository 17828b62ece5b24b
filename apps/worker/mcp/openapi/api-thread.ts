// The thread that makes the tools of a document: calls go on meanwhile, however large or hostile it is. See api-document.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { type Api, type ApiOptions, readApi } from './read-api.js';
import { DocumentProblem } from './read-document.js';

export interface ApiTask {
  text: string;
  options: ApiOptions;
}

export type ApiThreadAnswer = { api: Api } | { problem: string };

function answerTo({ text, options }: ApiTask): ApiThreadAnswer {
  try {
    return { api: readApi(text, options) };
  } catch (error) {
    if (error instanceof DocumentProblem) return { problem: error.message };
    if (error instanceof RangeError) return { problem: 'is nested too deeply' };
    throw error;
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(answerTo(workerData as ApiTask));
