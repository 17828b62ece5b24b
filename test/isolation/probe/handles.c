/* A file without its path: by the handle that the file system has for it, by a descriptor that was left open. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct handle {
  struct file_handle head;
  unsigned char rest[MAX_HANDLE_SZ];
};

/** For the scene: the handle of a path as "TYPE HEX". */
int print_handle(char **a) {
  struct handle handle = { .head.handle_bytes = MAX_HANDLE_SZ };
  const unsigned char *bytes = handle.rest;
  int mount;
  if (a[0] == NULL || name_to_handle_at(AT_FDCWD, a[0], &handle.head, &mount, 0) != 0) return STOPPED;
  printf("%d ", handle.head.handle_type);
  for (unsigned at = 0; at < handle.head.handle_bytes; at++) printf("%02x", bytes[at]);
  putchar('\n');
  return WORKED;
}

/** Of a directory on the same file system, the handle, and what is in the file. */
static enum outcome open_by_handle(char **a) {
  struct handle handle = { .head.handle_type = atoi(a[1]), .head.handle_bytes = (unsigned)strlen(a[2]) / 2 };
  if (handle.head.handle_bytes > MAX_HANDLE_SZ) return not_tried("no such handle");
  for (unsigned at = 0; at < handle.head.handle_bytes; at++) {
    unsigned byte;
    sscanf(a[2] + 2 * at, "%2x", &byte);
    handle.rest[at] = (unsigned char)byte;
  }
  int mount = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (mount < 0) return not_tried("the workspace cannot be opened");
  int fd = open_by_handle_at(mount, &handle.head, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open_by_handle_at");
  return reads(fd, a[3]) ? WORKED : stopped("read");
}

enum { HELD = 70 };

/** PATH PROGRAM ARGUMENTS: for the scene. Runs the program with a descriptor of the file, as a careless parent leaves one. */
int hold(char **a) {
  int fd = a[0] == NULL ? -1 : open(a[0], O_RDONLY);
  if (fd < 0 || a[1] == NULL || dup2(fd, HELD) < 0) return NOT_TRIED;
  close(fd);
  execv(a[1], a + 1);
  return NOT_TRIED;
}

/** SECRET */
static enum outcome use_inherited(char **a) {
  return reads(HELD, a[0]) ? WORKED : stopped("read");
}

const struct attack handle_attacks[] = {
  { "inherited-descriptor", 1, use_inherited },
  { "open-by-handle", 4, open_by_handle },
  { NULL, 0, NULL },
};
