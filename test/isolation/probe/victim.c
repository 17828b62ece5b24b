/* Stands for the worker, or for another tool server. It has a secret in its environment, its memory, its command line and a
 * descriptor, uses a file all the time, shares System V and POSIX objects, and tells every signal that it gets. It ends with
 * its stdin.   victim COMMAND_LINE_SECRET SECRET_FILE BUSY_FILE [IPC_KEY] */
#include "probe.h"
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile char scratch[16] = "untouched";

struct shared {
  int memory, messages, semaphore;
  char queue[64];
};

static void share(struct shared *shared, key_t key, const char *secret) {
  umask(0);
  shared->memory = shmget(key, 4096, IPC_CREAT | 0666);
  char *place = shmat(shared->memory, NULL, 0);
  if (place != (void *)-1) strcpy(place, secret);
  shared->messages = msgget(key, IPC_CREAT | 0666);
  struct { long type; char text[256]; } message = { .type = 1 };
  strncpy(message.text, secret, sizeof message.text - 1);
  msgsnd(shared->messages, &message, strlen(secret) + 1, IPC_NOWAIT);
  shared->semaphore = semget(key, 1, IPC_CREAT | 0666);
  semctl(shared->semaphore, 0, SETVAL, 0);
  struct mq_attr bounds = { .mq_maxmsg = 1, .mq_msgsize = 256 };
  snprintf(shared->queue, sizeof shared->queue, "/signalbox-probe-%d", key);
  mqd_t queue = mq_open(shared->queue, O_CREAT | O_RDWR | O_NONBLOCK, 0666, &bounds);
  mq_send(queue, secret, strlen(secret) + 1, 0);
  char name[64];
  snprintf(name, sizeof name, "signalbox-probe-%d", key);
  syscall(SYS_add_key, "user", name, secret, strlen(secret), -4 /* of the user */);
}

static void unshare_all(struct shared *shared) {
  shmctl(shared->memory, IPC_RMID, NULL);
  msgctl(shared->messages, IPC_RMID, NULL);
  semctl(shared->semaphore, 0, IPC_RMID);
  mq_unlink(shared->queue);
}

int victim(char **a) {
  const char *secret = getenv("SECRET");
  if (secret == NULL || a[0] == NULL || a[1] == NULL || a[2] == NULL) return NOT_TRIED;
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  int signals = signalfd(-1, &all, SFD_CLOEXEC);
  struct shared shared;
  if (a[3] != NULL) share(&shared, atoi(a[3]), secret);
  char *copy = strdup(secret);
  int file = open(a[1], O_RDONLY | O_CLOEXEC);
  int busy = open(a[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  close(busy);
  printf("ready %d %lx %lx %d\n", getpid(), (unsigned long)copy, (unsigned long)scratch, file);

  struct pollfd waiting[] = { { .fd = 0, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
  bool told = false;
  while (poll(waiting, 2, 20), waiting[0].revents == 0) {
    struct signalfd_siginfo signal;
    if (waiting[1].revents != 0 && read(signals, &signal, sizeof signal) == sizeof signal) {
      printf("signal %u\n", signal.ssi_signo);
    }
    if (!told && strcmp((const char *)scratch, "overwritten") == 0) told = puts("overwritten") >= 0;
    busy = open(a[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (busy >= 0 && write(busy, "busy", 4) == 4) close(busy);
  }
  if (a[3] != NULL) unshare_all(&shared);
  return 0;
}
