// Bounds the memory of the whole tree without a control group, by regular looks: the less is left, the more often. Memory
// that no process has mapped (files in memory, buffers of the kernel) is not counted.
//
// The resident size is cheap to read, but counts shared pages once for each process. The shares (PSS) are read only if the
// sum of resident sizes is above the bound, since they take the kernel some milliseconds for each GiB.
#include "launcher.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// FASTEST: bytes that a fast program allocates in a millisecond.
enum { FASTEST = 8 << 20, SHORTEST_MS = 10, LONGEST_MS = 200, PAUSES_PER_LOOK = 4, MOST_DOUBTS = 20, MOST_ROUNDS = 50 };

struct sum {
  uint64_t bytes, doubtful;
};

// Reads the bytes of a line such as `VmRSS:    1234 kB`.
static uint64_t value_of(const char *text, const char *name) {
  const char *found = strstr(text, name);
  return found == NULL ? 0 : strtoull(found + strlen(name), NULL, 10) * 1024;
}

static uint64_t resident(const char *status) { return value_of(status, "\nVmRSS:") + value_of(status, "\nVmSwap:"); }

// If the first thread has ended, only the other threads report memory.
static uint64_t resident_of_threads(pid_t pid) {
  char path[64], text[4096];
  uint64_t found = 0;
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  if (tasks == NULL) return 0;
  for (struct dirent *task; found == 0 && (task = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, atoi(task->d_name));
    if (task->d_name[0] != '.' && read_text(path, text, sizeof text)) found = resident(text);
  }
  closedir(tasks);
  return found;
}

static void add_resident(pid_t pid, long tasks, void *context) {
  char path[32], text[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  if (!read_text(path, text, sizeof text)) return;
  uint64_t bytes = resident(text);
  ((struct sum *)context)->bytes += bytes == 0 && tasks > 1 ? resident_of_threads(pid) : bytes;
}

static bool share_of(pid_t pid, uint64_t *bytes) {
  char path[32], text[4096];
  snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
  if (!read_text(path, text, sizeof text)) return false;
  *bytes = value_of(text, "\nPss:") + value_of(text, "\nSwapPss:");
  return true;
}

// Between vfork and execve a child has its parent's memory, so a child as large as its parent is doubtful.
static bool is_like_parent(pid_t pid, uint64_t bytes) {
  char path[32], text[4096];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  uint64_t other;
  const char *parent = read_text(path, text, sizeof text) ? strstr(text, "\nPPid:") : NULL;
  if (parent == NULL || !share_of((pid_t)atoi(parent + strlen("\nPPid:")), &other)) return false;
  return (bytes > other ? bytes - other : other - bytes) <= other / 8;
}

static void add_share(pid_t pid, long tasks, void *context) {
  struct sum *sum = context;
  uint64_t bytes;
  if (!share_of(pid, &bytes)) {
    add_resident(pid, tasks, context);
    return;
  }
  sum->bytes += bytes;
  if (is_like_parent(pid, bytes)) sum->doubtful += bytes;
}

// ---- whether it has run at all ----

enum { MOST_WATCHED = 32 };
static pid_t watched[MOST_WATCHED];
static int watching; // above MOST_WATCHED, the processor time is unknown

static void watch_one(pid_t pid, long tasks, void *context) {
  (void)tasks;
  (void)context;
  if (watching < MOST_WATCHED) watched[watching] = pid;
  watching++;
}

// Processor time of the watched processes, ns. A process that has gained memory has used some, or its parent has.
static int64_t processor_time(void) {
  int64_t sum = 0;
  for (int i = 0; i < watching; i++) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(watched[i], &clock) != 0 || clock_gettime(clock, &time) < 0) return -1;
    sum += time.tv_sec * 1000000000LL + time.tv_nsec;
  }
  return sum;
}

static bool has_rested(void) {
  static int64_t before = -1;
  int64_t now = watching == 0 || watching > MOST_WATCHED ? -1 : processor_time();
  bool rested = now >= 0 && now == before;
  if (!rested) {
    watching = 0;
    visit_tree(watch_one, NULL);
    // Read the time before the memory, so that later use counts.
    before = watching > MOST_WATCHED ? -1 : processor_time();
  }
  return rested;
}

// Stops the tree while reading, since it may allocate more meanwhile.
static bool is_above(uint64_t bound, uint64_t *bytes) {
  static int doubts; // in a row
  struct sum sum = {0, 0};
  stop_tree(MOST_ROUNDS);
  visit_tree(add_share, &sum);
  *bytes = sum.bytes;
  if (sum.bytes <= bound) doubts = 0;
  else if (sum.bytes - sum.doubtful > bound || doubts++ >= MOST_DOUBTS) return true;
  resume_tree();
  return false;
}

int look_at_memory(uint64_t bound) {
  static double pause = SHORTEST_MS;
  long long began = now_ms();
  if (has_rested()) return (int)pause;
  struct sum sum = {0, 0};
  visit_tree(add_resident, &sum);
  if (sum.bytes > bound && is_above(bound, &sum.bytes)) return -1;
  double left = sum.bytes < bound ? (double)(bound - sum.bytes) : 0, took = (double)(now_ms() - began);
  pause = left / FASTEST;
  if (pause > LONGEST_MS) pause = LONGEST_MS;
  if (pause < SHORTEST_MS) pause = SHORTEST_MS;
  if (pause < took * PAUSES_PER_LOOK) pause = took * PAUSES_PER_LOOK;
  return (int)pause;
}
