// What the thread of analysis-thread.ts runs.
import { parentPort } from 'node:worker_threads';
import type { AnalysisTask } from './analysis.js';
import type { ThreadAnswer } from './analysis-thread.js';
import { analyzeContent } from './analyze-content.js';
import type { AnalyzeError } from './analyze-error.js';

parentPort!.on('message', (task: AnalysisTask) => void answer(task));

async function answer(task: AnalysisTask): Promise<void> {
  let answer: ThreadAnswer;
  try {
    answer = { findings: await analyzeContent(task) };
  } catch (error) {
    const { texts, code } = error as AnalyzeError;
    answer = { texts, code };
  }
  parentPort!.postMessage(answer, []);
}
