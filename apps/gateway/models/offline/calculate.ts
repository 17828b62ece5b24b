// Plain arithmetic by recursive descent: + - * / % ^ and parentheses, nothing else, bounded in depth.

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
    if (token === '(') {
      const value = sum(depth + 1);
      return tokens[at++] === ')' ? value : Number.NaN;
    }
    return Number(token);
  };
  const value = sum(0);
  return at === tokens.length && Number.isFinite(value) ? Number(value.toPrecision(12)) : undefined;
}
