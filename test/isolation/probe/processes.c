/* Other processes: signals to them, their priorities and limits. Whether a signal came the victim itself tells. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static enum outcome send_signal(char **a) {
  return unless_refused(kill(atoi(a[0]), SIGUSR1), "kill");
}

static enum outcome signal_group(char **a) {
  return unless_refused(kill(-atoi(a[0]), SIGUSR1), "kill");
}

static enum outcome signal_thread(char **a) {
  return unless_refused(syscall(SYS_tgkill, atoi(a[0]), atoi(a[0]), SIGUSR1), "tgkill");
}

static enum outcome signal_task(char **a) {
  return unless_refused(syscall(SYS_tkill, atoi(a[0]), SIGUSR1), "tkill");
}

static enum outcome queue_signal(char **a) {
  return unless_refused(sigqueue(atoi(a[0]), SIGUSR1, (union sigval){ 0 }), "sigqueue");
}

static enum outcome signal_descriptor(char **a) {
  int fd = (int)syscall(SYS_pidfd_open, atoi(a[0]), 0);
  if (fd < 0) return stopped("pidfd_open");
  return unless_refused(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, NULL, 0), "pidfd_send_signal");
}

/** SIGURG: what does not expect it ignores it. Root's would reach every process there is. */
static enum outcome signal_all(char **a) {
  (void)a;
  if (geteuid() == 0 && getpid() > 64) return not_tried("root would reach every process of this machine");
  return unless_refused(kill(-1, SIGURG), "kill");
}

/** The kernel sends it, when a pipe is written to. */
static enum outcome signal_by_pipe(char **a) {
  int ends[2];
  if (pipe(ends) != 0) return stopped("pipe");
  if (fcntl(ends[0], F_SETOWN, atoi(a[0])) != 0) return stopped("F_SETOWN");
  if (fcntl(ends[0], F_SETSIG, SIGUSR1) != 0) return stopped("F_SETSIG");
  if (fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) != 0) return stopped("O_ASYNC");
  return unless_refused(write(ends[1], "x", 1), "write");
}

static enum outcome set_limit(char **a) {
  struct rlimit limit = { 17, 17 };
  return unless_refused(prlimit(atoi(a[0]), RLIMIT_NOFILE, &limit, NULL), "prlimit");
}

static enum outcome read_limit(char **a) {
  struct rlimit limit;
  return unless_refused(prlimit(atoi(a[0]), RLIMIT_NOFILE, NULL, &limit), "prlimit");
}

static enum outcome set_priority(char **a) {
  return unless_refused(setpriority(PRIO_PROCESS, (id_t)atoi(a[0]), 15), "setpriority");
}

static enum outcome set_scheduler(char **a) {
  struct sched_param parameters = { 0 };
  return unless_refused(sched_setscheduler(atoi(a[0]), SCHED_IDLE, &parameters), "sched_setscheduler");
}

static enum outcome set_affinity(char **a) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  return unless_refused(sched_setaffinity(atoi(a[0]), sizeof first, &first), "sched_setaffinity");
}

static enum outcome set_io_priority(char **a) {
  enum { PROCESS = 1, IDLE = 3 << 13 };
  if (syscall(SYS_ioprio_set, PROCESS, atoi(a[0]), IDLE) != 0) return stopped("ioprio_set");
  return syscall(SYS_ioprio_get, PROCESS, atoi(a[0])) == IDLE ? WORKED : stopped("ioprio_get");
}

/** Into a file of /proc of the victim, as `oom_score_adj` and `autogroup` are. */
static enum outcome write_setting(char **a) {
  int fd = open(a[0], O_WRONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  return unless_refused(write(fd, a[1], strlen(a[1])), "write");
}

/** Above what the launcher set: less patience of the scheduler for others. */
static enum outcome raise_own_priority(char **a) {
  (void)a;
  return unless_refused(setpriority(PRIO_PROCESS, 0, -5), "setpriority");
}

const struct attack process_attacks[] = {
  { "kill", 1, send_signal },
  { "kill-group", 1, signal_group },
  { "tgkill", 1, signal_thread },
  { "tkill", 1, signal_task },
  { "sigqueue", 1, queue_signal },
  { "pidfd-signal", 1, signal_descriptor },
  { "kill-all", 0, signal_all },
  { "sigio", 1, signal_by_pipe },
  { "prlimit", 1, set_limit },
  { "prlimit-read", 1, read_limit },
  { "setpriority", 1, set_priority },
  { "sched-setscheduler", 1, set_scheduler },
  { "sched-setaffinity", 1, set_affinity },
  { "ioprio-set", 1, set_io_priority },
  { "write-setting", 2, write_setting },
  { "raise-priority", 0, raise_own_priority },
  { NULL, 0, NULL },
};
