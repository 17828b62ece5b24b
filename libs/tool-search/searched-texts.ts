// What is searched of a tool, and what a word counts where it stands. A definition comes from a server that may be hostile:
// each text has a bound, and so have the depth and the number of parameters.
import { isJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

/** What is searched of a tool. CatalogTool fits. */
export type SearchableTool = Pick<CatalogTool, 'name' | 'tool' | 'server' | 'description' | 'inputSchema'> & {
  title?: string;
};

export interface SearchedText {
  text: string;
  weight: number;
}

const weights = { name: 3, title: 2, server: 1.5, summary: 1.5, description: 0.6, parameter: 0.5, parameterText: 0.2 };
/** The first sentence says what a tool does; what follows says when, how and what else there is. */
const maxSummary = 200;
const maxText = 2_000;
const maxParameters = 60;
const maxDepth = 3;

export function searchedTexts(tool: SearchableTool): SearchedText[] {
  const description = tool.description.slice(0, maxText);
  const summary = /^[^.!?。！？\n]*/.exec(description.trimStart().slice(0, maxSummary))![0];
  const texts = [
    { text: tool.tool.slice(0, maxText), weight: weights.name },
    { text: (tool.title ?? '').slice(0, maxText), weight: weights.title },
    { text: tool.server.slice(0, maxText), weight: weights.server },
    { text: summary, weight: weights.summary },
    { text: description.trimStart().slice(summary.length), weight: weights.description },
  ];
  for (const { name, description } of parametersOf(tool.inputSchema)) {
    texts.push({ text: name.slice(0, maxText), weight: weights.parameter });
    texts.push({ text: textOrEmpty(description).slice(0, maxText), weight: weights.parameterText });
  }
  return texts;
}

/** Those that are outermost first. */
function parametersOf(schema: JsonObject): { name: string; description: Json | undefined }[] {
  const found: { name: string; description: Json | undefined }[] = [];
  let level: Json[] = [schema];
  for (let depth = 0; depth < maxDepth && level.length > 0; depth += 1) {
    const inner: Json[] = [];
    for (const outer of level) {
      if (!isJsonObject(outer)) continue;
      if (isJsonObject(outer['items'])) inner.push(outer['items']);
      if (!isJsonObject(outer['properties'])) continue;
      for (const name in outer['properties']) {
        if (found.length >= maxParameters) return found;
        const parameter = outer['properties'][name]!;
        found.push({ name, description: isJsonObject(parameter) ? parameter['description'] : undefined });
        inner.push(parameter);
      }
    }
    level = inner;
  }
  return found;
}
