// What the kernel offers to few: settings, modules, keys, tracing of the machine, devices, privileges, old call numbers.
// Whatever would change the machine is asked with arguments that make it fail after the check of permission, or with the
// value that is set already.
#include "attacks.h"
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <time.h>
#ifdef __x86_64__
#include <asm/ldt.h>
#include <sys/io.h>
#endif

// ---- settings ----

static void rewritten(const char *path) {
    int reader = open(path, O_RDONLY);
    if (reader < 0 && errno == ENOENT && bare()) untried("there is no %s", path);
    must(reader);
    char *value = text("%s", content_of(reader));
    must(write(must(open(path, O_WRONLY)), value, strlen(value)));
    escaped("wrote %s", path);
}
ATTEMPT(setting_of_core_files, "settings", BOTH, ROOT) { rewritten("/proc/sys/kernel/core_pattern"); }
ATTEMPT(setting_of_memory, "settings", BOTH, ROOT) { rewritten("/proc/sys/vm/swappiness"); }
ATTEMPT(setting_of_files, "settings", BOTH, ROOT) { rewritten("/proc/sys/fs/lease-break-time"); }
ATTEMPT(setting_of_network, "settings", BOTH, ROOT) { rewritten("/proc/sys/net/core/somaxconn"); }
ATTEMPT(setting_of_host_name, "settings", BOTH, ROOT) { rewritten("/proc/sys/kernel/hostname"); }
ATTEMPT(setting_through_proc_root, "settings", BOTH, ROOT) { rewritten("/proc/self/root/proc/sys/vm/swappiness"); }
ATTEMPT(setting_of_huge_pages, "settings", BOTH, ROOT) { rewritten("/sys/kernel/mm/ksm/pages_to_scan"); }
ATTEMPT(setting_of_uevent_helper, "settings", BOTH, ROOT) { rewritten("/sys/kernel/uevent_helper"); }
ATTEMPT(setting_of_disk_queue, "settings", BOTH, ROOT) {
    struct stat about;
    must(stat(given("OUTSIDE"), &about));
    rewritten(text("/sys/dev/block/%d:%d/queue/nr_requests", major(about.st_dev), minor(about.st_dev)));
}
ATTEMPT(sysrq_opened, "settings", BOTH, ROOT) {
    int file = open("/proc/sysrq-trigger", O_WRONLY);
    if (file < 0 && errno == ENOENT && bare()) untried("this kernel has none");
    must(write(must(file), "", 0));
    escaped("may press the magic key");
}
ATTEMPT(kernel_log_written, "settings", BOTH, ROOT) {
    must(write(must(open("/dev/kmsg", O_WRONLY)), "<7>windlass: an attempt of the test suite", 41));
    escaped("wrote to the kernel's log");
}

// ---- the machine ----

