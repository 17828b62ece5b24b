// Schemas for the types of a union that this version does not know: they are kept as they are.
import { z } from 'zod';

/** A member of such a union: its type and what it has besides. */
export const typedAs = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.looseObject({ type: z.literal(type), ...shape });

const typed = z.looseObject({ type: z.string().min(1).max(64) });

/** Types that are none of `known`. `refused`: why one of them cannot be served. */
export const otherThan = (
  known: readonly { shape: { type: z.ZodType<string | undefined> } }[],
  refused: Record<string, string> = {},
) => {
  const isKnown = (type: string) => known.some(({ shape }) => shape.type.safeParse(type).success);
  return typed
    .refine(({ type }) => !isKnown(type) && !Object.hasOwn(refused, type), {
      path: ['type'],
      error: ({ input }) => refused[(input as { type: string }).type] ?? 'is incomplete',
    })
    .transform((given) => ({ type: 'other' as const, given }));
};
