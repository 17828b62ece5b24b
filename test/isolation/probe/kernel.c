/* Parts of the kernel that a tool server has no use for: namespaces, programs in the kernel, keys, tracing. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static enum outcome unshare_user(char **a) {
  (void)a;
  return unless_refused(unshare(CLONE_NEWUSER), "unshare");
}

static enum outcome unshare_mount(char **a) {
  (void)a;
  return unless_refused(unshare(CLONE_NEWNS), "unshare");
}

static enum outcome unshare_network(char **a) {
  (void)a;
  return unless_refused(unshare(CLONE_NEWNET), "unshare");
}

static enum outcome unshare_processes(char **a) {
  (void)a;
  return unless_refused(unshare(CLONE_NEWPID), "unshare");
}

/** With a user namespace comes every right in it: here that to mount. */
static enum outcome mount_in_user_namespace(char **a) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return stopped("unshare");
  return unless_refused(mount("none", a[0], "tmpfs", 0, "size=4k"), "mount");
}

static enum outcome after_clone(long child, const char *call) {
  if (child == 0) _exit(0);
  if (child > 0) waitpid((pid_t)child, NULL, __WALL);
  return unless_refused(child, call);
}

static enum outcome clone_user(char **a) {
  (void)a;
  return after_clone(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), "clone");
}

static enum outcome clone3_user(char **a) {
  (void)a;
  struct clone_args arguments = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
  return after_clone(syscall(SYS_clone3, &arguments, sizeof arguments), "clone3");
}

/** PID: whose network to enter. */
static enum outcome enter_namespace(char **a) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/ns/net", a[0]);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  return unless_refused(setns(fd, CLONE_NEWNET), "setns");
}

static enum outcome load_map(char **a) {
  (void)a;
  union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1 };
  return unless_refused(syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map), "bpf");
}

static enum outcome count_events(char **a) {
  (void)a;
  struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .exclude_kernel = 1, .exclude_hv = 1 };
  return unless_refused(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0), "perf_event_open");
}

enum { OF_PROCESS = -2, OF_USER = -4, GET_ID = 0, LINK = 8, SEARCH = 10, READ = 11 };

static enum outcome keep_key(char **a) {
  (void)a;
  return unless_refused(syscall(SYS_add_key, "user", "signalbox-probe", "x", 1, OF_PROCESS), "add_key");
}

static enum outcome ask_keyring(char **a) {
  (void)a;
  return unless_refused(syscall(SYS_keyctl, GET_ID, OF_PROCESS, 1), "keyctl");
}

/** IPC_KEY SECRET: what another server of the same user keeps in the keyring of the user. */
static enum outcome read_other_key(char **a) {
  char name[64], found[256] = "";
  snprintf(name, sizeof name, "signalbox-probe-%s", a[0]);
  syscall(SYS_keyctl, GET_ID, OF_PROCESS, 1);
  if (syscall(SYS_keyctl, LINK, OF_USER, OF_PROCESS) != 0) return stopped("keyctl");
  long key = syscall(SYS_keyctl, SEARCH, OF_PROCESS, "user", name, 0);
  if (key < 0) return stopped("keyctl");
  if (syscall(SYS_keyctl, READ, key, found, sizeof found - 1) < 0) return stopped("keyctl");
  return strcmp(found, a[1]) == 0 ? WORKED : stopped("compare");
}

static enum outcome handle_faults(char **a) {
  (void)a;
  int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
  if (fd < 0) return stopped("userfaultfd");
  struct uffdio_api api = { .api = UFFD_API };
  return unless_refused(ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
}

static enum outcome change_personality(char **a) {
  (void)a;
  if (personality(ADDR_NO_RANDOMIZE) == -1) return stopped("personality");
  return personality(0xffffffff) & ADDR_NO_RANDOMIZE ? WORKED : stopped("personality");
}

static enum outcome watch_file_system(char **a) {
  (void)a;
  return unless_refused(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY), "fanotify_init");
}

static enum outcome ask_quotas(char **a) {
  (void)a;
  return unless_refused(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL), "quotactl");
}

/** Which pages of memory the kernel holds for whom; here for itself. */
static enum outcome move_pages_of(char **a) {
  return unless_refused(syscall(SYS_move_pages, atoi(a[0]), 0, NULL, NULL, NULL, 0), "move_pages");
}

/** The newer calls for mounts do without `mount`. */
static enum outcome open_file_system(char **a) {
  (void)a;
  return unless_refused(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
}

static enum outcome read_kernel_log(char **a) {
  (void)a;
  char text[256];
  return unless_refused(syscall(SYS_syslog, 3, text, sizeof text), "syslog");
}

const struct attack kernel_attacks[] = {
  { "unshare-user", 0, unshare_user },
  { "unshare-mount", 0, unshare_mount },
  { "unshare-network", 0, unshare_network },
  { "unshare-processes", 0, unshare_processes },
  { "mount-in-user-namespace", 1, mount_in_user_namespace },
  { "clone-user", 0, clone_user },
  { "clone3-user", 0, clone3_user },
  { "setns", 1, enter_namespace },
  { "bpf", 0, load_map },
  { "perf-event-open", 0, count_events },
  { "add-key", 0, keep_key },
  { "keyctl", 0, ask_keyring },
  { "other-key", 2, read_other_key },
  { "userfaultfd", 0, handle_faults },
  { "personality", 0, change_personality },
  { "fanotify", 0, watch_file_system },
  { "quotactl", 0, ask_quotas },
  { "move-pages", 1, move_pages_of },
  { "fsopen", 0, open_file_system },
  { "kernel-log", 0, read_kernel_log },
  { NULL, 0, NULL },
};