ATTEMPT(reboot_refused_for_its_number, "machine", BOTH, ROOT) { past_permission(syscall(SYS_reboot, 1, 2, 3, NULL)); }
ATTEMPT(kexec_of_nothing, "machine", BOTH, ROOT) { past_permission(syscall(SYS_kexec_load, 0, 1000, NULL, 0xffff)); }
ATTEMPT(kexec_of_no_file, "machine", BOTH, ROOT) { past_permission(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, ~0ul)); }
ATTEMPT(module_of_nothing, "machine", BOTH, ROOT) { past_permission(syscall(SYS_init_module, NULL, 0, "")); }
ATTEMPT(module_of_no_file, "machine", BOTH, ROOT) { past_permission(syscall(SYS_finit_module, -1, "", 0)); }
ATTEMPT(module_removed_that_is_not_there, "machine", BOTH, ROOT) { past_permission(syscall(SYS_delete_module, "windlass_no_such_module", O_NONBLOCK)); }
ATTEMPT(swap_to_nowhere, "machine", BOTH, ROOT) { past_permission(swapon("/windlass/no/such/file", 0)); }
ATTEMPT(swap_off_nowhere, "machine", BOTH, ROOT) { past_permission(swapoff("/windlass/no/such/file")); }
ATTEMPT(accounting_to_nowhere, "machine", BOTH, ROOT) { past_permission(syscall(SYS_acct, "/windlass/no/such/file")); }
ATTEMPT(clock_adjusted_to_itself, "machine", BOTH, ROOT) {
    struct timex now = {0};
    must(adjtimex(&now));
    now.modes = ADJ_FREQUENCY;
    must(adjtimex(&now));
    escaped("may adjust the clock");
}
ATTEMPT(clock_adjusted_by_number, "machine", BOTH, ROOT) {
    struct timex now = {0};
    must(clock_adjtime(CLOCK_REALTIME, &now));
    now.modes = ADJ_FREQUENCY;
    must(clock_adjtime(CLOCK_REALTIME, &now));
    escaped("may adjust the clock");
}
ATTEMPT(host_name_set_to_itself, "machine", BOTH, ROOT) {
    struct utsname name;
    uname(&name);
    must(sethostname(name.nodename, strlen(name.nodename)));
    escaped("may name the machine");
}
ATTEMPT(domain_name_set_to_itself, "machine", BOTH, ROOT) {
    struct utsname name;
    uname(&name);
    must(setdomainname(name.domainname, strlen(name.domainname)));
    escaped("may name the domain");
}
ATTEMPT(quotas_synchronised, "machine", BOTH, ANYONE) {
    must(syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL));
    escaped("may have quotas written");
}
ATTEMPT(quota_of_another_asked_for, "machine", BOTH, ROOT) {
    int place = must(open(given("OUTSIDE"), O_RDONLY));
    past_permission(syscall(SYS_quotactl_fd, place, QCMD(Q_GETQUOTA, USRQUOTA), 12345, NULL));
}
ATTEMPT(kernel_log_read, "machine", BOTH, ANYONE) {
    if (bare() && geteuid() && atoi(content_of(must(open("/proc/sys/kernel/dmesg_restrict", O_RDONLY))))) untried("needs root");
    static char log[4096];
    must(syscall(SYS_syslog, 3, log, sizeof log));
    escaped("read the kernel's log");
}
ATTEMPT(kernel_log_size, "machine", BOTH, ANYONE) {
    if (bare() && geteuid() && atoi(content_of(must(open("/proc/sys/kernel/dmesg_restrict", O_RDONLY))))) untried("needs root");
    must(syscall(SYS_syslog, 10, NULL, 0));
    escaped("asked the kernel's log");
}
ATTEMPT(kernel_log_console_level, "machine", BOTH, ROOT) { past_permission(syscall(SYS_syslog, 8, NULL, 99)); }
#ifdef __x86_64__
ATTEMPT(ports_allowed, "machine", BOTH, ROOT) { must(ioperm(0x80, 1, 1)); ioperm(0x80, 1, 0); escaped("may speak to devices"); }
ATTEMPT(ports_level_raised, "machine", BOTH, ROOT) { must(iopl(3)); escaped("may speak to all devices"); }
ATTEMPT(descriptor_table_changed, "machine", BOTH, ANYONE) {
    struct user_desc entry = {.entry_number = 0, .base_addr = 0, .limit = 1, .seg_32bit = 1, .useable = 1};
    must((int)syscall(SYS_modify_ldt, 1, &entry, sizeof entry));
    escaped("changed its table of segments");
}
#endif
ATTEMPT(personality_of_another_system, "machine", BOTH, ANYONE) {
    must(syscall(SYS_personality, 0x0006 /* PER_BSD */));
    if ((syscall(SYS_personality, 0xffffffff) & 0xff) == 6) escaped("behaves as another system");
}
ATTEMPT(priority_raised, "machine", BOTH, ROOT) { must(setpriority(PRIO_PROCESS, 0, -5)); escaped("runs before others"); }
ATTEMPT(scheduled_in_real_time, "machine", BOTH, ROOT) {
    struct sched_param first = {1};
    must(sched_setscheduler(0, SCHED_FIFO, &first));
    sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
    escaped("runs before everybody");
}
ATTEMPT(limit_raised, "machine", BOTH, ROOT) {
    struct rlimit now;
    must(getrlimit(RLIMIT_NOFILE, &now));
    now.rlim_max += 1;
    must(setrlimit(RLIMIT_NOFILE, &now));
    escaped("raised a hard limit");
}
ATTEMPT(memory_killer_evaded, "machine", BOTH, ROOT) {
    must(write(must(open("/proc/self/oom_score_adj", O_WRONLY)), "-500", 4));
    escaped("others are killed first");
}

