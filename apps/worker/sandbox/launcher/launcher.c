// Starts one tool server and stays as its supervisor: `launcher OPTIONS -- PROGRAM ARGUMENTS`.
//
// The program is a child that has confined itself (confine.c). This process is the subreaper of all descendants, answers the
// system calls that the filter hands over (notify.c), and ends the whole tree when the program ends, on command, and when
// the worker at the other end of descriptor 3 is gone. The launcher then ends as the program did.
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NICENESS = 10, OWN_NICENESS = 5, FAILED = 125, MOST_ROUNDS = 500, PATIENCE_MS = 2000 };

void fail(const char *what) {
  fprintf(stderr, "signalbox-launcher: %s: %s\n", what, strerror(errno));
  _exit(FAILED);
}

static void misused(const char *what) {
  fprintf(stderr, "signalbox-launcher: %s\n", what);
  exit(FAILED);
}

static void add_path(const char *path, const char **paths, int *count) {
  if (*count == MOST_PATHS) misused("too many paths");
  paths[(*count)++] = path;
}

static enum level read_level(const char *value) {
  if (strcmp(value, "supervised") == 0) return SUPERVISED;
  if (strcmp(value, "process") == 0) return PROCESS;
  if (strcmp(value, "confined") != 0) misused("--level is supervised, process or confined");
  return CONFINED;
}

static void read_network(struct options *options, const char *value) {
  if (strcmp(value, "none") == 0) options->network = NETWORK_NONE;
  else if (strcmp(value, "full") == 0) options->network = NETWORK_FULL;
  else if (sscanf(value, "proxy:%d", &options->proxy_port) == 1) options->network = NETWORK_PROXY;
  else misused("--network is none, full or proxy:PORT");
}

static void read_user(struct options *options, const char *value) {
  options->drop_user = sscanf(value, "%u:%u", &options->uid, &options->gid) == 2;
  if (!options->drop_user) misused("--user is UID:GID"); // never start the program as the user that it must leave
}

static char **read_options(char **words, struct options *options) {
  for (; *words != NULL && strcmp(*words, "--") != 0; words += 2) {
    const char *name = words[0], *value = words[1];
    if (value == NULL) misused("an option without its value");
    if (strcmp(name, "--level") == 0) options->level = read_level(value);
    else if (strcmp(name, "--network") == 0) read_network(options, value);
    else if (strcmp(name, "--read") == 0) add_path(value, options->readable, &options->readables);
    else if (strcmp(name, "--write") == 0) add_path(value, options->writable, &options->writables);
    else if (strcmp(name, "--user") == 0) read_user(options, value);
    else if (strcmp(name, "--keep-read") == 0) options->keep_read = strcmp(value, "yes") == 0;
    else if (strcmp(name, "--keep-write") == 0) options->keep_write = strcmp(value, "yes") == 0;
    else if (strcmp(name, "--tasks") == 0) options->max_tasks = atol(value);
    else if (strcmp(name, "--memory") == 0) options->memory = strtoull(value, NULL, 10);
    else if (strcmp(name, "--count-names") == 0) options->count_names = strcmp(value, "yes") == 0;
    else if (strcmp(name, "--data") == 0) options->data = strtoull(value, NULL, 10);
    else if (strcmp(name, "--cpu") == 0) options->cpu = strtoull(value, NULL, 10);
    else if (strcmp(name, "--fsize") == 0) options->fsize = strtoull(value, NULL, 10);
    else if (strcmp(name, "--nofile") == 0) options->nofile = strtoull(value, NULL, 10);
    else if (strcmp(name, "--landlock-abi") == 0) options->landlock_abi = atoi(value);
    else misused("an unknown option");
  }
  if (words[0] == NULL || words[1] == NULL) misused("no program after --");
  return words + 1;
}

static void write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, text, strlen(text)) < 0) errno = 0; // a system that refuses the value keeps its own
  close(file);
}

struct program {
  char **words;
  const struct options *options;
  int listener;
};

// Runs in the child until execv, sharing memory and descriptors with this process (as vfork does), so that the listener of
// the child's filter is open here too.
static int become_program(void *given) {
  struct program *program = given;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL); // ends the program if this supervisor is killed
  setpriority(PRIO_PROCESS, 0, NICENESS);
  write_file("/proc/self/oom_score_adj", "500"); // without memory, the kernel ends tools before their supervisors
  program->listener = confine(program->options);
  execv(program->words[0], program->words);
  fail("starting the program");
}

static pid_t start(struct program *program) {
  static char stack[256 * 1024] __attribute__((aligned(16)));
  // The worker may have inherited descriptors above its own.
  if (syscall(436 /* close_range */, CONTROL, ~0u, 4 /* at exec only */) < 0)
    for (int descriptor = CONTROL; descriptor < 4096; descriptor++) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  if (program->options->level == SUPERVISED && program->options->count_names) fcntl(GRANTS, F_SETFD, 0); // for the launcher inside
  pid_t child = clone(become_program, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, program);
  if (child < 0) fail("making a process");
  return child;
}

