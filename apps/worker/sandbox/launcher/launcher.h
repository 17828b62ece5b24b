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
  uint64_t data, cpu, fsize, nofile;
};

// confine.c: what the child does to itself before the program. All end the process with a message on failure.
void drop_rights(const struct options *options);
int confine(const struct options *options); // the listener that notify.c answers on, -1 without a filter

// notify.c: system calls that need a look at the tree or at a path.
void answer(int listener, const struct options *options);

// tree.c: all descendants of this process.
void signal_tree(int signal);
bool in_tree(pid_t pid);
long count_tasks(void);
int count_running(void);                   // processes that have not stopped yet

void fail(const char *what) __attribute__((noreturn));
#endif
