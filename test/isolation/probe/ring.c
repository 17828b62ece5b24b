/* io_uring: the kernel does what it finds in shared memory, and no filter of calls sees what that is. */
#include "probe.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct ring {
  int fd;
  char *submissions, *completions;
  struct io_uring_sqe *entry;
  struct io_uring_params parameters;
};

static bool open_ring(struct ring *ring) {
  memset(ring, 0, sizeof *ring);
  ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->parameters);
  if (ring->fd < 0) return false;
  int protection = PROT_READ | PROT_WRITE;
  ring->submissions = mmap(NULL, 8192, protection, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
  ring->completions = mmap(NULL, 8192, protection, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
  ring->entry = mmap(NULL, 4096, protection, MAP_SHARED, ring->fd, IORING_OFF_SQES);
  return ring->submissions != MAP_FAILED && ring->completions != MAP_FAILED && (void *)ring->entry != MAP_FAILED;
}

/** One request and its result; like a call, -1 and errno. */
static int submit(struct ring *ring, struct io_uring_sqe request) {
  uint32_t *tail = (uint32_t *)(ring->submissions + ring->parameters.sq_off.tail);
  uint32_t *places = (uint32_t *)(ring->submissions + ring->parameters.sq_off.array);
  uint32_t *head = (uint32_t *)(ring->completions + ring->parameters.cq_off.head);
  uint32_t mask = *(uint32_t *)(ring->completions + ring->parameters.cq_off.ring_mask);
  struct io_uring_cqe *results = (struct io_uring_cqe *)(ring->completions + ring->parameters.cq_off.cqes);
  *ring->entry = request;
  places[0] = 0;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0) return -1;
  int result = results[*head & mask].res;
  __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

/** PATH SECRET */
static enum outcome open_by_ring(char **a) {
  struct ring ring;
  if (!open_ring(&ring)) return stopped("io_uring_setup");
  struct io_uring_sqe request = { .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)a[0],
                                  .open_flags = O_RDONLY };
  int fd = submit(&ring, request);
  if (fd < 0) return stopped("IORING_OP_OPENAT");
  return reads(fd, a[1]) ? WORKED : stopped("read");
}

static enum outcome use_ring(char **a) {
  (void)a;
  struct ring ring;
  if (!open_ring(&ring)) return stopped("io_uring_setup");
  return unless_refused(submit(&ring, (struct io_uring_sqe){ .opcode = IORING_OP_NOP }), "IORING_OP_NOP");
}

/** PORT: socket, connection, sending and receiving, all by the ring. */
static enum outcome connect_by_ring(char **a) {
  enum { MAKE_SOCKET = 45 };
  struct ring ring;
  if (!open_ring(&ring)) return stopped("io_uring_setup");
  int fd = submit(&ring, (struct io_uring_sqe){ .opcode = MAKE_SOCKET, .fd = AF_INET, .off = SOCK_STREAM });
  if (fd < 0) return stopped("IORING_OP_SOCKET");
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(a[0])),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  struct io_uring_sqe request = { .opcode = IORING_OP_CONNECT, .fd = fd, .addr = (uintptr_t)&to, .off = sizeof to };
  if (submit(&ring, request) < 0) return stopped("IORING_OP_CONNECT");
  char byte = 'x';
  struct io_uring_sqe sending = { .opcode = IORING_OP_SEND, .fd = fd, .addr = (uintptr_t)&byte, .len = 1 };
  if (submit(&ring, sending) != 1) return stopped("IORING_OP_SEND");
  struct io_uring_sqe receiving = { .opcode = IORING_OP_RECV, .fd = fd, .addr = (uintptr_t)&byte, .len = 1 };
  return submit(&ring, receiving) == 1 && byte == 'y' ? WORKED : stopped("IORING_OP_RECV");
}

const struct attack ring_attacks[] = {
  { "io-uring", 0, use_ring },
  { "io-uring-open", 2, open_by_ring },
  { "io-uring-connect", 1, connect_by_ring },
  { NULL, 0, NULL },
};