// ---- keys ----

ATTEMPT(key_added, "keys", BOTH, ANYONE) {
    long key = must(syscall(SYS_add_key, "user", "windlass-attack", "x", 1, -1 /* thread */));
    syscall(SYS_keyctl, 3 /* revoke */, key);
    escaped("the kernel keeps a key");
}
ATTEMPT(key_session_joined, "keys", BOTH, ANYONE) { must(syscall(SYS_keyctl, 1, NULL)); escaped("has a ring of keys"); }
ATTEMPT(key_of_user_seen, "keys", BOTH, ANYONE) { must(syscall(SYS_keyctl, 0, -4 /* user */, 1)); escaped("has the user's ring of keys"); }
ATTEMPT(key_requested, "keys", BOTH, ANYONE) {
    long key = syscall(SYS_request_key, "user", "windlass-no-such-key", NULL, 0);
    if (key < 0 && errno == ENOKEY) escaped("searched all rings of keys");
    must(key);
}
ATTEMPT(key_persistent, "keys", BOTH, ANYONE) { must(syscall(SYS_keyctl, 22, -1, -2)); escaped("has keys that stay"); }

// ---- watching and programming the kernel ----

static long unprivileged_bpf(void) {
    int file = open("/proc/sys/kernel/unprivileged_bpf_disabled", O_RDONLY);
    return file < 0 ? 0 : atoi(content_of(file));
}
ATTEMPT(bpf_map_made, "bpf", BOTH, ANYONE) {
    if (bare() && geteuid() && unprivileged_bpf()) untried("needs root");
    union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    must(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
    escaped("made a map");
}
ATTEMPT(bpf_program_loaded, "bpf", BOTH, ANYONE) {
    if (bare() && geteuid() && unprivileged_bpf()) untried("needs root");
    struct bpf_insn program[] = {{.code = 0xb7, .dst_reg = 0}, {.code = 0x95}};
    union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insns = (unsigned long)program, .insn_cnt = 2, .license = (unsigned long)"GPL"};
    must(syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes));
    escaped("loaded a program");
}
static long watched(pid_t process, int processor) {
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1, .exclude_hv = 1};
    return syscall(SYS_perf_event_open, &attributes, process, processor, -1, 0);
}
static void if_paranoid(int level) {
    int file = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY);
    if (bare() && geteuid() && file >= 0 && atoi(content_of(file)) >= level) untried("needs root");
}
ATTEMPT(perf_of_self, "perf", BOTH, ANYONE) { if_paranoid(3); must(watched(0, -1)); escaped("counts events"); }
ATTEMPT(perf_of_victim, "perf", BOTH, ANYONE) { if_paranoid(3); must(watched(victim(), -1)); escaped("counts events of another"); }
ATTEMPT(perf_of_processor, "perf", BOTH, ROOT) { must(watched(-1, 0)); escaped("counts events of everybody"); }
ATTEMPT(page_faults_handled, "faults", BOTH, ANYONE) {
    must(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    escaped("handles page faults");
}
ATTEMPT(page_faults_of_kernel_handled, "faults", BOTH, ROOT) { must(syscall(SYS_userfaultfd, O_CLOEXEC)); escaped("handles the kernel's page faults"); }
ATTEMPT(page_faults_by_device, "faults", BOTH, ROOT) {
    int device = open("/dev/userfaultfd", O_RDWR);
    if (device < 0 && errno == ENOENT && bare()) untried("there is no such device");
    must(ioctl(must(device), USERFAULTFD_IOC_NEW, O_CLOEXEC));
    escaped("handles the kernel's page faults");
}
ATTEMPT(mount_watched, "watch", BOTH, ROOT) {
    int group = must(fanotify_init(FAN_CLASS_NOTIF | FAN_NONBLOCK, O_RDONLY));
    must(fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN, AT_FDCWD, "/"));
    escaped("sees every file that anybody opens");
}
ATTEMPT(mount_guarded, "watch", BOTH, ROOT) { must(fanotify_init(FAN_CLASS_CONTENT | FAN_NONBLOCK, O_RDONLY)); escaped("may decide who opens a file"); }

