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
  field: keyof typeof fields;
}

/** What a word counts there, and how much less in a text that is longer than others are. */
export const fields = {
  name: { weight: 4, lengthDiscount: 0.6 },
  title: { weight: 1, lengthDiscount: 0.5 },
  server: { weight: 2, lengthDiscount: 0 },
  summary: { weight: 1.2, lengthDiscount: 0.3 },
  description: { weight: 0.5, lengthDiscount: 0.8 },
  parameter: { weight: 0.5, lengthDiscount: 0.7 },
  parameterText: { weight: 0.1, lengthDiscount: 0.7 },
};
/** The first sentence says what a tool does; what follows says when, how and what else there is. */
const maxSummary = 200;
const maxText = 2_000;
const maxParameters = 60;
const maxDepth = 3;

export function searchedTexts(tool: SearchableTool): SearchedText[] {
  const description = tool.description.slice(0, maxText);
  const summary = /^[^.!?。！？\n]*/.exec(description.trimStart().slice(0, maxSummary))![0];
  const texts: SearchedText[] = [
    { text: tool.tool.slice(0, maxText), field: 'name' },
    { text: (tool.title ?? '').slice(0, maxText), field: 'title' },
    { text: tool.server.slice(0, maxText), field: 'server' },
    { text: summary, field: 'summary' },
    { text: description.trimStart().slice(summary.length), field: 'description' },
  ];
  for (const { name, description } of parametersOf(tool.inputSchema)) {
    texts.push({ text: name.slice(0, maxText), field: 'parameter' });
    texts.push({ text: textOrEmpty(description).slice(0, maxText), field: 'parameterText' });
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
