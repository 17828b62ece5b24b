// Confines the child before it becomes the program: changes the user, limits memory and files, and closes most of the file
// system (Landlock) and the system calls that lead out of both (seccomp). Descendants inherit all limits and cannot undo them.
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system-calls.h"

void drop_rights(const struct options *options) {
  if (options->keep_read || options->keep_write) prctl(PR_SET_SECUREBITS, 1 << 2 /* SECBIT_NO_SETUID_FIXUP */);
  if (options->drop_user && (setgroups(0, NULL) < 0 || setresgid(options->gid, options->gid, options->gid) < 0 ||
                             setresuid(options->uid, options->uid, options->uid) < 0))
    fail("changing the user");
  // Keep only the requested rights: to pass closed directories and read, or to write too. Landlock still limits the paths.
  uint32_t kept = (options->keep_read ? 1u << CAP_DAC_READ_SEARCH : 0) | (options->keep_write ? 1u << CAP_DAC_OVERRIDE : 0);
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct rights[2] = {{.effective = kept, .permitted = kept, .inheritable = kept}};
  if (syscall(SYS_capset, &header, rights) < 0) fail("giving up rights");
  for (unsigned long right = 0; right < 32; right++)
    if ((kept >> right & 1) != 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, right, 0, 0) < 0) fail("keeping a right");
}

static void limit(int what, uint64_t value) {
  struct rlimit now, wanted = {value, value};
  if (getrlimit((unsigned)what, &now) < 0) fail("reading a limit");
  if (now.rlim_max < value) wanted.rlim_cur = wanted.rlim_max = now.rlim_max;
  if (setrlimit((unsigned)what, &wanted) < 0) fail("setting a limit");
}

// RLIMIT_DATA does not count the stack. The soft limit stays small, since C libraries give every thread that much.
static void limit_stack(void) {
  struct rlimit now, wanted = {8u << 20, 64u << 20};
  if (getrlimit(RLIMIT_STACK, &now) < 0) fail("reading a limit");
  if (now.rlim_cur < wanted.rlim_cur) wanted.rlim_cur = now.rlim_cur;
  if (now.rlim_max < wanted.rlim_max) wanted.rlim_max = now.rlim_max;
  if (setrlimit(RLIMIT_STACK, &wanted) < 0) fail("setting a limit");
}

// ---- Landlock ----

static int handled_version(const struct options *options) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) fail("Landlock");
  return version < options->landlock_abi ? (int)version : options->landlock_abi;
}

static void allow(int ruleset, const char *path, uint64_t rights) {
  struct landlock_path_beneath_attr rule = {.allowed_access = rights};
  rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
  if (rule.parent_fd < 0) return; // a path that is missing, or closed to this user, is not allowed either
  struct stat found;
  if (fstat(rule.parent_fd, &found) == 0 && !S_ISDIR(found.st_mode)) rule.allowed_access &= OF_FILES;
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0) fail(path);
  close(rule.parent_fd);
}

static void restrict_files(const struct options *options, int version) {
  uint64_t all = (1u << 13) - 1; // the rights of version 1
  if (version >= 2) all |= MAY_REFER;
  if (version >= 3) all |= MAY_TRUNCATE;
  if (version >= 5) all |= MAY_IOCTL_DEVICE;
  struct ruleset_attributes attributes = {.handled_files = all};
  if (version >= 6) attributes.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
  size_t size = version >= 6 ? sizeof attributes : sizeof attributes.handled_files;
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
  if (ruleset < 0) fail("making a Landlock ruleset");
  const uint64_t reading = MAY_EXECUTE | MAY_READ_FILE | MAY_READ_DIRECTORY;
  const uint64_t devices = MAY_MAKE_CHARACTER | MAY_MAKE_BLOCK | MAY_MAKE_SOCKET | MAY_IOCTL_DEVICE;
  for (int i = 0; i < options->readables; i++) allow(ruleset, options->readable[i], reading);
  for (int i = 0; i < options->writables; i++) allow(ruleset, options->writable[i], all & ~(uint64_t)devices);
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0) fail("restricting files");
  close(ruleset);
}

// ---- seccomp ----

