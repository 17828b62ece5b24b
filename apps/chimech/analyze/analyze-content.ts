// Picks the analyst for a type of content. Each is loaded with its first use.
import type { AnalysisTask, Findings } from './analysis.js';
import { AnalyzeError, analysisFailed } from './analyze-error.js';

const tooDeep = { en: 'The content is nested too deeply', zh: '内容嵌套过深' };

/** @throws AnalyzeError */
export async function analyzeContent(task: AnalysisTask): Promise<Findings> {
  try {
    switch (task.type) {
      case 'text':
        return (await import('./text/analyze-text.js')).analyzeText(task);
      case 'code':
        return await (await import('./code/analyze-code.js')).analyzeCode(task);
      case 'data':
        return await (await import('./data/analyze-data.js')).analyzeData(task);
    }
  } catch (error) {
    if (error instanceof AnalyzeError) throw error;
    // The parsers go down with the content, and the stack ends.
    if (error instanceof RangeError) throw new AnalyzeError(tooDeep, 'INVALID_PARAMS');
    throw new AnalyzeError(analysisFailed, 'INTERNAL_ERROR');
  }
}
