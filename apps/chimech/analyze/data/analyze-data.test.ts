import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { analyzeData, dataComplexity } from './analyze-data.js';
import type { DataStructure } from './data-structure.js';

async function read(content: string, language?: string) {
  const findings = await analyzeData({ type: 'data', content, language });
  return { ...findings, structure: findings.structure as DataStructure };
}

verifies('chimech.analyze.data', 'CSV: quotes, gaps, types, ranges', async () => {
  const { structure } = await read(
    'id,name,price,when,code,ok\n1,"A, ""b""\nc",3.5,2024-01-02,007,true\n2,,4,2024-02-03,010,FALSE\n3,d,NA,,011,true\n',
  );
  expect(structure).toMatchObject({
    format: 'csv',
    valid: true,
    rows: 3,
    column_count: 6,
    depth: 1,
    delimiter: ',',
    header: true,
  });
  expect(structure.columns).toEqual([
    { name: 'id', type: 'integer', missing: 0, distinct: 3, range: { min: 1, max: 3 }, sample: [1, 2, 3] },
    {
      name: 'name',
      type: 'string',
      missing: 1,
      distinct: 2,
      range: { min_length: 1, max_length: 8 },
      sample: ['A, "b"\nc', 'd'],
    },
    { name: 'price', type: 'number', missing: 1, distinct: 2, range: { min: 3.5, max: 4 }, sample: [3.5, 4] },
    {
      name: 'when',
      type: 'date',
      missing: 1,
      distinct: 2,
      range: { min: '2024-01-02', max: '2024-02-03' },
      sample: ['2024-01-02', '2024-02-03'],
    },
    {
      name: 'code',
      type: 'string',
      missing: 0,
      distinct: 3,
      range: { min_length: 3, max_length: 3 },
      sample: ['007', '010', '011'],
    },
    { name: 'ok', type: 'boolean', missing: 0, distinct: 2, sample: [true, false] },
  ]);
});

verifies('chimech.analyze.data', 'other delimiters, no header, Chinese names', async () => {
  expect((await read('a;b\n1;2\n3;4')).structure).toMatchObject({ format: 'csv', delimiter: ';', rows: 2 });
  expect((await read('1,2\n3,4')).structure).toMatchObject({
    header: false,
    rows: 2,
    columns: [{ name: 'column_1' }, {}],
  });
  const { structure, answerLanguage, summary } = await read('姓名\t年龄\n张三\t20\n李四\t30\n');
  expect(structure).toMatchObject({ format: 'tsv', columns: [{ name: '姓名' }, { name: '年龄', type: 'integer' }] });
  expect(answerLanguage).toBe('zh');
  expect(summary).toContain('2 行，2 列');
});

verifies('chimech.analyze.data', 'JSON: nested objects are columns, arrays values', async () => {
  const { structure } = await read(
    '[{"id":1,"tags":["a"],"at":{"city":"Paris"}},{"id":2.5,"at":{"city":null}},{"id":"x","at":{"city":"Rome"}}]',
  );
  expect(structure).toMatchObject({ format: 'json', valid: true, rows: 3, depth: 3 });
  expect(structure.columns.map(({ name, type, missing }) => [name, type, missing])).toEqual([
    ['id', 'mixed', 0],
    ['tags', 'array', 2],
    ['at.city', 'string', 1],
  ]);
  expect((await read('{"a":{"b":{"c":[1,[2]]}}}')).structure).toMatchObject({ rows: 1, depth: 5 });
  expect((await read('[1,2,2,null]')).structure.columns).toEqual([
    { name: 'value', type: 'integer', missing: 1, distinct: 2, range: { min: 1, max: 2 }, sample: [1, 2] },
  ]);
  expect((await read('[]')).structure).toMatchObject({ rows: 0, columns: [], valid: true });
  expect((await read('{"__proto__":{"x":1},"constructor":2}')).structure.columns.map(({ name }) => name)).toEqual([
    '__proto__.x',
    'constructor',
  ]);
});

verifies('chimech.analyze.data', 'lines of JSON, and YAML with several documents', async () => {
  expect((await read('{"a":1}\n\n{"a":2,"b":3}\n')).structure).toMatchObject({
    format: 'ndjson',
    valid: true,
    rows: 2,
    column_count: 2,
  });
  expect((await read('name: x\nlist:\n  - a\n  - b: {c: 1}\n')).structure).toMatchObject({
    format: 'yaml',
    rows: 1,
    depth: 4,
  });
  expect((await read('---\na: 1\n---\na: 2\n')).structure).toMatchObject({
    format: 'yaml',
    rows: 2,
    columns: [{ name: 'a', type: 'integer' }],
  });
});

verifies('chimech.analyze.data', 'scores by hand', () => {
  expect(dataComplexity(1, 1)).toBe(0);
  // Depth 4 of 10 is a third of a half, 10 columns are half of a half.
  expect(dataComplexity(4, 10)).toBe(41.7);
  expect(dataComplexity(20, 1000)).toBe(100);
});

verifies('chimech.analyze.bad-content', 'damaged data says where', async () => {
  const json = await read('{"a": 1,\n "b": [1, }');
  expect(json.structure).toMatchObject({ format: 'json', valid: false, rows: 0 });
  expect(json.warnings[0]).toMatch(/line 2/);

  const lines = await read('{"a":1}\n{"a":2}\n{"a":\n');
  expect(lines.structure).toMatchObject({ format: 'ndjson', valid: false, rows: 2 });
  expect(lines.warnings[0]).toContain('line 3');

  const csv = await read('a,b\n1,2\n3\n4,5,6\n7,8\n');
  expect(csv.structure).toMatchObject({ format: 'csv', valid: false, rows: 4 });
  expect(csv.warnings[0]).toMatch(/2 rows have more or fewer columns than the first \(2\); the first of them is row 3/);

  const quote = await read('a,b\n1,"open\n2,3\n', 'csv');
  expect(quote.structure.valid).toBe(false);

  const yaml = await read('a: 1\nb: [1, 2\nc: }\n');
  expect(yaml.structure).toMatchObject({ format: 'yaml', valid: false });
  expect(yaml.warnings[0]).toMatch(/line \d/);

  const bomb = Array.from(
    { length: 9 },
    (_, i) =>
      `k${i}: &k${i} [${
        i === 0
          ? 'x'
          : Array(9)
              .fill(`*k${i - 1}`)
              .join(',')
      }]`,
  );
  expect((await read(bomb.join('\n'))).warnings[0]).toMatch(/aliases/);

  const none = await read('hello');
  expect(none.structure).toMatchObject({ format: 'unknown', valid: false, rows: 1 });
  await expect(read('x', 'xml')).rejects.toMatchObject({ code: 'INVALID_PARAMS' });
});
