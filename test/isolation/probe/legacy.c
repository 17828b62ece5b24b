/* The same calls by the other entry points of an x86-64 kernel: those of 32-bit programs and of the x32 interface. A filter
 * that looks at the number of a call only takes them for other calls. */
#include "probe.h"
#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
/** Numbers of the 32-bit table. */
enum { UNSHARE_32 = 310, SOCKET_32 = 359, ADD_KEY_32 = 286, X32 = 0x40000000 };

static long call_32(long number, long first, long second, long third) {
  long result;
  __asm__ volatile("int $0x80"
                   : "=a"(result)
                   : "a"(number), "b"(first), "c"(second), "d"(third)
                   : "memory", "cc", "r8", "r9", "r10", "r11");
  int code = (int)result;
  if (code >= 0 || code < -4095) return code;
  errno = -code;
  return -1;
}

static enum outcome socket_32(char **a) {
  (void)a;
  return unless_refused(call_32(SOCKET_32, AF_INET, SOCK_STREAM, 0), "int80 socket");
}

static enum outcome unshare_32(char **a) {
  (void)a;
  return unless_refused(call_32(UNSHARE_32, CLONE_NEWUSER, 0, 0), "int80 unshare");
}

static enum outcome socket_x32(char **a) {
  (void)a;
  return unless_refused(syscall(SYS_socket | X32, AF_INET, SOCK_STREAM, 0), "x32 socket");
}

static enum outcome unshare_x32(char **a) {
  (void)a;
  return unless_refused(syscall(SYS_unshare | X32, CLONE_NEWUSER, 0, 0), "x32 unshare");
}
#else
static enum outcome elsewhere(char **a) {
  (void)a;
  return not_tried("not on this processor");
}
#define socket_32 elsewhere
#define unshare_32 elsewhere
#define socket_x32 elsewhere
#define unshare_x32 elsewhere
#endif

const struct attack legacy_attacks[] = {
  { "int80-socket", 0, socket_32 },
  { "int80-unshare", 0, unshare_32 },
  { "x32-socket", 0, socket_x32 },
  { "x32-unshare", 0, unshare_x32 },
  { NULL, 0, NULL },
};
