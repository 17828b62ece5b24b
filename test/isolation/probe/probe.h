/* What the files of the probe share. Each attack tries one hostile act, bounded so that success harms nothing. */
#ifndef PROBE_H
#define PROBE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum outcome { WORKED = 0, STOPPED = 1, NOT_TRIED = 2 };

struct attack {
  const char *name;
  /** Of the arguments after the name; the list ends with NULL. */
  int arguments;
  enum outcome (*run)(char **arguments);
};

extern const struct attack file_attacks[], handle_attacks[], process_attacks[], memory_attacks[], survival_attacks[],
  kernel_attacks[], privilege_attacks[], legacy_attacks[], ring_attacks[], ipc_attacks[], network_attacks[],
  socket_attacks[], exhaustion_attacks[];

/** Prints which call failed and why. */
enum outcome stopped(const char *call);
enum outcome not_tried(const char *why);
/** For calls that return -1 when they are refused and leave nothing behind. */
enum outcome unless_refused(long result, const char *call);

/** Whether a descriptor's next bytes are `expected`. */
bool reads(int fd, const char *expected);
/** Opens, reads and compares. */
enum outcome read_and_compare(const char *path, const char *expected);
/** Sends "x" and waits up to two seconds for the listener's "y". */
enum outcome exchange(int fd);
/** Runs this program anew, with other arguments; returns only on failure. */
void run_self(char *const arguments[], char *const environment[]);
double seconds(void);

/** Programs that stand for the worker and for another tool server, run by the scene outside of every sandbox. */
int victim(char **arguments);
int listener(char **arguments);
int hold(char **arguments);
int print_handle(char **arguments);
/** What `survive` leaves behind: appends to a file for a few seconds. */
int survivor(char **arguments);
#endif
