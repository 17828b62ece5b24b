// Chooses the reasoning effort of a model that is nearest to the one that the caller asked for. Pure. Each family knows the
// efforts of its models.

const scale = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

export const effortsFrom = (least: string, most: string): readonly string[] =>
  scale.slice(scale.indexOf(least), scale.indexOf(most) + 1);

/**
 * The greater of two equally near efforts: `xhigh` becomes `max` where only `high` and `max` exist, and `minimal` does not
 * turn thinking off. A word that is not on the scale stays as it is. Undefined if the model has no efforts.
 */
export function nearestEffort(asked: string, known: readonly string[]): string | undefined {
  const place = scale.indexOf(asked);
  if (place === -1 || known.includes(asked)) return known.length === 0 ? undefined : asked;
  const distance = (effort: string) => Math.abs(scale.indexOf(effort) - place);
  return known.reduce<string | undefined>(
    (best, effort) => (best === undefined || distance(effort) <= distance(best) ? effort : best),
    undefined,
  );
}
