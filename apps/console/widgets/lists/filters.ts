// The filters of a list. They are in the address, under the names that the API has for them.
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** Reads those filters and returns a function that changes some of them; an empty text takes a filter away. */
export function useFilters<const Name extends string>(
  names: readonly Name[],
): [Filters<Name>, (changes: { readonly [Each in Name]?: string | undefined }) => void] {
  const search: Record<string, string> = useSearch({ strict: false });
  const navigate = useNavigate();
  const given = names.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]] as const]));
  const change = useCallback(
    (changes: Readonly<Record<string, string | undefined>>) =>
      void navigate({ to: '.', search: (before: object) => ({ ...before, ...changes }), replace: true }),
    [navigate],
  );
  return [Object.fromEntries(given) as Filters<Name>, change];
}
