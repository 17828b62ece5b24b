/* System V and POSIX objects that another server shares: they have names of their own, which no path is checked for. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

/** KEY SECRET, each. */
static enum outcome read_shared_memory(char **a) {
  int id = shmget(atoi(a[0]), 4096, 0);
  if (id < 0) return stopped("shmget");
  char *place = shmat(id, NULL, 0);
  if (place == (void *)-1) return stopped("shmat");
  return strcmp(place, a[1]) == 0 ? WORKED : stopped("compare");
}

static enum outcome take_message(char **a) {
  int id = msgget(atoi(a[0]), 0);
  if (id < 0) return stopped("msgget");
  struct { long type; char text[256]; } message;
  if (msgrcv(id, &message, sizeof message.text, 0, IPC_NOWAIT) < 0) return stopped("msgrcv");
  return strcmp(message.text, a[1]) == 0 ? WORKED : stopped("compare");
}

static enum outcome change_semaphore(char **a) {
  int id = semget(atoi(a[0]), 1, 0);
  if (id < 0) return stopped("semget");
  if (semctl(id, 0, SETVAL, 7) != 0) return stopped("semctl");
  return semctl(id, 0, GETVAL) == 7 ? WORKED : stopped("semctl");
}

static enum outcome take_queued(char **a) {
  char name[64], text[256];
  snprintf(name, sizeof name, "/signalbox-probe-%s", a[0]);
  mqd_t queue = mq_open(name, O_RDWR | O_NONBLOCK);
  if (queue == (mqd_t)-1) return stopped("mq_open");
  if (mq_receive(queue, text, sizeof text, NULL) < 0) return stopped("mq_receive");
  return strcmp(text, a[1]) == 0 ? WORKED : stopped("compare");
}

/** Segments outlive the process that made them, and no limit of a process counts them. */
static enum outcome leave_segment(char **a) {
  (void)a;
  int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (id < 0) return stopped("shmget");
  return unless_refused(shmctl(id, IPC_RMID, NULL), "shmctl");
}

const struct attack ipc_attacks[] = {
  { "shared-memory", 2, read_shared_memory },
  { "message-queue", 2, take_message },
  { "semaphore", 1, change_semaphore },
  { "posix-queue", 2, take_queued },
  { "leave-segment", 0, leave_segment },
  { NULL, 0, NULL },
};
