/* The memory and descriptors of other processes. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long address(const char *text) {
  return strtoul(text, NULL, 16);
}

/** PID ADDRESS SECRET */
static enum outcome trace(char **a) {
  pid_t victim = atoi(a[0]);
  if (ptrace(PTRACE_ATTACH, victim, NULL, NULL) != 0) return stopped("ptrace");
  waitpid(victim, NULL, __WALL);
  errno = 0;
  long word = ptrace(PTRACE_PEEKDATA, victim, address(a[1]), NULL);
  ptrace(PTRACE_DETACH, victim, NULL, NULL);
  return memcmp(&word, a[2], sizeof word) == 0 ? WORKED : stopped("PTRACE_PEEKDATA");
}

static enum outcome seize(char **a) {
  return unless_refused(ptrace(PTRACE_SEIZE, atoi(a[0]), NULL, NULL), "ptrace");
}

static enum outcome read_memory(char **a) {
  char found[64] = "";
  struct iovec here = { found, strlen(a[2]) }, there = { (void *)address(a[1]), strlen(a[2]) };
  if (process_vm_readv(atoi(a[0]), &here, 1, &there, 1, 0) < 0) return stopped("process_vm_readv");
  return strcmp(found, a[2]) == 0 ? WORKED : stopped("compare");
}

/** PID ADDRESS; the victim tells that it was overwritten. */
static enum outcome write_memory(char **a) {
  char text[] = "overwritten";
  struct iovec here = { text, sizeof text }, there = { (void *)address(a[1]), sizeof text };
  return unless_refused(process_vm_writev(atoi(a[0]), &here, 1, &there, 1, 0), "process_vm_writev");
}

static int open_memory(const char *pid, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/mem", pid);
  return open(path, flags | O_CLOEXEC);
}

static enum outcome read_memory_file(char **a) {
  int fd = open_memory(a[0], O_RDONLY);
  if (fd < 0) return stopped("open");
  char found[64] = "";
  if (pread(fd, found, strlen(a[2]), (off_t)address(a[1])) < 0) return stopped("pread");
  return strcmp(found, a[2]) == 0 ? WORKED : stopped("compare");
}

static enum outcome write_memory_file(char **a) {
  int fd = open_memory(a[0], O_RDWR);
  if (fd < 0) return stopped("open");
  return unless_refused(pwrite(fd, "overwritten", 12, (off_t)address(a[1])), "pwrite");
}

/** PID DESCRIPTOR SECRET */
static enum outcome take_descriptor(char **a) {
  int process = (int)syscall(SYS_pidfd_open, atoi(a[0]), 0);
  if (process < 0) return stopped("pidfd_open");
  int fd = (int)syscall(SYS_pidfd_getfd, process, atoi(a[1]), 0);
  if (fd < 0) return stopped("pidfd_getfd");
  char found[256] = "";
  return pread(fd, found, sizeof found - 1, 0) > 0 && strstr(found, a[2]) != NULL ? WORKED : stopped("pread");
}

/** PATH SECRET: a file of /proc in which the text must be somewhere, as `environ` and `cmdline` are. */
static enum outcome search_file(char **a) {
  static char found[1 << 16];
  int fd = open(a[0], O_RDONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  ssize_t length = read(fd, found, sizeof found);
  if (length <= 0) return stopped("read");
  return memmem(found, (size_t)length, a[1], strlen(a[1])) != NULL ? WORKED : stopped("compare");
}

/** PATH TARGET: where a link of /proc leads. */
static enum outcome read_link(char **a) {
  char found[4096] = "";
  if (readlink(a[0], found, sizeof found - 1) < 0) return stopped("readlink");
  return strcmp(found, a[1]) == 0 ? WORKED : stopped("compare");
}

static enum outcome compare_processes(char **a) {
  return unless_refused(syscall(SYS_kcmp, getpid(), atoi(a[0]), 1, 0, 0), "kcmp");
}

const struct attack memory_attacks[] = {
  { "ptrace-attach", 3, trace },
  { "ptrace-seize", 1, seize },
  { "process-vm-read", 3, read_memory },
  { "process-vm-write", 2, write_memory },
  { "memory-file-read", 3, read_memory_file },
  { "memory-file-write", 2, write_memory_file },
  { "pidfd-getfd", 3, take_descriptor },
  { "search", 2, search_file },
  { "read-link", 2, read_link },
  { "kcmp", 1, compare_processes },
  { NULL, 0, NULL },
};
