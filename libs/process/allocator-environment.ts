// Environment variables that make our processes return memory. They cannot be set from inside, because the C library reads
// them before the program starts. The container image sets the same.

/**
 * V8 compiles on four threads, and glibc keeps the memory each has used in a separate arena, unavailable to others. Two
 * arenas suffice for this contention; free memory at the end of an arena is returned from 1 MiB on. Other C libraries
 * ignore these variables.
 */
export const allocatorEnvironment: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};