static struct sock_filter code[1024];
static unsigned short length;

static void emit(uint16_t operation, uint32_t value, uint8_t if_true, uint8_t if_false) {
  if (length == sizeof code / sizeof *code) fail("the filter is too long");
  code[length++] = (struct sock_filter){operation, if_true, if_false, value};
}

enum { LOAD = BPF_LD | BPF_W | BPF_ABS, IS = BPF_JMP | BPF_JEQ | BPF_K, ABOVE = BPF_JMP | BPF_JGE | BPF_K,
       HAS = BPF_JMP | BPF_JSET | BPF_K, MASK = BPF_ALU | BPF_AND | BPF_K, RETURN = BPF_RET | BPF_K };

static uint32_t refuse(int error) { return SECCOMP_RET_ERRNO | (uint32_t)error; }

static void always(long call, uint32_t answer) {
  emit(IS, (uint32_t)call, 0, 1);
  emit(RETURN, answer, 0, 0);
}

// The kernel takes these arguments as 32 bits, so their lower half decides.
static void load_argument(int index) { emit(LOAD, offsetof(struct seccomp_data, args[0]) + 8u * (unsigned)index, 0, 0); }
static void load_call(void) { emit(LOAD, offsetof(struct seccomp_data, nr), 0, 0); }

// Returns `answer` if the masked argument equals the value (or does not, or has one of its bits).
enum relation { EQUAL, UNEQUAL, ANY_BIT };
static void where(long call, int index, uint32_t mask, enum relation relation, uint32_t value, uint32_t answer) {
  emit(IS, (uint32_t)call, 0, 5);
  load_argument(index);
  emit(MASK, mask, 0, 0);
  emit(relation == ANY_BIT ? HAS : IS, value, relation == UNEQUAL, relation != UNEQUAL);
  emit(RETURN, answer, 0, 0);
  load_call();
}

static void filter_sockets(const struct options *options) {
  const uint32_t no = refuse(EACCES), whole = UINT32_MAX, kind = 0xf;
  // A datagram socket pair (also by SOCK_RAW) could send to any socket of the machine; a stream pair cannot.
  where(SYS_socketpair, 1, kind, UNEQUAL, SOCK_STREAM, no);
  where(SYS_socketpair, 0, whole, UNEQUAL, AF_UNIX, no);
  if (options->network == NETWORK_NONE) {
    const long calls[] = {SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) always(calls[i], no);
  } else if (options->network == NETWORK_PROXY) {
    // The supervisor makes every TCP socket, connected to the proxy (notify.c).
    where(SYS_socket, 1, kind, UNEQUAL, SOCK_STREAM, no);
    where(SYS_socket, 0, whole, EQUAL, AF_INET, SECCOMP_RET_USER_NOTIF);
    where(SYS_socket, 0, whole, EQUAL, AF_INET6, SECCOMP_RET_USER_NOTIF);
    always(SYS_socket, no);
    always(SYS_connect, refuse(0)); // succeeds without doing anything
    always(SYS_bind, no);
    always(SYS_listen, no);
  } else {
    // Local sockets would reach other processes of the machine. Route sockets are needed to list network interfaces.
    where(SYS_socket, 0, whole, EQUAL, AF_INET, SECCOMP_RET_ALLOW);
    where(SYS_socket, 0, whole, EQUAL, AF_INET6, SECCOMP_RET_ALLOW);
    where(SYS_socket, 2, whole, UNEQUAL, 0 /* NETLINK_ROUTE */, no);
    where(SYS_socket, 0, whole, UNEQUAL, AF_NETLINK, no);
  }
}

