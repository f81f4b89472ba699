//! Numbers of system calls that are refused or supervised, under their own names. Those that an architecture does not
//! have are missing from its list.

macro_rules! numbers {
    ($($name:ident = $call:ident),* $(,)?) => {
        $(
            #[doc = concat!("`", stringify!($call), "`")]
            pub const $name: i64 = libc::$call;
        )*
    };
}

numbers! {
    OPENAT = SYS_openat, OPENAT2 = SYS_openat2, MKDIRAT = SYS_mkdirat, MKNODAT = SYS_mknodat, UNLINKAT = SYS_unlinkat,
    RENAMEAT2 = SYS_renameat2, LINKAT = SYS_linkat, SYMLINKAT = SYS_symlinkat, TRUNCATE = SYS_truncate,
    FCHMOD = SYS_fchmod, FCHMODAT = SYS_fchmodat, FCHMODAT2 = SYS_fchmodat2, FCHOWN = SYS_fchown,
    FCHOWNAT = SYS_fchownat, UTIMENSAT = SYS_utimensat, SETXATTR = SYS_setxattr, LSETXATTR = SYS_lsetxattr,
    FSETXATTR = SYS_fsetxattr, REMOVEXATTR = SYS_removexattr, LREMOVEXATTR = SYS_lremovexattr,
    FREMOVEXATTR = SYS_fremovexattr, CONNECT = SYS_connect, BIND = SYS_bind, SENDTO = SYS_sendto, SOCKET = SYS_socket, IOCTL = SYS_ioctl,
    CLONE = SYS_clone, CLONE3 = SYS_clone3, UNSHARE = SYS_unshare, SETNS = SYS_setns, PRLIMIT64 = SYS_prlimit64,
    MOUNT = SYS_mount, UMOUNT2 = SYS_umount2, PIVOT_ROOT = SYS_pivot_root, CHROOT = SYS_chroot,
    OPEN_TREE = SYS_open_tree, MOVE_MOUNT = SYS_move_mount, FSOPEN = SYS_fsopen, FSCONFIG = SYS_fsconfig,
    FSMOUNT = SYS_fsmount, FSPICK = SYS_fspick, MOUNT_SETATTR = SYS_mount_setattr,
    IO_URING_SETUP = SYS_io_uring_setup, IO_URING_ENTER = SYS_io_uring_enter, IO_URING_REGISTER = SYS_io_uring_register,
    KEYCTL = SYS_keyctl, ADD_KEY = SYS_add_key, REQUEST_KEY = SYS_request_key, BPF = SYS_bpf,
    PERF_EVENT_OPEN = SYS_perf_event_open, USERFAULTFD = SYS_userfaultfd, INIT_MODULE = SYS_init_module,
    FINIT_MODULE = SYS_finit_module, DELETE_MODULE = SYS_delete_module, KEXEC_LOAD = SYS_kexec_load, REBOOT = SYS_reboot,
    SWAPON = SYS_swapon, SWAPOFF = SYS_swapoff, ACCT = SYS_acct, QUOTACTL = SYS_quotactl, QUOTACTL_FD = SYS_quotactl_fd,
    SYSLOG = SYS_syslog, SETHOSTNAME = SYS_sethostname, SETDOMAINNAME = SYS_setdomainname,
    OPEN_BY_HANDLE_AT = SYS_open_by_handle_at, FANOTIFY_INIT = SYS_fanotify_init, VHANGUP = SYS_vhangup,
    SETTIMEOFDAY = SYS_settimeofday, CLOCK_SETTIME = SYS_clock_settime, ADJTIMEX = SYS_adjtimex,
    CLOCK_ADJTIME = SYS_clock_adjtime, PERSONALITY = SYS_personality, MEMFD_SECRET = SYS_memfd_secret, PRCTL = SYS_prctl, SOCKETPAIR = SYS_socketpair, INOTIFY_INIT1 = SYS_inotify_init1, EXECVE = SYS_execve, EXECVEAT = SYS_execveat,
    SHMGET = SYS_shmget, SHMAT = SYS_shmat, SHMCTL = SYS_shmctl, SEMGET = SYS_semget, SEMOP = SYS_semop,
    SEMTIMEDOP = SYS_semtimedop, SEMCTL = SYS_semctl, MSGGET = SYS_msgget, MSGSND = SYS_msgsnd, MSGRCV = SYS_msgrcv,
    MSGCTL = SYS_msgctl, MQ_OPEN = SYS_mq_open, MQ_UNLINK = SYS_mq_unlink, FCNTL = SYS_fcntl, SETPRIORITY = SYS_setpriority,
    SCHED_SETSCHEDULER = SYS_sched_setscheduler, SCHED_SETPARAM = SYS_sched_setparam, SCHED_SETATTR = SYS_sched_setattr,
    SCHED_SETAFFINITY = SYS_sched_setaffinity, IOPRIO_SET = SYS_ioprio_set, PROCESS_MADVISE = SYS_process_madvise,
    MIGRATE_PAGES = SYS_migrate_pages, MOVE_PAGES = SYS_move_pages,
    LANDLOCK_CREATE_RULESET = SYS_landlock_create_ruleset, LANDLOCK_ADD_RULE = SYS_landlock_add_rule,
    LANDLOCK_RESTRICT_SELF = SYS_landlock_restrict_self,
}

/// `setxattrat`, newer than the list of names.
pub const SETXATTRAT: i64 = 463;
/// `removexattrat`, likewise.
pub const REMOVEXATTRAT: i64 = 466;
/// `open_tree_attr`, likewise.
pub const OPEN_TREE_ATTR: i64 = 467;
/// `file_setattr`, likewise.
pub const FILE_SETATTR: i64 = 469;

#[cfg(target_arch = "x86_64")]
numbers! {
    INOTIFY_INIT = SYS_inotify_init, OPEN = SYS_open, CREAT = SYS_creat, MKDIR = SYS_mkdir, RMDIR = SYS_rmdir, MKNOD = SYS_mknod, UNLINK = SYS_unlink,
    RENAME = SYS_rename, RENAMEAT = SYS_renameat, LINK = SYS_link, SYMLINK = SYS_symlink, CHMOD = SYS_chmod,
    CHOWN = SYS_chown, LCHOWN = SYS_lchown, UTIME = SYS_utime, UTIMES = SYS_utimes, FUTIMESAT = SYS_futimesat,
    SETRLIMIT = SYS_setrlimit, KEXEC_FILE_LOAD = SYS_kexec_file_load, IOPL = SYS_iopl, IOPERM = SYS_ioperm,
    MODIFY_LDT = SYS_modify_ldt, USELIB = SYS_uselib,
}
