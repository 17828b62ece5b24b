/* What tries to outlive its server. A survivor shows that it lives by a file that grows; by itself it ends after four
 * seconds. The harness looks after it has ended the server. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double life = 4;

static void leave_mark(const char *path) {
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0) return;
  if (write(fd, "x", 1) != 1) _exit(STOPPED);
  close(fd);
}

int survivor(char **a) {
  pid_t parent = getppid();
  for (double end = seconds() + life; seconds() < end; usleep(20000)) leave_mark(a[0]);
  /* One that is stopped does not end by itself. */
  if (a[1] != NULL && getppid() == parent) kill(parent, SIGKILL);
  return WORKED;
}

static void close_all(void) {
  for (int fd = 0; fd < 64; fd++) close(fd);
}

/** Environment, name, session, directory, limits and descriptors: nothing is left that was inherited. */
static void shed_everything(const char *path, bool end_parent) {
  setsid();
  if (chdir("/") != 0) return;
  for (int signal = 1; signal < 32; signal++) sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
  for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
    struct rlimit limit;
    if (kind == RLIMIT_CPU || kind == RLIMIT_FSIZE || kind == RLIMIT_DATA || kind == RLIMIT_AS) continue;
    if (kind == RLIMIT_STACK || kind == RLIMIT_NPROC || getrlimit(kind, &limit) != 0) continue;
    if (limit.rlim_max > 64) limit.rlim_max = 64;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    setrlimit(kind, &limit);
  }
  prctl(PR_SET_PDEATHSIG, 0);
  prctl(PR_SET_NAME, "kworker");
  close_all();
  run_self((char *[]){ "kworker", "survivor", (char *)path, end_parent ? "end-parent" : NULL, NULL }, (char *[]){ NULL });
  _exit(STOPPED);
}

/** Two forks and a session of its own, as daemons do. */
static void start_daemon(const char *path) {
  pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) shed_everything(path, false);
    _exit(0);
  }
  waitpid(child, NULL, 0);
}

/** Another process every millisecond: whoever lists the processes finds one that has gone. */
static void start_hopper(const char *path) {
  if (fork() != 0) return;
  setsid();
  close_all();
  for (double end = seconds() + life; seconds() < end;) {
    leave_mark(path);
    usleep(1000);
    if (fork() != 0) _exit(0);
  }
  _exit(0);
}

static void wait_for_mark(const char *path) {
  for (double end = seconds() + 2; access(path, F_OK) != 0 && seconds() < end;) usleep(1000);
}

static enum outcome leave_daemon(char **a) {
  start_daemon(a[0]);
  wait_for_mark(a[0]);
  return access(a[0], F_OK) == 0 ? WORKED : stopped("fork");
}

static enum outcome leave_hopper(char **a) {
  start_hopper(a[0]);
  wait_for_mark(a[0]);
  return access(a[0], F_OK) == 0 ? WORKED : stopped("fork");
}

/** As a child of the own parent: a brother, not a descendant. */
static enum outcome leave_brother(char **a) {
  long child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) shed_everything(a[0], false);
  if (child < 0) return stopped("clone");
  wait_for_mark(a[0]);
  return WORKED;
}

/** A child that is stopped cannot end by itself. */
static enum outcome leave_stopped(char **a) {
  pid_t child = fork();
  if (child == 0) {
    if (fork() == 0) shed_everything(a[0], true);
    raise(SIGSTOP);
    _exit(0);
  }
  wait_for_mark(a[0]);
  return WORKED;
}

static void nothing(int signal) {
  (void)signal;
}

/** FILE: a timer of the kernel wakes it up whenever it is stopped. */
static enum outcome run_while_stopped(char **a) {
  struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
  struct itimerspec often = { { 0, 5000000 }, { 0, 5000000 } };
  timer_t timer;
  signal(SIGCONT, nothing);
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return stopped("timer_create");
  if (timer_settime(timer, 0, &often, NULL) != 0) return stopped("timer_settime");
  return survivor((char *[]){ a[0], NULL }) == WORKED ? WORKED : STOPPED;
}

/** FILE HARNESS_PID SIGNAL: first what shall survive, then the process that watches over it. */
static enum outcome attack_launcher(char **a) {
  pid_t parent = getppid();
  if (parent <= 1 || parent == atoi(a[1])) return not_tried("no launcher is above this process");
  start_daemon(a[0]);
  wait_for_mark(a[0]);
  return unless_refused(kill(parent, atoi(a[2])), "kill");
}

/** FILE HARNESS_PID SIGNAL: by the launcher's own process group, which a process of its session may join. */
static enum outcome attack_launcher_group(char **a) {
  pid_t parent = getppid();
  if (parent <= 1 || parent == atoi(a[1])) return not_tried("no launcher is above this process");
  start_daemon(a[0]);
  wait_for_mark(a[0]);
  if (setpgid(0, getpgid(parent)) != 0) return stopped("setpgid");
  return unless_refused(kill(0, atoi(a[2])), "kill");
}

/** FILE HARNESS_PID: everything that it can see from its parent up, but not the harness. */
static enum outcome trace_launcher(char **a) {
  pid_t parent = getppid();
  if (parent <= 1 || parent == atoi(a[1])) return not_tried("no launcher is above this process");
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", parent);
  int fd = open(path, O_RDONLY);
  return unless_refused(fd, "open");
}

const struct attack survival_attacks[] = {
  { "leave-daemon", 1, leave_daemon },
  { "leave-hopper", 1, leave_hopper },
  { "leave-brother", 1, leave_brother },
  { "leave-stopped", 1, leave_stopped },
  { "run-while-stopped", 1, run_while_stopped },
  { "attack-launcher", 3, attack_launcher },
  { "attack-launcher-group", 3, attack_launcher_group },
  { "read-launcher", 2, trace_launcher },
  { NULL, 0, NULL },
};
