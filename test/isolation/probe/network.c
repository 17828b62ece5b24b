/* Connections to listeners of this machine, each with a byte there and a byte back. */
#include "probe.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_in loopback(const char *port) {
  return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static enum outcome connect_to(int fd, const void *address, socklen_t length) {
  if (fd < 0 && (errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT)) return not_tried("not in this kernel");
  if (fd < 0) return stopped("socket");
  if (connect(fd, address, length) != 0) return stopped("connect");
  return exchange(fd);
}

/** PORT, where no other argument is named. */
static enum outcome connect_v4(char **a) {
  struct sockaddr_in to = loopback(a[0]);
  return connect_to(socket(AF_INET, SOCK_STREAM, 0), &to, sizeof to);
}

static enum outcome connect_v6(char **a) {
  struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(a[0])),
                             .sin6_addr = IN6ADDR_LOOPBACK_INIT };
  return connect_to(socket(AF_INET6, SOCK_STREAM, 0), &to, sizeof to);
}

static enum outcome connect_mapped(char **a) {
  struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(a[0])) };
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr);
  return connect_to(socket(AF_INET6, SOCK_STREAM, 0), &to, sizeof to);
}

/** The protocol for several ways at once is a socket of another kind, which ends at the same listener. */
static enum outcome connect_multipath(char **a) {
  enum { MULTIPATH = 262 };
  struct sockaddr_in to = loopback(a[0]);
  return connect_to(socket(AF_INET, SOCK_STREAM, MULTIPATH), &to, sizeof to);
}

/** A connection without `connect`. */
static enum outcome send_first(char **a) {
  struct sockaddr_in to = loopback(a[0]);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return stopped("socket");
  if (sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&to, sizeof to) != 1) return stopped("sendto");
  char answer = 0;
  return recv(fd, &answer, 1, 0) == 1 && answer == 'y' ? WORKED : stopped("recv");
}

static enum outcome send_datagram(char **a) {
  struct sockaddr_in to = loopback(a[0]);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (fd < 0) return stopped("socket");
  if (sendto(fd, "x", 1, 0, (void *)&to, sizeof to) != 1) return stopped("sendto");
  struct timeval wait = { .tv_sec = 2 };
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  char answer = 0;
  return recv(fd, &answer, 1, 0) == 1 && answer == 'y' ? WORKED : stopped("recv");
}

/** PATH of a socket of the worker. */
static enum outcome connect_path(char **a) {
  struct sockaddr_un to = { .sun_family = AF_UNIX };
  strncpy(to.sun_path, a[0], sizeof to.sun_path - 1);
  return connect_to(socket(AF_UNIX, SOCK_STREAM, 0), &to, sizeof to);
}

/** NAME without a file. */
static enum outcome connect_abstract(char **a) {
  struct sockaddr_un to = { .sun_family = AF_UNIX };
  strncpy(to.sun_path + 1, a[0], sizeof to.sun_path - 2);
  return connect_to(socket(AF_UNIX, SOCK_STREAM, 0), &to,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a[0])));
}

static enum outcome listen_on(char **a) {
  (void)a;
  struct sockaddr_in here = loopback("0");
  socklen_t length = sizeof here;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) return stopped("socket");
  if (bind(listener, (void *)&here, sizeof here) != 0) return stopped("bind");
  if (listen(listener, 1) != 0) return stopped("listen");
  return unless_refused(getsockname(listener, (void *)&here, &length), "getsockname");
}

/** `listen` alone binds to any free port. */
static enum outcome listen_unbound(char **a) {
  (void)a;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0) return stopped("socket");
  return unless_refused(listen(listener, 1), "listen");
}

const struct attack network_attacks[] = {
  { "tcp", 1, connect_v4 },
  { "tcp-v6", 1, connect_v6 },
  { "tcp-mapped", 1, connect_mapped },
  { "tcp-multipath", 1, connect_multipath },
  { "tcp-fast-open", 1, send_first },
  { "udp", 1, send_datagram },
  { "unix-path", 1, connect_path },
  { "unix-abstract", 1, connect_abstract },
  { "listen", 0, listen_on },
  { "listen-unbound", 0, listen_unbound },
  { NULL, 0, NULL },
};
