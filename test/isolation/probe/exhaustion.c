/* More of everything than a tool server needs. Each ends at a bound of its own, which this machine has room for, and gives
 * back what it took. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 2000, MOST_FILES = 12000, MOST_DESCRIPTORS = 8192 };
static const size_t chunk = 64UL << 20, most_memory = 6UL << 30;
/* What is asked for is used in part: a page of these bytes each, which leaves room for others. */
static const size_t stride = 64UL << 10;

static void use(char *place, size_t length) {
  madvise(place, length, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < length; at += stride) place[at] = 1;
}

static enum outcome reached(int count, int most, const char *call) {
  if (count >= most) return WORKED;
  printf("%d, then ", count);
  return stopped(call);
}

static enum outcome start_processes(char **a) {
  (void)a;
  static pid_t children[MOST_PROCESSES];
  int count = 0, ends[2];
  if (pipe(ends) != 0) return stopped("pipe");
  for (double end = seconds() + 15; count < MOST_PROCESSES && seconds() < end; count++) {
    children[count] = fork();
    if (children[count] < 0) break;
    if (children[count] > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[1]);
    char byte;
    _exit((int)read(ends[0], &byte, 1));
  }
  int error = errno;
  for (int at = 0; at < count; at++) kill(children[at], SIGKILL);
  close(ends[1]);
  for (int at = 0; at < count; at++) waitpid(children[at], NULL, 0);
  errno = error;
  return reached(count, MOST_PROCESSES, "fork");
}

static void *wait_forever(void *nothing) {
  for (;;) pause();
  return nothing;
}

static enum outcome start_threads(char **a) {
  (void)a;
  int count = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (double end = seconds() + 15; count < MOST_PROCESSES && seconds() < end; count++) {
    pthread_t thread;
    int error = pthread_create(&thread, &small, wait_forever, NULL);
    if (error == 0) continue;
    errno = error;
    break;
  }
  return reached(count, MOST_PROCESSES, "pthread_create");
}

static enum outcome take_memory(int flags) {
  for (size_t taken = 0; taken < most_memory; taken += chunk) {
    char *place = mmap(NULL, chunk, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {
      printf("%zu MiB, then ", taken >> 20);
      return stopped("mmap");
    }
    use(place, chunk);
  }
  return WORKED;
}

static enum outcome private_memory(char **a) {
  (void)a;
  return take_memory(MAP_PRIVATE);
}

static enum outcome shared_memory(char **a) {
  (void)a;
  return take_memory(MAP_SHARED);
}

/** A bound of one process is none where processes are many: two that take half each. */
static enum outcome divided_memory(char **a) {
  (void)a;
  int ends[2];
  if (pipe(ends) != 0) return stopped("pipe");
  for (int child = 0; child < 2; child++) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char *place = mmap(NULL, most_memory / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) _exit(1);
    use(place, most_memory / 2);
    if (write(ends[1], "x", 1) == 1) pause();
    _exit(0);
  }
  close(ends[1]);
  char byte;
  errno = ENOMEM;
  for (int child = 0; child < 2; child++) {
    if (read(ends[0], &byte, 1) != 1) return stopped("mmap");
  }
  return WORKED;
}

/** A file that is in memory only. */
static enum outcome memory_file(char **a) {
  (void)a;
  signal(SIGXFSZ, SIG_IGN);
  int fd = (int)memfd_create("probe", MFD_CLOEXEC);
  if (fd < 0) return stopped("memfd_create");
  for (size_t taken = 0; taken < most_memory; taken += stride) {
    if (pwrite(fd, "x", 1, (off_t)taken) == 1) continue;
    printf("%zu MiB, then ", taken >> 20);
    return stopped("pwrite");
  }
  return WORKED;
}

