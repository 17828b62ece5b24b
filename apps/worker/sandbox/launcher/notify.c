// Answers the system calls that the filter hands over: new tasks, new names in directories, signals, modes and times of
// files, and sockets of a server that may only reach the proxy.
//
// An argument in memory can change after it was checked. So a path is read once, then opened and changed here, and the
// program's own call does not continue. Only calls whose arguments are numbers continue.
#include "launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "system-calls.h"

enum { GOES_ON = 1, WAITS = 2 }; // else an answer is 0 or a negative error number

// Names that the worker has granted, and the call that waits for more.
static long names_left;
static uint64_t held;
static bool holding;

static int may_add_task(const struct options *options) {
  static long left;
  if (left <= 0) left = options->max_tasks - count_tasks(); // count again when the free places are used up
  return left-- > 0 ? GOES_ON : -EAGAIN;
}

static int may_add_name(void) {
  if (names_left > 0) return names_left--, GOES_ON;
  if (write(GRANTS, "?", 1) < 0) return -EDQUOT; // no worker counts any more
  holding = true;
  return WAITS;
}

static bool makes_name(long nr) {
  for (size_t i = 0; i < sizeof name_calls / sizeof *name_calls; i++)
    if (name_calls[i] == nr) return true;
  for (size_t i = 0; i < sizeof flagged_calls / sizeof *flagged_calls; i++)
    if (flagged_calls[i].call == nr) return true;
  return false;
}

// kill() of 0 is for the caller's group, of -1 for everyone, and below for another group.
static int may_signal(const struct seccomp_notif *call) {
  pid_t target = (pid_t)call->data.args[0];
  if (target == -1) return -EPERM;
  if (call->data.nr == SYS_kill && target == 0) return getpgid((pid_t)call->pid) == getpgrp() ? -EPERM : GOES_ON;
  return in_tree(target < 0 ? -target : target) ? GOES_ON : -EPERM;
}

static bool read_memory(pid_t pid, uint64_t address, void *target, size_t size, size_t *got) {
  struct iovec here = {target, size}, there = {(void *)(uintptr_t)address, size};
  ssize_t length = process_vm_readv(pid, &here, 1, &there, 1, 0);
  *got = length < 0 ? 0 : (size_t)length;
  return length > 0;
}

// Reads page by page, since a path may end right before unreadable memory.
static bool read_path(pid_t pid, uint64_t address, char path[PATH_MAX]) {
  const size_t page = 4096;
  for (size_t filled = 0, got; filled < PATH_MAX; filled += got) {
    size_t piece = page - (address + filled) % page;
    if (piece > PATH_MAX - filled) piece = PATH_MAX - filled;
    if (!read_memory(pid, address + filled, path + filled, piece, &got)) return false;
    if (memchr(path + filled, '\0', got) != NULL) return true;
  }
  return false;
}

static bool is_writable(int file, const struct options *options) {
  char link[32], path[PATH_MAX];
  struct stat found;
  if (fstat(file, &found) < 0 || (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))) return false;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return false;
  path[length] = '\0';
  for (int i = 0; i < options->writables; i++) {
    size_t prefix = strlen(options->writable[i]);
    if (strncmp(path, options->writable[i], prefix) == 0 && (path[prefix] == '/' || path[prefix] == '\0')) return true;
  }
  return false;
}

// Opens the call's directory and path with O_PATH. Returns a negative error number on failure.
static int open_target(const struct seccomp_notif *call, int directory, uint64_t address, bool follow) {
  char base[64], path[PATH_MAX] = "";
  if (directory == AT_FDCWD) snprintf(base, sizeof base, "/proc/%d/cwd", call->pid);
  else snprintf(base, sizeof base, "/proc/%d/fd/%d", call->pid, directory);
  if (address != 0 && !read_path((pid_t)call->pid, address, path)) return -EFAULT;
  int from = open(base, O_PATH | O_CLOEXEC);
  if (from < 0) return errno == ENOENT ? -EBADF : -EPERM;
  if (path[0] == '\0') return from;
  // Refuse links of /proc, which would lead to files of this process.
  struct { uint64_t flags, mode, resolve; } how = {O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0, 0x02};
  int file = (int)syscall(437 /* openat2 */, from, path, &how, sizeof how);
  int error = errno;
  close(from);
  return file < 0 ? -error : file;
}

