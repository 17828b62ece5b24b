/* Files that are none of ours: each act on a path. The harness looks whether what changes files has changed them. */
#include "probe.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static enum outcome read_file(char **a) {
  return read_and_compare(a[0], a[1]);
}

/** A directory in which a name is known to be. */
static enum outcome list(char **a) {
  DIR *directory = opendir(a[0]);
  if (directory == NULL) return stopped("opendir");
  for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
    if (strcmp(entry->d_name, a[1]) == 0) return WORKED;
  }
  return stopped("readdir");
}

static enum outcome write_file(char **a) {
  int fd = open(a[0], O_WRONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  return unless_refused(write(fd, "changed", 7), "write");
}

static enum outcome create(char **a) {
  int fd = open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return stopped("open");
  return unless_refused(write(fd, "created", 7), "write");
}

static enum outcome make_directory(char **a) {
  return unless_refused(mkdir(a[0], 0700), "mkdir");
}

static enum outcome make_link(char **a) {
  return unless_refused(symlink("/", a[0]), "symlink");
}

static enum outcome make_fifo(char **a) {
  return unless_refused(mkfifo(a[0], 0600), "mkfifo");
}

static enum outcome delete(char **a) {
  return unless_refused(unlink(a[0]), "unlink");
}

static enum outcome rename_file(char **a) {
  return unless_refused(rename(a[0], a[1]), "rename");
}

static enum outcome truncate_file(char **a) {
  return unless_refused(truncate(a[0], 0), "truncate");
}

static enum outcome change_mode(char **a) {
  return unless_refused(chmod(a[0], (mode_t)strtoul(a[1], NULL, 8)), "chmod");
}

/** To the group it has: an owner may do that as well. */
static enum outcome change_owner(char **a) {
  return unless_refused(chown(a[0], (uid_t)-1, (gid_t)atoi(a[1])), "chown");
}

static enum outcome change_times(char **a) {
  struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
  return unless_refused(utimensat(AT_FDCWD, a[0], times, 0), "utimensat");
}

static enum outcome set_attribute(char **a) {
  if (setxattr(a[0], "user.signalbox", "x", 1, 0) == 0) return WORKED;
  return errno == ENOTSUP ? not_tried("no extended attributes here") : stopped("setxattr");
}

static enum outcome lock(char **a) {
  int fd = open(a[0], O_RDONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  return unless_refused(flock(fd, LOCK_EX | LOCK_NB), "flock");
}

/** Another name for it in the own directory, and the content by that name. */
static enum outcome hard_link(char **a) {
  if (link(a[0], a[1]) != 0) return stopped("link");
  enum outcome outcome = read_and_compare(a[1], a[2]);
  unlink(a[1]);
  return outcome;
}

static enum outcome follow_link(char **a) {
  if (symlink(a[0], a[1]) != 0) return not_tried("no symbolic links in the workspace");
  enum outcome outcome = read_and_compare(a[1], a[2]);
  unlink(a[1]);
  return outcome;
}

static enum outcome climb(char **a) {
  char path[4096] = "";
  for (int depth = 0; depth < 24; depth++) strcat(path, "../");
  strncat(path, a[0], sizeof path - 100);
  return read_and_compare(path, a[1]);
}

/** Somebody else uses the file all the time: whether that can be seen. */
static enum outcome watch(char **a) {
  int fd = inotify_init1(IN_CLOEXEC);
  if (fd < 0) return stopped("inotify_init");
  if (inotify_add_watch(fd, a[0], IN_ALL_EVENTS) < 0) return stopped("inotify_add_watch");
  struct pollfd waiting = { .fd = fd, .events = POLLIN };
  errno = ETIMEDOUT;
  return poll(&waiting, 1, 2000) == 1 ? WORKED : stopped("poll");
}

static enum outcome enter(char **a) {
  if (chdir(a[0]) != 0) return stopped("chdir");
  return read_and_compare(a[1], a[2]);
}

static enum outcome size_of(char **a) {
  struct stat found;
  return unless_refused(stat(a[0], &found), "stat");
}

/** SECRET_FILE LINK OWN_FILE: who looks at what a path leads to and then uses the path once more can be led elsewhere. */
static enum outcome change_mode_in_race(char **a) {
  char other[4096];
  snprintf(other, sizeof other, "%s-next", a[1]);
  int own = open(a[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (own < 0) return not_tried("no file in the workspace");
  close(own);
  pid_t child = fork();
  if (child < 0) return not_tried("no process");
  for (double end = seconds() + 1; seconds() < end;) {
    if (child != 0) {
      chmod(a[1], 0644);
      continue;
    }
    for (int at = 0; at < 2; at++) {
      unlink(other);
      if (symlink(at == 0 ? a[0] : a[2], other) != 0 || rename(other, a[1]) != 0) _exit(1);
    }
  }
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  return stopped("chmod");
}

/** FILE, which whoever runs it would run as this user. */
static enum outcome leave_set_uid(char **a) {
  int fd = open(a[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 04755);
  struct stat found;
  if (fd < 0) return stopped("open");
  fstat(fd, &found);
  if ((found.st_mode & S_ISUID) == 0) fchmod(fd, 04755), fstat(fd, &found);
  unlink(a[0]);
  return found.st_mode & S_ISUID ? WORKED : stopped("fchmod");
}

static enum outcome run_file(char **a) {
  execl(a[0], a[0], "run-marker", (char *)NULL);
  return stopped("execve");
}

static enum outcome run_marker(char **a) {
  (void)a;
  return WORKED;
}

const struct attack file_attacks[] = {
  { "read", 2, read_file },
  { "list", 2, list },
  { "write", 1, write_file },
  { "create", 1, create },
  { "mkdir", 1, make_directory },
  { "symlink", 1, make_link },
  { "mkfifo", 1, make_fifo },
  { "delete", 1, delete },
  { "rename", 2, rename_file },
  { "truncate", 1, truncate_file },
  { "chmod", 2, change_mode },
  { "chown", 2, change_owner },
  { "utimes", 1, change_times },
  { "setxattr", 1, set_attribute },
  { "lock", 1, lock },
  { "hard-link", 3, hard_link },
  { "follow-link", 3, follow_link },
  { "climb", 2, climb },
  { "watch", 1, watch },
  { "enter", 3, enter },
  { "stat", 1, size_of },
  { "chmod-race", 3, change_mode_in_race },
  { "leave-set-uid", 1, leave_set_uid },
  { "run", 1, run_file },
  { "run-marker", 0, run_marker },
  { NULL, 0, NULL },
};