/** As many as it takes, each of them small. */
static enum outcome memory_files(char **a) {
  (void)a;
  for (size_t taken = 0; taken < most_memory; taken += chunk / 2) {
    int fd = (int)memfd_create("probe", MFD_CLOEXEC);
    if (fd < 0) return stopped("memfd_create");
    if (ftruncate(fd, (off_t)chunk / 2) != 0) return stopped("ftruncate");
    char *place = mmap(NULL, chunk / 2, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (place == MAP_FAILED) return stopped("mmap");
    use(place, chunk / 2);
    munmap(place, chunk / 2);
  }
  return WORKED;
}

/** FILE BYTES: one byte behind the bound; what is before takes no room. */
static enum outcome large_file(char **a) {
  signal(SIGXFSZ, SIG_IGN);
  off_t bound = strtoll(a[1], NULL, 10);
  int fd = open(a[0], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return not_tried("no file in the workspace");
  bool worked = pwrite(fd, "x", 1, bound) == 1;
  if (!worked) stopped("pwrite");
  unlink(a[0]);
  return worked ? WORKED : STOPPED;
}

/** DIRECTORY */
static enum outcome many_files(char **a) {
  char path[4096];
  int count = 0, error = 0;
  for (; count < MOST_FILES; count++) {
    snprintf(path, sizeof path, "%s/many-%d", a[0], count);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0) break;
    close(fd);
  }
  error = errno;
  for (int at = 0; at < count; at++) {
    snprintf(path, sizeof path, "%s/many-%d", a[0], at);
    unlink(path);
  }
  errno = error;
  return reached(count, MOST_FILES, "open");
}

static void to_highest(int kind) {
  struct rlimit limit;
  if (getrlimit(kind, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(kind, &limit);
}

static enum outcome many_descriptors(char **a) {
  (void)a;
  to_highest(RLIMIT_NOFILE);
  int count = 0;
  while (count < MOST_DESCRIPTORS && dup(0) >= 0) count++;
  return reached(count, MOST_DESCRIPTORS, "dup");
}

/** The instances that the kernel gives a user: the worker, where it is the same one, could then watch nothing. */
static enum outcome all_watches(char **a) {
  (void)a;
  int count = 0;
  while (count < 2048 && inotify_init1(IN_CLOEXEC) >= 0) count++;
  if (count > 0 && errno == EMFILE) return WORKED;
  return reached(count, 2048, "inotify_init");
}

/** Asynchronous requests that the kernel has for all processes of the machine together. */
static enum outcome all_requests(char **a) {
  (void)a;
  unsigned long context;
  int count = 0;
  for (; count < 256; count++) {
    context = 0;
    if (syscall(SYS_io_setup, 4096, &context) != 0) break;
  }
  if (count > 0 && errno == EAGAIN) return WORKED;
  return reached(count, 256, "io_setup");
}

static enum outcome dump_core(char **a) {
  (void)a;
  to_highest(RLIMIT_CORE);
  pid_t child = fork();
  if (child == 0) abort();
  int status = 0;
  waitpid(child, &status, 0);
  errno = EPERM;
  return WIFSIGNALED(status) && WCOREDUMP(status) ? WORKED : stopped("core dump");
}

static enum outcome endless_time(char **a) {
  (void)a;
  struct rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0) return stopped("getrlimit");
  errno = EPERM;
  return limit.rlim_max == RLIM_INFINITY ? WORKED : stopped("RLIMIT_CPU");
}

/** Limits that can be raised are none. */
static enum outcome raise_limits(char **a) {
  (void)a;
  struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
  return unless_refused(setrlimit(RLIMIT_CPU, &none), "setrlimit");
}

static int descend(size_t left) {
  volatile char frame[1 << 16];
  frame[0] = 1;
  return left < sizeof frame ? frame[0] : descend(left - sizeof frame) + frame[0];
}

/** The stack is bounded when a program begins: so it begins anew. */
static enum outcome large_stack(char **a) {
  (void)a;
  to_highest(RLIMIT_STACK);
  run_self((char *[]){ "probe", "fill-stack", NULL }, (char *[]){ NULL });
  return stopped("execve");
}

static enum outcome fill_stack(char **a) {
  (void)a;
  return descend(most_memory) != 0 ? WORKED : STOPPED;
}

const struct attack exhaustion_attacks[] = {
  { "processes", 0, start_processes },
  { "threads", 0, start_threads },
  { "private-memory", 0, private_memory },
  { "shared-memory-pages", 0, shared_memory },
  { "divided-memory", 0, divided_memory },
  { "memory-file", 0, memory_file },
  { "memory-files", 0, memory_files },
  { "large-file", 2, large_file },
  { "many-files", 1, many_files },
  { "descriptors", 0, many_descriptors },
  { "watches", 0, all_watches },
  { "requests", 0, all_requests },
  { "core-dump", 0, dump_core },
  { "endless-time", 0, endless_time },
  { "raise-limits", 0, raise_limits },
  { "large-stack", 0, large_stack },
  { "fill-stack", 0, fill_stack },
  { NULL, 0, NULL },
};
