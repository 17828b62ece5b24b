// The lines of two texts beside each other. Pure.

/** A line of one text, of the other, or of both. `skipped`: so many lines that both have stand here. */
export type DiffRow =
  | { kind: 'same'; text: string }
  | { kind: 'changed'; left: string | undefined; right: string | undefined }
  | { kind: 'skipped'; count: number };

/** Texts are compared up to here, and what is longer is said to be cut. */
export const mostCompared = 200_000;
/** Above it the middle of both texts counts as changed whole. */
const mostCells = 4_000_000;
/** How many lines around a change are shown. */
const around = 2;
/** So few lines are not worth folding. */
const mostUnfolded = 3;

export function lineDiff(left: string | undefined, right: string | undefined): DiffRow[] {
  const [one, other] = [linesOf(left), linesOf(right)];
  const shorter = Math.min(one.length, other.length);
  let first = 0;
  while (first < shorter && one[first] === other[first]) first++;
  let last = 0;
  while (last < shorter - first && one.at(-1 - last) === other.at(-1 - last)) last++;
  const same = (lines: readonly string[]): DiffRow[] => lines.map((text) => ({ kind: 'same', text }));
  return folded([
    ...same(one.slice(0, first)),
    ...middle(one.slice(first, one.length - last), other.slice(first, other.length - last)),
    ...same(one.slice(one.length - last)),
  ]);
}

const linesOf = (text: string | undefined): string[] =>
  text === undefined ? [] : text.slice(0, mostCompared).split('\n');

/** By the longest sequence of lines that both have. */
function middle(one: readonly string[], other: readonly string[]): DiffRow[] {
  const width = other.length + 1;
  if ((one.length + 1) * width > mostCells) return besideEachOther(one, other);
  const common = new Uint32Array((one.length + 1) * width);
  for (let at = one.length - 1; at >= 0; at--) {
    for (let to = other.length - 1; to >= 0; to--) {
      common[at * width + to] =
        one[at] === other[to]
          ? common[(at + 1) * width + to + 1]! + 1
          : Math.max(common[(at + 1) * width + to]!, common[at * width + to + 1]!);
    }
  }
  const rows: DiffRow[] = [];
  let [at, to, begunAt, begunTo] = [0, 0, 0, 0];
  while (at < one.length && to < other.length) {
    if (one[at] === other[to]) {
      rows.push(...besideEachOther(one.slice(begunAt, at), other.slice(begunTo, to)), { kind: 'same', text: one[at]! });
      begunAt = ++at;
      begunTo = ++to;
    } else if (common[(at + 1) * width + to]! >= common[at * width + to + 1]!) at++;
    else to++;
  }
  return [...rows, ...besideEachOther(one.slice(begunAt), other.slice(begunTo))];
}

const besideEachOther = (one: readonly string[], other: readonly string[]): DiffRow[] =>
  Array.from({ length: Math.max(one.length, other.length) }, (_, at) => ({
    kind: 'changed',
    left: one[at],
    right: other[at],
  }));

/** Leaves out what is the same, but for the lines around a change. */
function folded(rows: readonly DiffRow[]): DiffRow[] {
  const isNear = rows.map(() => false);
  rows.forEach(({ kind }, at) => {
    if (kind === 'changed') isNear.fill(true, Math.max(0, at - around), at + around + 1);
  });
  const shown: DiffRow[] = [];
  let far: DiffRow[] = [];
  const fold = () => {
    if (far.length > mostUnfolded) shown.push({ kind: 'skipped', count: far.length });
    else shown.push(...far);
    far = [];
  };
  for (const [at, row] of rows.entries()) {
    if (!isNear[at]!) {
      far.push(row);
      continue;
    }
    fold();
    shown.push(row);
  }
  fold();
  return shown;
}
