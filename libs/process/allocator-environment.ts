// What a process of ours is started with so that it gives back memory. It cannot be set from inside: the C library reads it
// before the program begins. The image has the same.

/**
 * V8 compiles on four threads, and glibc keeps what each of them once took in an arena of its own, free and unused by
 * anything else. Two arenas do for what contention there is; what is free at the end of one goes back from 1 MiB on.
 * Other C libraries ignore it.
 */
export const allocatorEnvironment: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};
