export const knowledgeRequirements = {
  'knowledge.recall': 'nine of ten questions find their document among the first five hits, in English and Chinese',
  'knowledge.exact': 'a query in quotation marks finds exactly that text, and what it is made of is never syntax',
  'knowledge.meaning':
    'with a model for embeddings, words and meaning are searched at once; without an answer of it, words alone',
  'knowledge.filters': 'hits are filtered by category, source and days, and sorted by date where asked for',
  'knowledge.paging': 'the pages of a search neither overlap nor leave anything out',
  'knowledge.snippets': 'a hit shows the part of its document that was found, with the words marked',
  'knowledge.bounded': 'queries, filters and pages have bounds, and what is beyond them is reported',
  'knowledge.formats': 'Markdown, text, HTML, PDF and Word files are read, in whatever encoding they are',
  'knowledge.incremental':
    'a second import reads what has changed, and removes documents without a file only where asked for',
  'knowledge.bad-files': 'a file that cannot be read is named with its reason, and the others are imported',
  'knowledge.import-command': 'npm run kb:import reports what it did by its exit code and a summary',
} as const;
