// `npm run docs:generate`: writes the documents that are made from the code.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { generatedDocuments } from './documents.js';

for (const [path, text] of await generatedDocuments()) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  console.log(path);
}