// ---- devices ----

static void device(const char *path, int flags) {
    int file = open(path, flags);
    if (file < 0 && (errno == ENOENT || errno == ENXIO) && bare()) untried("there is no %s", path);
    must(file);
    escaped("opened %s", path);
}
ATTEMPT(device_memory, "device", BOTH, ROOT) { device("/dev/mem", O_RDONLY); }
ATTEMPT(device_ports, "device", BOTH, ROOT) { device("/dev/port", O_RDONLY); }
ATTEMPT(device_loop, "device", BOTH, ROOT) { device("/dev/loop-control", O_RDWR); }
ATTEMPT(device_fuse, "device", BOTH, ROOT) { device("/dev/fuse", O_RDWR); }
ATTEMPT(device_kvm, "device", BOTH, ROOT) { device("/dev/kvm", O_RDWR); }
ATTEMPT(device_tunnel, "device", BOTH, ROOT) { device("/dev/net/tun", O_RDWR); }
ATTEMPT(device_input, "device", BOTH, ROOT) { device("/dev/uinput", O_WRONLY | O_NONBLOCK); }
ATTEMPT(device_vhost, "device", BOTH, ROOT) { device("/dev/vhost-vsock", O_RDWR); }
ATTEMPT(device_console, "device", BOTH, ROOT) { device("/dev/console", O_WRONLY | O_NOCTTY | O_NONBLOCK); }
ATTEMPT(device_processor_registers, "device", BOTH, ROOT) { device("/dev/cpu/0/msr", O_RDONLY); }
ATTEMPT(device_disk, "device", BOTH, ROOT) {
    struct stat about;
    must(stat(given("OUTSIDE"), &about));
    char target[256] = {0};
    if (readlink(text("/sys/dev/block/%d:%d", major(about.st_dev), minor(about.st_dev)), target, 255) < 0) untried("no disk");
    device(text("/dev/%s", strrchr(target, '/') + 1), O_RDONLY);
}

// ---- privileges ----

static unsigned long status_of(const char *field) {
    char *line = strstr(content_of(must(open("/proc/self/status", O_RDONLY))), field);
    return line ? strtoul(line + strlen(field), NULL, 16) : 0;
}
ATTEMPT(privileges_may_grow, "privilege", BOTH, ANYONE) {
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0) escaped("programs may have more privileges than we have");
}
// Those over files in a space of users of one's own (owner, override, mode) reach nothing that is not writable anyway.
#define OVER_FILES 0x1bUL
ATTEMPT(capabilities_held, "privilege", BOTH, ROOT) {
    unsigned long held = status_of("CapEff:") & ~OVER_FILES;
    if (held) escaped("has capabilities %lx", held);
    errno = EPERM;
    blocked();
}
ATTEMPT(capabilities_after_exec, "privilege", BOTH, ROOT) {
    char *line = strstr(output_of("cat", "/proc/self/status", NULL), "CapEff:");
    if (line && strtoul(line + 7, NULL, 16) & ~OVER_FILES) escaped("a program has capabilities");
    errno = EPERM;
    blocked();
}
ATTEMPT(capabilities_ambient, "privilege", BOTH, ROOT) {
    // An ambient one must be inheritable, too; the kernel's own structures keep this free of libraries.
    struct { unsigned version; int process; } header = {0x20080522, 0};
    struct { unsigned effective, permitted, inheritable; } sets[2];
    must(syscall(SYS_capget, &header, sets));
    sets[0].inheritable |= 1 << 13;
    must(syscall(SYS_capset, &header, sets));
    must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 13, 0, 0));
    escaped("passes a capability on");
}
ATTEMPT(capabilities_of_file_in_workspace, "privilege", BOTH, ROOT) {
    put(prepared("program"), "");
    struct { unsigned magic, permitted, inheritable, permitted2, inheritable2; } value = {0x02000001, 1 << 13, 0, 0, 0};
    must(setxattr(prepared("program"), "security.capability", &value, sizeof value, 0));
    escaped("made a program with a capability");
}
ATTEMPT(setuid_program_made, "privilege", BOTH, ROOT) {
    put(prepared("program"), "");
    must(chmod(prepared("program"), 04755));
    struct stat about;
    must(stat(prepared("program"), &about));
    unlink(prepared("program"));
    if (about.st_uid == 0 && (about.st_mode & 04000)) escaped("made a program that is root's for everybody");
    errno = EPERM;
    blocked();
}
ATTEMPT(setuid_program_run, "privilege", BOTH, ANYONE) {
    const char *program = given("SETUID_PROGRAM");
    if (geteuid() == 0) untried("we are root");
    struct statvfs about;
    if (bare() && statvfs(program, &about) == 0 && (about.f_flag & ST_NOSUID)) untried("such programs mean nothing there");
    char *answer = output_of(program, "euid", NULL);
    if (!strcmp(answer, "0\n")) escaped("ran a program as root");
    errno = EPERM;
    blocked();
}
ATTEMPT(user_changed, "privilege", BOTH, ROOT) { must(setresuid(12345, 12345, 12345)); escaped("became another user"); }
ATTEMPT(group_changed, "privilege", BOTH, ROOT) { must(setresgid(12345, 12345, 12345)); escaped("became another group"); }
ATTEMPT(secure_bits_changed, "privilege", BOTH, ROOT) { must(prctl(PR_SET_SECUREBITS, 1 << 2, 0, 0, 0)); escaped("changed what root means"); }

