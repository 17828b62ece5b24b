// Kernel constants that older headers lack, and the system calls that a confined program may not make. System calls newer
// than this list are refused too (FIRST_UNKNOWN_CALL).
#ifndef SIGNALBOX_SYSTEM_CALLS_H
#define SIGNALBOX_SYSTEM_CALLS_H

#include <fcntl.h>
#include <linux/audit.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the launcher knows x86-64 and arm64"
#endif

// Numbers above 423 are the same on both.
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define FIRST_UNKNOWN_CALL 463 // setxattrat; Linux 6.10 has the calls below

// Landlock, as linux/landlock.h of version 7 has it.
struct landlock_path_beneath_attr {
  uint64_t allowed_access;
  int32_t parent_fd;
} __attribute__((packed));
struct ruleset_attributes {
  uint64_t handled_files, handled_network, scoped;
};
enum { LANDLOCK_CREATE_RULESET_VERSION = 1, LANDLOCK_RULE_PATH_BENEATH = 1 };
enum { SCOPE_ABSTRACT_SOCKETS = 1, SCOPE_SIGNALS = 2 };
enum {
  MAY_EXECUTE = 1 << 0,
  MAY_WRITE_FILE = 1 << 1,
  MAY_READ_FILE = 1 << 2,
  MAY_READ_DIRECTORY = 1 << 3,
  MAY_MAKE_CHARACTER = 1 << 6,
  MAY_MAKE_SOCKET = 1 << 9,
  MAY_MAKE_BLOCK = 1 << 11,
  MAY_REFER = 1 << 13,
  MAY_TRUNCATE = 1 << 14,
  MAY_IOCTL_DEVICE = 1 << 15,
  OF_FILES = MAY_EXECUTE | MAY_WRITE_FILE | MAY_READ_FILE | MAY_TRUNCATE | MAY_IOCTL_DEVICE,
};

// All CLONE_NEW* of clone(): mount, cgroup, uts, ipc, user, pid, net.
#define CLONE_NEW_ANY 0x7e020000u

// EPERM: calls with which an ordinary user reaches its other processes, the kernel, or files past Landlock.
static const long refused_calls[] = {
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd, SYS_process_madvise,
    SYS_migrate_pages, SYS_move_pages,
    // namespaces and mounts
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_fsopen, SYS_fsconfig, SYS_fsmount,
    SYS_fspick, SYS_move_mount, SYS_open_tree, SYS_mount_setattr,
    // the kernel and the machine
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_syslog,
    SYS_quotactl, 443 /* quotactl_fd */, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
    SYS_setdomainname, SYS_vhangup, SYS_personality,
    // files past Landlock: by handle, by watching, by owner and attributes
    SYS_open_by_handle_at, SYS_fanotify_init, SYS_fanotify_mark, SYS_inotify_init1, SYS_inotify_add_watch, SYS_fchown, SYS_fchownat,
    SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    // memory and queues that all processes of a user share
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semctl, SYS_semop, SYS_semtimedop, SYS_msgget, SYS_msgctl,
    SYS_msgsnd, SYS_msgrcv, SYS_mq_open, SYS_mq_unlink,
#ifdef SYS_chown
    SYS_inotify_init, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
};

// ENOSYS: programs work without these calls on kernels that lack them.
static const long absent_calls[] = {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, 447 /* memfd_secret */,
    SYS_io_setup,    // all processes of the machine share a few contexts
    SYS_timer_create // a timer that sends SIGCONT would wake a stopped process
};

// Calls that add a name to a directory; those of `flagged_calls` do if the numbered argument has the bit.
static const long name_calls[] = {
    SYS_mkdirat, SYS_mknodat, SYS_symlinkat, SYS_linkat, SYS_bind /* a local socket */,
    437 /* openat2: its flags lie in memory */,
#ifdef SYS_open
    SYS_creat, SYS_mkdir, SYS_mknod, SYS_symlink, SYS_link,
#endif
};
static const struct { long call; int argument; uint32_t bit; } flagged_calls[] = {
    {SYS_openat, 2, O_CREAT}, {SYS_renameat2, 4, 4 /* RENAME_WHITEOUT */},
#ifdef SYS_open
    {SYS_open, 1, O_CREAT},
#endif
};

// Landlock does not cover modes and times of files, so the supervisor changes them, of writable files only.
static const long path_calls[] = {
    SYS_fchmod, SYS_fchmodat, SYS_fchmodat2, SYS_utimensat,
#ifdef SYS_chmod
    SYS_chmod,
#endif
};
#endif
