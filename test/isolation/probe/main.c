/* probe ATTACK [ARGUMENTS]: tries exactly one hostile act. Exit status 0: it worked; 1: it was stopped; 2: it could not be
 * tried here. One line on stdout says why. What it does is bounded and undone: nothing of it harms the machine. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

static const struct attack *const families[] = {
  file_attacks, handle_attacks, process_attacks, memory_attacks, survival_attacks, kernel_attacks, privilege_attacks,
  legacy_attacks, ring_attacks, ipc_attacks, network_attacks, socket_attacks, exhaustion_attacks,
};

enum outcome stopped(const char *call) {
  printf("stopped: %s: %s\n", call, strerror(errno));
  return STOPPED;
}

enum outcome not_tried(const char *why) {
  printf("not tried: %s\n", why);
  return NOT_TRIED;
}

enum outcome unless_refused(long result, const char *call) {
  return result == -1 ? stopped(call) : WORKED;
}

bool reads(int fd, const char *expected) {
  char found[512];
  ssize_t length = read(fd, found, sizeof found);
  size_t wanted = strlen(expected);
  return length >= (ssize_t)wanted && memmem(found, (size_t)length, expected, wanted) != NULL;
}

enum outcome read_and_compare(const char *path, const char *expected) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  if (reads(fd, expected)) return WORKED;
  return stopped("read");
}

enum outcome exchange(int fd) {
  char answer = 0;
  struct pollfd waiting = { .fd = fd, .events = POLLIN };
  if (write(fd, "x", 1) != 1) return stopped("write");
  if (poll(&waiting, 1, 2000) != 1) return stopped("poll");
  if (read(fd, &answer, 1) != 1 || answer != 'y') return stopped("read");
  return WORKED;
}

void run_self(char *const arguments[], char *const environment[]) {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) return;
  path[length] = '\0';
  execve(path, arguments, environment);
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count < 2) return not_tried("usage: probe ATTACK [ARGUMENTS]");
  const char *name = arguments[1];
  /* The set-uid copy answers one question only, whoever runs it. */
  if (getauxval(AT_SECURE) != 0 && strcmp(name, "is-root") != 0) return not_tried("this is the set-uid copy");
  if (strcmp(name, "victim") == 0) return victim(arguments + 2);
  if (strcmp(name, "listener") == 0) return listener(arguments + 2);
  if (strcmp(name, "hold") == 0) return hold(arguments + 2);
  if (strcmp(name, "handle") == 0) return print_handle(arguments + 2);
  if (strcmp(name, "survivor") == 0) return survivor(arguments + 2);
  /* Whatever goes wrong: an attack ends. */
  alarm(15);
  for (size_t at = 0; at < sizeof families / sizeof *families; at++) {
    for (const struct attack *attack = families[at]; attack->name != NULL; attack++) {
      if (strcmp(attack->name, name) != 0) continue;
      if (count - 2 < attack->arguments) return not_tried("arguments are missing");
      enum outcome outcome = attack->run(arguments + 2);
      if (outcome == WORKED) puts("worked");
      return outcome;
    }
  }
  return not_tried("no such attack");
}
