/* Local sockets of the machine that the harness's runtime cannot open: one for datagrams, one with an abstract name. It
 * tells every datagram, answers a byte with "y", and ends with its stdin.   listener DATAGRAM_PATH ABSTRACT_NAME */
#include "probe.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void answer(int listener) {
  int connection = accept(listener, NULL, NULL);
  char byte;
  if (connection >= 0 && read(connection, &byte, 1) == 1 && write(connection, "y", 1) != 1) puts("not answered");
  close(connection);
}

static void tell(int datagrams) {
  char text[256];
  ssize_t length = recv(datagrams, text, sizeof text - 1, 0);
  if (length >= 0) printf("datagram %.*s\n", (int)length, text);
}

int listener(char **a) {
  if (a[0] == NULL || a[1] == NULL) return NOT_TRIED;
  umask(0);
  struct sockaddr_un path = { .sun_family = AF_UNIX }, abstract = { .sun_family = AF_UNIX };
  strncpy(path.sun_path, a[0], sizeof path.sun_path - 1);
  strncpy(abstract.sun_path + 1, a[1], sizeof abstract.sun_path - 2);
  int datagrams = socket(AF_UNIX, SOCK_DGRAM, 0), streams = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(datagrams, (void *)&path, sizeof path) != 0) return STOPPED;
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a[1]));
  if (bind(streams, (void *)&abstract, length) != 0 || listen(streams, 8) != 0) return STOPPED;
  puts("ready");
  struct pollfd waiting[] = { { 0, POLLIN, 0 }, { datagrams, POLLIN, 0 }, { streams, POLLIN, 0 } };
  while (poll(waiting, 3, -1) > 0 && waiting[0].revents == 0) {
    if (waiting[1].revents != 0) tell(datagrams);
    if (waiting[2].revents != 0) answer(streams);
  }
  return 0;
}
