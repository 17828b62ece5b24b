// What the bench asks of Chimech: texts as people send them, each call another one.
import { readdirSync, readFileSync } from 'node:fs';
import { installedPath } from '#libs/process/find-installed.js';

export interface Call {
  name: string;
  arguments: object;
}

const kilobyte = 1_024;
const pages = filesOf('docs', '.md').join('\n\n');
const sources = filesOf('apps/gateway/chat', '.ts');
const chinese = [
  '人工智能正在改变我们的生活和工作方式。',
  '机器学习算法从大量数据中学习规律，并用于预测。',
  '公司第三季度营收增长百分之十二，欧洲市场持平。',
  '研究人员发现，充足的睡眠有助于提高记忆力。',
  '请各部门在月底之前提交预算方案和招聘计划。',
  '长江流经十一个省份，全长六千三百多公里。',
  '用户反馈显示，新版本的响应速度明显提升。',
];
const regions = ['EMEA', 'APAC', 'AMER'];
const sought = ['policy rules of a tool', '"tool server"', 'memory of a worker', 'revoked keys', 'approval webhook'];

export const call = (tool: string, args: object): Call => ({ name: `chimech/${tool}`, arguments: args });

export const ask = (number: number): Call =>
  call('query', { question: `What does it say about number ${number}?`, context: english(number, sizeOf(number)) });

export const search = (number: number): Call => call('search', { query: sought[number % sought.length] });

export function analysis(number: number): Call {
  const size = sizeOf(number);
  switch (Math.floor(number / 5) % 4) {
    case 0:
      return call('analyze', { type: 'text', content: english(number, size), options: { format: 'detailed' } });
    case 1:
      return call('analyze', { type: 'text', content: repeated((at) => chinese[(at * 5 + number) % 7]!, size / 3) });
    case 2:
      return call('analyze', { type: 'code', content: `${sources[number % sources.length]}\n// ${number}\n` });
    default:
      return call('analyze', { type: 'data', content: `id,name,amount,region\n${repeated(rowOf, size)}` });
  }
}

/** A piece of the pages of docs/. */
export function english(number: number, kilobytes: number): string {
  const start = (number * 7_919) % (pages.length - kilobytes * kilobyte);
  return pages.slice(start, start + kilobytes * kilobyte);
}

/** 10 to 50 kB. */
const sizeOf = (number: number): number => 10 + ((number * 13) % 41);

const rowOf = (at: number): string => `${at},customer ${at % 97},${((at * 37) % 10_007) / 100},${regions[at % 3]}\n`;

/** So many kilocharacters. */
function repeated(piece: (at: number) => string, kilocharacters: number): string {
  let text = '';
  for (let at = 0; text.length < kilocharacters * kilobyte; at++) text += piece(at);
  return text;
}

function filesOf(directory: string, end: string): string[] {
  const path = installedPath(directory);
  const names = readdirSync(path).filter((name) => name.endsWith(end) && !name.endsWith('.test.ts'));
  return names.map((name) => readFileSync(`${path}/${name}`, 'utf8'));
}