// ---- other numbers for the same calls ----

#ifdef __x86_64__
static void no_such_calls(int number) {
    (void)number;
    untried("this kernel has no such calls");
}
static long old_call(long number, long first, long second, long third) {
    long answer;
    if (bare()) signal(SIGSEGV, no_such_calls);
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory", "r8", "r9", "r10", "r11");
    if (answer < 0 && answer > -4096) { errno = -answer; return -1; }
    return answer;
}
// Pointers of such calls have 32 bits.
static char *low(const char *content) {
    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (memory == MAP_FAILED) blocked();
    return strcpy(memory, content);
}
ATTEMPT(old_calls_mkdir, "numbers", BOTH, ANYONE) { must(old_call(39, (long)low(outside("new")), 0755, 0)); if_there(outside("new")); }
ATTEMPT(old_calls_write, "numbers", BOTH, ANYONE) {
    scribble(must(old_call(5, (long)low(outside("file")), O_WRONLY, 0)));
    if_changed(outside("file"));
}
ATTEMPT(old_calls_secret, "numbers", BOTH, ANYONE) { if_secret(old_call(5, (long)low(given("SECRET")), O_RDONLY, 0)); }
ATTEMPT(old_calls_kill, "numbers", BOTH, ANYONE) { must(old_call(37, victim(), 0, 0)); escaped("may signal it"); }
ATTEMPT(old_calls_socket, "numbers", NETWORK_NOT_ON, ANYONE) {
    unsigned *arguments = (unsigned *)low("");
    arguments[0] = AF_INET, arguments[1] = SOCK_STREAM, arguments[2] = 0;
    long one = must(old_call(102, 1, (long)arguments, 0));
    unsigned char *address = (unsigned char *)(arguments + 16);
    int port = atoi(given("TCP_PORT"));
    memcpy(address, (unsigned char[]){AF_INET, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, 16);
    arguments[0] = one, arguments[1] = (unsigned)(long)address, arguments[2] = 16;
    must(old_call(102, 3, (long)arguments, 0));
    escaped("connected to the host");
}
ATTEMPT(old_calls_program, "numbers", BOTH, ANYONE) { must(old_call(136, 0xffffffff, 0, 0)); escaped("calls of 32-bit programs go through"); }
ATTEMPT(short_pointer_calls_mkdir, "numbers", BOTH, ANYONE) { must(syscall(0x40000000 + SYS_mkdir, outside("new"), 0755)); if_there(outside("new")); }
ATTEMPT(short_pointer_calls_write, "numbers", BOTH, ANYONE) {
    scribble(must(syscall(0x40000000 + SYS_open, outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
#endif
