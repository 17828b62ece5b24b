export const chimechAnalyzeRequirements = {
  'chimech.analyze.text':
    'words, sentences, headings, lists, keywords and readability of English and Chinese texts are counted right',
  'chimech.analyze.code':
    'functions, classes, imports, comments, nesting and complexity of code are those of its syntax tree',
  'chimech.analyze.data': 'the format of data and the types, gaps and ranges of its columns are found',
  'chimech.analyze.summary': 'a summary is a model’s where one answers; otherwise it is extracted, and says so',
  'chimech.analyze.bad-content':
    'damaged, empty, binary and wrongly encoded content is reported as what it is, with what could be read',
  'chimech.analyze.bounded':
    'content above the size limit, parsing that does not end, and a cancelled call end with an error, and the next call is served',
  'chimech.analyze.idle':
    'the thread that parses starts with the first analysis and ends when there is none for a while',
} as const;