static bool stopped;
static bool held; // stopped by the worker, or above the memory bound until the worker ends the tree
static bool over;

// Repeats until two rounds find no running process, for tasks that were being made; the filter allows no new ones.
void stop_tree(int most_rounds) {
  stopped = true;
  for (int round = 0, still = 0; round < most_rounds && still < 2; round++) {
    signal_tree(SIGSTOP);
    still = count_running() == 0 ? still + 1 : 0;
    if (still == 0) usleep(1000);
  }
}

void resume_tree(void) {
  if (held) return;
  stopped = false;
  signal_tree(SIGCONT);
}

// A command is one letter. A stop is answered, since the worker relies on it.
static bool obey(void) {
  char command;
  ssize_t got = read(CONTROL, &command, 1);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0 || command == 'k') return false;
  if (command == 't') signal_tree(SIGTERM);
  if (command == 's') {
    held = true;
    stop_tree(MOST_ROUNDS);
    if (write(CONTROL, "s", 1) < 0) return false;
  }
  if (command == 'c' && !over) {
    held = false;
    resume_tree();
  }
  return true;
}

// Reaps all ended children. Returns false if the program is among them, with its status in `status`.
static bool reap(pid_t program, int *status) {
  bool lives = true;
  int other;
  for (pid_t pid; (pid = waitpid(-1, &other, WNOHANG)) > 0;) {
    if (pid != program) continue;
    *status = other;
    lives = false;
  }
  return lives;
}

// Without the listener no task can be added, so the loop ends. Orphans become children of this process in the next round.
static void end_tree(int listener) {
  close(listener);
  do signal_tree(SIGKILL);
  while (waitpid(-1, NULL, 0) > 0 && reap(0, NULL));
}

long long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// Returns false if the worker was told that the tree is over the bound, but did not end it.
static bool bound_memory(uint64_t bound, long long *due) {
  if (now_ms() < *due) return true;
  if (over) return false;
  int pause = look_at_memory(bound);
  if (pause < 0) {
    over = held = true;
    pause = PATIENCE_MS;
    // Tell the worker while the tree lives, before the worker sees the end of its output.
    if (write(CONTROL, "m", 1) < 0) return false;
  }
  *due = now_ms() + pause;
  return true;
}

static int supervise(pid_t program, int listener, const struct options *options, const sigset_t *signals) {
  struct pollfd sources[] = {{signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK), POLLIN, 0},
                             {CONTROL, POLLIN, 0},
                             {listener, POLLIN, 0},
                             {options->count_names && options->level != SUPERVISED ? GRANTS : -1, POLLIN, 0}};
  int status = -1;
  long long due = now_ms();
  for (;;) {
    sources[2].fd = stopped || holds_call() ? -1 : listener;
    long long wait = options->memory == 0 ? -1 : due - now_ms();
    if (poll(sources, 4, wait < 0 && options->memory != 0 ? 0 : (int)wait) < 0 && errno != EINTR) fail("waiting");
    struct signalfd_siginfo signal;
    while (read(sources[0].fd, &signal, sizeof signal) == sizeof signal)
      if (signal.ssi_signo != SIGCHLD) signal_tree((int)signal.ssi_signo);
    if (!reap(program, &status)) break;
    if (sources[1].revents != 0 && !obey()) break;
    if (options->memory != 0 && !bound_memory(options->memory, &due)) break;
    if (sources[3].revents != 0 && !take_grant(listener)) sources[3].fd = -1;
    if (!stopped && sources[2].revents & POLLIN) answer(listener, options);
    else if (sources[2].revents & (POLLHUP | POLLERR)) listener = -1; // no process is left that could ask
  }
  end_tree(listener);
  return status;
}

int main(int argc, char **argv) {
  (void)argc;
  struct options options = {.level = CONFINED, .landlock_abi = 99, .max_tasks = 512};
  char **words = read_options(argv + 1, &options);
  // Inside bubblewrap no worker is at the other end, so a silent pipe takes its place.
  int silent[2];
  if (fcntl(CONTROL, F_GETFD) < 0 && (pipe(silent) < 0 || dup2(silent[0], CONTROL) < 0)) fail("making a pipe");
  sigset_t signals;
  sigemptyset(&signals);
  for (const int *each = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, 0}; *each != 0; each++) sigaddset(&signals, *each);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  signal(SIGPIPE, SIG_IGN);
  // Tools have a lower CPU priority than this process. Linux may share the CPU among sessions first: a server is one session.
  setpriority(PRIO_PROCESS, 0, OWN_NICENESS);
  write_file("/proc/self/autogroup", "10");
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) fail("becoming the subreaper");
  drop_rights(&options);

  struct program program = {words, &options, -1};
  pid_t child = start(&program);
  // Close the program's streams here, so that the worker sees their ends.
  for (int stream = 0; stream < 3; stream++) close(stream);
  fcntl(CONTROL, F_SETFL, O_NONBLOCK);
  if (options.count_names) fcntl(GRANTS, F_SETFL, O_NONBLOCK);

  int status = supervise(child, program.listener, &options, &signals);
  if (status < 0) raise(SIGKILL);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &signals, NULL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}
