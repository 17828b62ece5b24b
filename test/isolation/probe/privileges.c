/* What only root may do, and ways to become root. Where the effect would harm the machine (modules, swap, restart) the call
 * is made with arguments that the kernel refuses after it has checked the right: that refusal shows that it was granted. */
#include "probe.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/io.h>
#endif

/** `granted` is the error of a call that was refused for its arguments only. */
static enum outcome unless_forbidden(long result, int granted, const char *call) {
  return result == 0 || errno == granted ? WORKED : stopped(call);
}

static enum outcome mount_something(char **a) {
  struct statfs found;
  if (mount("none", a[0], "tmpfs", 0, "size=4k") != 0) return stopped("mount");
  bool mounted = statfs(a[0], &found) == 0 && found.f_type == 0x01021994;
  umount2(a[0], MNT_DETACH);
  return mounted ? WORKED : stopped("statfs");
}

/** In a mount namespace of its own, so that nobody else's root moves. */
static enum outcome move_root(char **a) {
  if (unshare(CLONE_NEWNS) != 0) return stopped("unshare");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return stopped("mount");
  if (mount(a[0], a[0], NULL, MS_BIND, NULL) != 0 || chdir(a[0]) != 0) return stopped("mount");
  return unless_refused(syscall(SYS_pivot_root, ".", "."), "pivot_root");
}

static enum outcome change_root(char **a) {
  if (chroot(a[0]) != 0) return stopped("chroot");
  return access("/proc", F_OK) != 0 ? WORKED : stopped("access");
}

static enum outcome load_module(char **a) {
  (void)a;
  return unless_forbidden(syscall(SYS_init_module, "nothing", 7, ""), ENOEXEC, "init_module");
}

static enum outcome load_kernel(char **a) {
  (void)a;
  return unless_forbidden(syscall(SYS_kexec_load, 0, 0, NULL, 0xffff), EINVAL, "kexec_load");
}

static enum outcome add_swap(char **a) {
  (void)a;
  return unless_forbidden(swapon("/nonexistent", 0), ENOENT, "swapon");
}

/** With a magic number that means nothing. */
static enum outcome restart(char **a) {
  (void)a;
  return unless_forbidden(syscall(SYS_reboot, 1, 2, 3, NULL), EINVAL, "reboot");
}

static enum outcome use_ports(char **a) {
  (void)a;
#if defined(__x86_64__) || defined(__i386__)
  return unless_refused(iopl(3), "iopl");
#else
  return not_tried("not on this processor");
#endif
}

/** /dev/zero under another name, and a byte of it. */
static enum outcome make_device(char **a) {
  if (mknod(a[0], S_IFCHR | 0600, makedev(1, 5)) != 0) return stopped("mknod");
  int fd = open(a[0], O_RDONLY);
  char byte = 1;
  bool worked = fd >= 0 && read(fd, &byte, 1) == 1 && byte == 0;
  if (!worked) stopped("open");
  unlink(a[0]);
  return worked ? WORKED : STOPPED;
}

/** The disk itself, past all file systems; a file system's block device is given by the scene. */
static enum outcome read_device(char **a) {
  char sector[512];
  int fd = open(a[0], O_RDONLY | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  return unless_refused(read(fd, sector, sizeof sector), "read");
}

/** The value that it has already. */
static enum outcome set_kernel_setting(char **a) {
  char value[512];
  int fd = open(a[0], O_RDWR | O_CLOEXEC);
  if (fd < 0) return stopped("open");
  ssize_t length = read(fd, value, sizeof value);
  if (length <= 0) return stopped("read");
  return unless_refused(pwrite(fd, value, (size_t)length, 0), "write");
}

static enum outcome set_name(char **a) {
  (void)a;
  char name[256];
  if (gethostname(name, sizeof name) != 0) return stopped("gethostname");
  return unless_refused(sethostname(name, strlen(name)), "sethostname");
}

static enum outcome become_root(char **a) {
  (void)a;
  if (setresuid(0, 0, 0) != 0) return stopped("setresuid");
  return setgroups(0, NULL) == 0 ? WORKED : stopped("setgroups");
}

static enum outcome become_another(char **a) {
  uid_t user = (uid_t)strtoul(a[0], NULL, 10);
  return unless_refused(setresuid(user, user, user), "setresuid");
}

/** Rights that came along; the one to pass closed directories and to read may be left, within what is allowed at all. */
static enum outcome have_rights(char **a) {
  (void)a;
  struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct data[2] = { 0 };
  if (syscall(SYS_capget, &header, data) != 0) return stopped("capget");
  data[0].effective &= ~(1u << CAP_DAC_READ_SEARCH);
  errno = EPERM;
  return (data[0].effective | data[1].effective) != 0 ? WORKED : stopped("capget");
}

/** A set-uid copy of this program. */
static enum outcome run_set_uid(char **a) {
  if (geteuid() == 0) return not_tried("this is root already");
  execl(a[0], a[0], "is-root", (char *)NULL);
  return stopped("execve");
}

static enum outcome is_root(char **a) {
  (void)a;
  errno = EPERM;
  return geteuid() == 0 ? WORKED : stopped("set-uid");
}

/** `su` as the system has it: which user it runs as while it waits for a password. */
static enum outcome run_system_set_uid(char **a) {
  if (geteuid() == 0) return not_tried("this is root already");
  int ends[2];
  if (pipe(ends) != 0) return not_tried("no pipe");
  pid_t child = fork();
  if (child < 0) return not_tried("no process");
  if (child == 0) {
    dup2(ends[0], 0);
    execl(a[0], a[0], "-c", "true", (char *)NULL);
    _exit(127);
  }
  close(ends[0]);
  char path[64], text[4096];
  snprintf(path, sizeof path, "/proc/%d/status", child);
  bool root = false;
  for (double end = seconds() + 0.5; !root && seconds() < end; usleep(200)) {
    int fd = open(path, O_RDONLY);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    unsigned real, effective;
    char *line = strstr(text, "Uid:");
    root = line != NULL && sscanf(line, "Uid: %u %u", &real, &effective) == 2 && effective == 0;
  }
  kill(child, SIGKILL);
  close(ends[1]);
  waitpid(child, NULL, WNOHANG);
  errno = EPERM;
  return root ? WORKED : stopped("set-uid");
}

const struct attack privilege_attacks[] = {
  { "mount", 1, mount_something },
  { "pivot-root", 1, move_root },
  { "chroot", 1, change_root },
  { "init-module", 0, load_module },
  { "kexec", 0, load_kernel },
  { "swapon", 0, add_swap },
  { "reboot", 0, restart },
  { "iopl", 0, use_ports },
  { "mknod", 1, make_device },
  { "read-device", 1, read_device },
  { "kernel-setting", 1, set_kernel_setting },
  { "sethostname", 0, set_name },
  { "setuid-root", 0, become_root },
  { "setuid-other", 1, become_another },
  { "capabilities", 0, have_rights },
  { "set-uid-copy", 1, run_set_uid },
  { "is-root", 0, is_root },
  { "set-uid-system", 1, run_system_set_uid },
  { NULL, 0, NULL },
};
