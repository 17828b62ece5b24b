// The interfaces between the parts of the launcher: see launcher.c.
#ifndef SIGNALBOX_LAUNCHER_H
#define SIGNALBOX_LAUNCHER_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// SUPERVISED: only limits and the tree, around bubblewrap. PROCESS: also counts tasks. CONFINED: all of confine.c.
enum level { SUPERVISED, PROCESS, CONFINED };
enum network { NETWORK_NONE, NETWORK_FULL, NETWORK_PROXY };
enum { MOST_PATHS = 256 };
enum { CONTROL = 3, GRANTS = 4 };

struct options {
  enum level level;
  int landlock_abi;            // the newest version to use; lower values are for tests
  enum network network;
  int proxy_port;              // of 127.0.0.1, with NETWORK_PROXY
  const char *readable[MOST_PATHS], *writable[MOST_PATHS];
  int readables, writables;
  bool drop_user, keep_read, keep_write; // keep the rights to read, and to write, files closed to the user
  uid_t uid;
  gid_t gid;
  long max_tasks;              // processes and threads of the whole tree
  uint64_t memory;             // bound of the whole tree; 0: none
  bool count_names;            // asked on GRANTS by this launcher, or by the one inside (SUPERVISED)
  uint64_t data, cpu, fsize, nofile;
};

// confine.c: runs in the child before the program. On failure, all end the process with a message.
void drop_rights(const struct options *options);
int confine(const struct options *options); // returns the listener for notify.c, -1 without a filter

// notify.c: system calls that need a look at the tree or at a path.
void answer(int listener, const struct options *options);
bool holds_call(void);                     // a call waits for a grant, and all others behind it
bool take_grant(int listener);             // false if no worker is left to grant names

// launcher.c: a stopped tree neither runs nor adds tasks.
void stop_tree(int most_rounds);
void resume_tree(void);
long long now_ms(void); // monotonic

// memory.c: returns ms until the next look; below 0 if the tree is above the bound, and stopped.
int look_at_memory(uint64_t bound);

// tree.c: all descendants of this process.
typedef void visit(pid_t pid, long tasks, void *context);
void visit_tree(visit *visit_one, void *context);
bool read_text(const char *path, char *text, size_t size); // the beginning of a file of /proc
void signal_tree(int signal);
bool in_tree(pid_t pid);
long count_tasks(void);
int count_running(void);                   // processes that have not stopped yet

void fail(const char *what) __attribute__((noreturn));
#endif
