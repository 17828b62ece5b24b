// The pages of a list: one request for each, the next one by the cursor of the one before.
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';

export interface ListPage<Row> {
  data: readonly Row[];
  next_cursor?: string | null;
}

export interface Pages<Row> {
  rows: readonly Row[];
  /** The first page is not there yet. */
  isLoading: boolean;
  error: unknown;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  reload: () => void;
}

export interface PagesOptions<Row> {
  /** With the filters in it. */
  queryKey: QueryKey;
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<ListPage<Row>>;
  /** How often the list is read again by itself; absent: never. */
  refetchInterval?: number;
}

export function usePages<Row>({ queryKey, load, refetchInterval }: PagesOptions<Row>): Pages<Row> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    ...(refetchInterval === undefined ? {} : { refetchInterval }),
  });
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  return {
    rows,
    isLoading: isPending,
    error,
    hasMore: hasNextPage,
    isLoadingMore: isFetchingNextPage,
    loadMore: () => void fetchNextPage(),
    reload: () => void refetch(),
  };
}
