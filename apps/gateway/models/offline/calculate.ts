// Evaluates + - * / % ^ and parentheses by recursive descent, bounded in depth.

const expressionPattern = /(?<![\w./:-])[(\d][\d\s()+*/.^%-]{1,200}(?![\w/:])/g;
const ofAHundred = /(\d)\s?%\s+of\s+(?=\d)/gi;
const signWords: [RegExp, string][] = [
  [/乘以?|\btimes\b|\bmultiplied by\b|×/gi, '*'],
  [/除以|\bdivided by\b|÷/gi, '/'],
  [/加上?|\bplus\b/gi, '+'],
  [/减去?|\bminus\b/gi, '-'],
];

/** Finds `12 * (3 + 4)`, 12乘以8 or 15% of 80, and returns it with plain operators. */
export function arithmeticIn(text: string): string | undefined {
  if (!/\d/.test(text)) return undefined;
  let plain = text.slice(0, 2000).replace(ofAHundred, '$1/100*');
  for (const [word, sign] of signWords) plain = plain.replace(word, sign);
  for (const match of plain.matchAll(expressionPattern)) {
    const expression = match[0].trim().replace(/[.\s+*/^%-]+$/, '');
    if (/\d\s*[+*/^%-]\s*[\d(]/.test(expression) && !/^\d{1,4}-\d{1,2}-\d{1,2}$|^\d+\.\d+\.\d+/.test(expression))
      return expression;
  }
  return undefined;
}

/** Undefined if it is not a valid expression. */
export function calculate(expression: string): number | undefined {
  const tokens = expression.match(/\d+(?:\.\d+)?|[()+\-*/%^]/g) ?? [];
  if (tokens.length > 200 || expression.replace(/[\d.\s()+\-*/%^]/g, '') !== '') return undefined;
  let at = 0;
  const isNext = (...signs: string[]) => signs.includes(tokens[at] ?? '');
  const sum = (depth: number): number => {
    let value = product(depth);
    while (isNext('+', '-')) value = tokens[at++] === '+' ? value + product(depth) : value - product(depth);
    return value;
  };
  const product = (depth: number): number => {
    let value = power(depth);
    while (isNext('*', '/', '%')) {
      const sign = tokens[at++];
      const right = power(depth);
      value = sign === '*' ? value * right : sign === '/' ? value / right : value % right;
    }
    return value;
  };
  const power = (depth: number): number => {
    const value = single(depth);
    if (!isNext('^')) return value;
    at += 1;
    return value ** power(depth + 1);
  };
  const single = (depth: number): number => {
    if (depth > 50) return Number.NaN;
    const token = tokens[at++];
    if (token === '-') return -single(depth + 1);
    if (token !== '(') return Number(token);
    const value = sum(depth + 1);
    return tokens[at++] === ')' ? value : Number.NaN;
  };
  const value = sum(0);
  return at === tokens.length && Number.isFinite(value) ? Number(value.toPrecision(12)) : undefined;
}