static int change_file(const struct seccomp_notif *call, int listener, const struct options *options) {
  const uint64_t *args = (const uint64_t *)call->data.args;
  long nr = call->data.nr;
  int directory = (int)args[0], flags = 0;
  uint64_t path = args[1], mode = args[2];
  if (nr == SYS_fchmod) path = 0, mode = args[1];
#ifdef SYS_chmod
  if (nr == SYS_chmod) directory = AT_FDCWD, path = args[0], mode = args[1];
#endif
  if (nr == SYS_fchmodat2 || nr == SYS_utimensat) flags = (int)args[3];
  struct timespec times[2];
  size_t got;
  bool timed = nr == SYS_utimensat && args[2] != 0;
  if (timed && (!read_memory((pid_t)call->pid, args[2], times, sizeof times, &got) || got != sizeof times)) return -EFAULT;
  int file = open_target(call, directory, path, (flags & AT_SYMLINK_NOFOLLOW) == 0);
  if (file < 0) return file;
  int answer = -EPERM;
  // The calling process may be gone, and its id reused.
  if (is_writable(file, options) && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (nr == SYS_utimensat) answer = utimensat(AT_FDCWD, link, timed ? times : NULL, 0);
    else answer = chmod(link, (mode_t)mode & 01777); // never set-user-id
    if (answer < 0) answer = -errno;
  }
  close(file);
  return answer;
}

// Gives the program a TCP socket that is connected to the proxy, so its own connect() does nothing.
static void give_proxy_socket(const struct seccomp_notif *call, int listener, const struct options *options) {
  struct seccomp_notif_resp response = {.id = call->id, .error = -ENETUNREACH};
  struct sockaddr_in proxy = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->proxy_port)};
  proxy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int flags = (int)call->data.args[1] & (SOCK_NONBLOCK | SOCK_CLOEXEC);
  int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct timeval patience = {2, 0};
  if (file >= 0) setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (file >= 0 && connect(file, (struct sockaddr *)&proxy, sizeof proxy) == 0) {
    struct timeval none = {0, 0};
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none);
    if (flags & SOCK_NONBLOCK) fcntl(file, F_SETFL, O_NONBLOCK);
    struct seccomp_notif_addfd added = {.id = call->id, .flags = 2 /* and answer with it */, .srcfd = (uint32_t)file,
                                        .newfd_flags = flags & SOCK_CLOEXEC ? O_CLOEXEC : 0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added) >= 0) response.error = 0;
  }
  if (file >= 0) close(file);
  if (response.error != 0) ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static int decide(const struct seccomp_notif *call, int listener, const struct options *options) {
  switch (call->data.nr) {
  case SYS_clone:
#ifdef SYS_fork
  case SYS_fork:
  case SYS_vfork:
#endif
    return may_add_task(options);
  case SYS_kill:
  case SYS_tkill:
  case SYS_tgkill:
  case SYS_rt_sigqueueinfo:
  case SYS_rt_tgsigqueueinfo:
    return may_signal(call);
  default:
    return makes_name(call->data.nr) ? may_add_name() : change_file(call, listener, options);
  }
}

static void reply(int listener, uint64_t id, int decided) {
  union { struct seccomp_notif_resp response; char space[1024]; } given;
  memset(&given, 0, sizeof given);
  given.response.id = id;
  if (decided == GOES_ON) given.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  else given.response.error = decided;
  ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &given.response);
}

bool holds_call(void) { return holding; }

// Reads a granted number of names as text, for each question. The asking process may have been stopped, and asks again.
bool take_grant(int listener) {
  char text[32];
  ssize_t length = read(GRANTS, text, sizeof text - 1);
  if (length <= 0) return length < 0 && (errno == EAGAIN || errno == EINTR);
  text[length] = '\0';
  names_left = atol(text);
  if (!holding || names_left <= 0) return true;
  holding = false;
  names_left--;
  reply(listener, held, GOES_ON);
  return true;
}

void answer(int listener, const struct options *options) {
  // The kernel's structures may be larger than those of the headers.
  union { struct seccomp_notif call; char space[1024]; } got;
  memset(&got, 0, sizeof got);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &got.call) < 0) return; // the calling process is gone
  if (got.call.data.nr == SYS_socket) return give_proxy_socket(&got.call, listener, options);
  int decided = decide(&got.call, listener, options);
  if (decided == WAITS) held = got.call.id;
  else reply(listener, got.call.id, decided);
}
