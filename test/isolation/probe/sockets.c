/* Sockets of the less usual kinds. */
#include "probe.h"
#include <errno.h>
#include <linux/if_alg.h>
#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static enum outcome unless_unknown(int fd) {
  if (fd < 0 && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT)) return not_tried("not in this kernel");
  return unless_refused(fd, "socket");
}

static enum outcome raw_packets(char **a) {
  (void)a;
  return unless_unknown(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
}

static enum outcome link_packets(char **a) {
  (void)a;
  return unless_unknown(socket(AF_PACKET, SOCK_RAW, __builtin_bswap16(ETH_P_ALL)));
}

/** Asks the kernel for the network devices. */
static enum outcome ask_kernel(char **a) {
  (void)a;
  int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (fd < 0) return stopped("socket");
  struct { struct nlmsghdr head; struct rtgenmsg body; } request = {
    .head = { .nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
  };
  char answer[8192];
  if (send(fd, &request, sizeof request, 0) < 0) return stopped("send");
  return unless_refused(recv(fd, answer, sizeof answer, 0), "recv");
}

/** To the machine that this one runs on; only a place to listen is taken. */
static enum outcome virtual_machine(char **a) {
  (void)a;
  int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
  enum outcome outcome = unless_unknown(fd);
  if (outcome != WORKED) return outcome;
  struct sockaddr_vm here = { .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = VMADDR_PORT_ANY };
  return unless_refused(bind(fd, (void *)&here, sizeof here), "bind");
}

static enum outcome kernel_ciphers(char **a) {
  (void)a;
  return unless_unknown(socket(AF_ALG, SOCK_SEQPACKET, 0));
}

/** Descriptors for the worker, which has not asked for them, on the pipe that is our stdout. */
static enum outcome send_descriptor(char **a) {
  (void)a;
  char room[CMSG_SPACE(sizeof(int))] = { 0 };
  char newline = '\n';
  struct iovec text = { &newline, 1 };
  struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
  int own = 0;
  memcpy(CMSG_DATA(head), &own, sizeof own);
  return unless_refused(sendmsg(1, &message, 0), "sendmsg");
}

/** PATH TEXT: one of a pair can send to anyone, where it is of the kind that needs no connection. */
static enum outcome send_from_pair(char **a, int kind) {
  int pair[2];
  struct sockaddr_un to = { .sun_family = AF_UNIX };
  strncpy(to.sun_path, a[0], sizeof to.sun_path - 1);
  if (socketpair(AF_UNIX, kind, 0, pair) != 0) return stopped("socketpair");
  return unless_refused(sendto(pair[0], a[1], strlen(a[1]), 0, (void *)&to, sizeof to), "sendto");
}

static enum outcome datagram_pair(char **a) {
  return send_from_pair(a, SOCK_DGRAM);
}

/** Among local sockets this is another name for datagrams. */
static enum outcome raw_pair(char **a) {
  return send_from_pair(a, SOCK_RAW);
}

static enum outcome send_datagram_to(char **a) {
  struct sockaddr_un to = { .sun_family = AF_UNIX };
  strncpy(to.sun_path, a[0], sizeof to.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd < 0) return stopped("socket");
  return unless_refused(sendto(fd, a[1], strlen(a[1]), 0, (void *)&to, sizeof to), "sendto");
}

/** PORT OTHER_PORT: from a connection to the second, which may be allowed, to one to the first: by every way to let go. */
static enum outcome connect_again(char **a) {
  struct sockaddr_in first = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(a[1])),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, then = first;
  then.sin_port = htons((uint16_t)atoi(a[0]));
  struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return stopped("socket");
  if (connect(fd, (void *)&first, sizeof first) != 0) return stopped("connect");
  sendto(fd, "", 0, MSG_FASTOPEN, &nowhere, sizeof nowhere);
  connect(fd, &nowhere, sizeof nowhere);
  if (sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&then, sizeof then) == 1) {
    char answer = 0;
    return recv(fd, &answer, 1, 0) == 1 && answer == 'y' ? WORKED : stopped("recv");
  }
  if (connect(fd, (void *)&then, sizeof then) != 0) return stopped("connect");
  return exchange(fd);
}

const struct attack socket_attacks[] = {
  { "raw", 0, raw_packets },
  { "packet", 0, link_packets },
  { "netlink", 0, ask_kernel },
  { "vsock", 0, virtual_machine },
  { "alg", 0, kernel_ciphers },
  { "send-descriptor", 0, send_descriptor },
  { "datagram", 2, send_datagram_to },
  { "datagram-pair", 2, datagram_pair },
  { "raw-pair", 2, raw_pair },
  { "tcp-again", 2, connect_again },
  { NULL, 0, NULL },
};