// Calls that reach other processes by id: only id 0, the caller's own process, is allowed.
static void filter_processes(int landlock) {
  const uint32_t no = refuse(EPERM), whole = UINT32_MAX;
  const long by_id[] = {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr};
  for (size_t i = 0; i < sizeof by_id / sizeof *by_id; i++) where(by_id[i], 0, whole, UNEQUAL, 0, no);
  where(SYS_setpriority, 0, whole, UNEQUAL, PRIO_PROCESS, no);
  where(SYS_setpriority, 1, whole, UNEQUAL, 0, no);
  where(SYS_ioprio_set, 0, whole, UNEQUAL, 1 /* IOPRIO_WHO_PROCESS */, no);
  where(SYS_ioprio_set, 1, whole, UNEQUAL, 0, no);
  // The owner of a descriptor gets signals, and could be any process.
  where(SYS_fcntl, 1, whole, EQUAL, F_SETOWN, no);
  where(SYS_fcntl, 1, whole, EQUAL, F_SETOWN_EX, no);
  where(SYS_fcntl, 1, whole, EQUAL, F_SETLEASE, no); // a lease delays other processes that open the file
  const uint32_t owners[] = {0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */, 0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */};
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) where(SYS_ioctl, 1, whole, EQUAL, owners[i], no);
  always(SYS_pidfd_send_signal, no);
  if (landlock >= 6) return; // Landlock keeps signals inside
  const long signals[] = {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) always(signals[i], SECCOMP_RET_USER_NOTIF);
}

static void filter_tasks(void) {
  where(SYS_clone, 0, UINT32_MAX, ANY_BIT, CLONE_NEW_ANY, refuse(EPERM));
  always(SYS_clone, SECCOMP_RET_USER_NOTIF);
  always(SYS_clone3, refuse(ENOSYS)); // a filter cannot read its flags; C libraries fall back to clone
#ifdef SYS_fork
  always(SYS_fork, SECCOMP_RET_USER_NOTIF);
  always(SYS_vfork, SECCOMP_RET_USER_NOTIF);
#endif
}

// The supervisor counts new names. The count is an upper bound, since some of these calls may open existing files.
static void filter_names(void) {
  for (size_t i = 0; i < sizeof name_calls / sizeof *name_calls; i++) always(name_calls[i], SECCOMP_RET_USER_NOTIF);
  for (size_t i = 0; i < sizeof flagged_calls / sizeof *flagged_calls; i++)
    where(flagged_calls[i].call, flagged_calls[i].argument, UINT32_MAX, ANY_BIT, flagged_calls[i].bit, SECCOMP_RET_USER_NOTIF);
}

static int filter(const struct options *options, int landlock) {
  emit(LOAD, offsetof(struct seccomp_data, arch), 0, 0);
  emit(IS, OWN_ARCHITECTURE, 1, 0);
  emit(RETURN, refuse(ENOSYS), 0, 0);
  load_call();
  filter_tasks();
  if (options->level == CONFINED) {
    emit(ABOVE, FIRST_UNKNOWN_CALL, 0, 1); // also refuses the x32 calls of x86-64
    emit(RETURN, refuse(ENOSYS), 0, 0);
    for (size_t i = 0; i < sizeof refused_calls / sizeof *refused_calls; i++) always(refused_calls[i], refuse(EPERM));
    for (size_t i = 0; i < sizeof absent_calls / sizeof *absent_calls; i++) always(absent_calls[i], refuse(ENOSYS));
    for (size_t i = 0; i < sizeof path_calls / sizeof *path_calls; i++) always(path_calls[i], SECCOMP_RET_USER_NOTIF);
    filter_sockets(options);
    filter_processes(landlock);
    if (landlock < 3) always(SYS_truncate, refuse(EPERM));
  }
  if (options->count_names) filter_names();
  emit(RETURN, SECCOMP_RET_ALLOW, 0, 0);
  struct sock_fprog program = {length, code};
  long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener < 0) fail("setting the filter of system calls");
  return (int)listener;
}

int confine(const struct options *options) {
  limit(RLIMIT_CORE, 0);
  limit_stack();
  if (options->data != 0) limit(RLIMIT_DATA, options->data);
  if (options->cpu != 0) limit(RLIMIT_CPU, options->cpu);
  if (options->fsize != 0) limit(RLIMIT_FSIZE, options->fsize);
  if (options->nofile != 0) limit(RLIMIT_NOFILE, options->nofile);
  int landlock = 0;
  if (options->level == SUPERVISED) return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) fail("giving up new rights");
  if (options->level == CONFINED) {
    landlock = handled_version(options);
    restrict_files(options, landlock);
  }
  return filter(options, landlock);
}
