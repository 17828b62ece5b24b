// What the parts of the launcher share. launcher.c has the story.
#ifndef SIGNALBOX_LAUNCHER_H
#define SIGNALBOX_LAUNCHER_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// SUPERVISED: limits and the tree only, around bubblewrap. PROCESS: and the count of tasks. CONFINED: and the rest.
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
  bool drop_user, keep_read, keep_write; // the rights to read, and to write, what is closed to the user
  uid_t uid;
  gid_t gid;
  long max_tasks;              // processes and threads of the whole tree
  uint64_t memory;             // of the whole tree, 0: not looked at
  bool count_names;            // on GRANTS, by this launcher or (SUPERVISED) the one inside
  uint64_t data, cpu, fsize, nofile;
};

// confine.c: what the child does to itself before the program. All end the process with a message on failure.
void drop_rights(const struct options *options);
int confine(const struct options *options); // the listener that notify.c answers on, -1 without a filter

// notify.c: system calls that need a look at the tree or at a path.
void answer(int listener, const struct options *options);
bool holds_call(void);                     // one waits for a grant, and all others behind it
bool take_grant(int listener);             // false when nobody is left to give one

// launcher.c: nothing of the tree runs, and no task is added to it, until it goes on.
void stop_tree(int most_rounds);
void resume_tree(void);
long long now_ms(void); // of a clock that nobody sets

// memory.c: how long until the tree is to be looked at again, ms; below 0 when it holds more than the bound, and is stopped.
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
