// Walks the descendants of the launcher, by the kernel's lists of each task's children. Orphans become children of the
// launcher, the subreaper, so none is lost; a second walk finds changes during the first.
#include "launcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool read_text(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length, got = 0;
  for (; (length = read(file, text + got, size - 1 - (size_t)got)) > 0; got += length) {
  }
  close(file);
  text[got] = '\0';
  return true;
}

static void walk(pid_t pid, visit *visit_one, void *context);

static void walk_children(const char *list, visit *visit_one, void *context) {
  static const int most = 64 * 1024; // of one task: 8,000 children
  char *text = malloc(most);
  if (text == NULL) return;
  if (read_text(list, text, most)) {
    char *rest = text;
    for (char *word; (word = strsep(&rest, " ")) != NULL && *word != '\0';) walk((pid_t)atoi(word), visit_one, context);
  }
  free(text);
}

static void walk(pid_t pid, visit *visit_one, void *context) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *tasks = opendir(path);
  if (tasks == NULL) return;
  long count = 0;
  // Visit the process before its children, since a stopped or killed process starts no more.
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) count += task->d_name[0] != '.';
  if (pid != getpid()) visit_one(pid, count, context);
  rewinddir(tasks);
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, atoi(task->d_name));
    walk_children(path, visit_one, context);
  }
  closedir(tasks);
}

static void send_one(pid_t pid, long tasks, void *context) {
  (void)tasks;
  kill(pid, *(int *)context);
}

void visit_tree(visit *visit_one, void *context) { walk(getpid(), visit_one, context); }

void signal_tree(int signal) { visit_tree(send_one, &signal); }

static void count_one(pid_t pid, long tasks, void *context) {
  (void)pid;
  *(long *)context += tasks;
}

long count_tasks(void) {
  long count = 0;
  visit_tree(count_one, &count);
  return count;
}

static bool read_status(pid_t pid, char *state, int *parent) {
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (!read_text(path, text, sizeof text)) return false;
  char *after_name = strrchr(text, ')'); // a name may hold anything
  return after_name != NULL && sscanf(after_name, ") %c %d", state, parent) == 2;
}

// Walks up the parents: a descendant has this process above it.
bool in_tree(pid_t pid) {
  char state;
  for (int parent; pid > 1 && pid != getpid(); pid = parent) {
    if (!read_status(pid, &state, &parent)) return false;
    if (parent == getpid()) return true;
  }
  return false;
}

// `D` counts too: a process may wait for a vfork child that has stopped before its start, or be in the middle of a write.
static void count_one_running(pid_t pid, long tasks, void *context) {
  (void)tasks;
  char state;
  int parent;
  if (read_status(pid, &state, &parent) && strchr("RSD", state) != NULL) ++*(int *)context;
}

int count_running(void) {
  int count = 0;
  visit_tree(count_one_running, &count);
  return count;
}
