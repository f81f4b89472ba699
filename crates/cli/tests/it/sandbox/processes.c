// Reaching processes outside: their memory, descriptors, directories, signals, terminals and shared memory.
#include "attacks.h"
#include <mqueue.h>
#include <sys/inotify.h>
#include <linux/perf_event.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <termios.h>

#define PROC(part) text("/proc/%d/%s", victim(), part)

static int pidfd(void) { return must(syscall(SYS_pidfd_open, victim(), 0)); }

static int canary_is(const char *word) {
    char found[16] = {0};
    struct iovec ours = {found, 15}, theirs = {(void *)victim_address(), 15};
    must(process_vm_readv(victim(), &ours, 1, &theirs, 1, 0));
    return !strcmp(found, word);
}

// ---- memory ----

ATTEMPT(memory_read_by_proc, "memory", BOTH, ANYONE) {
    char found[8] = {0};
    must(pread(must(open(PROC("mem"), O_RDONLY)), found, 6, victim_address()));
    if (!strcmp(found, "canary")) escaped("read its memory");
}
ATTEMPT(memory_written_by_proc, "memory", BOTH, ANYONE) {
    int memory = must(open(PROC("mem"), O_RDWR));
    must(pwrite(memory, "killed", 7, victim_address()));
    int changed = canary_is("killed");
    must(pwrite(memory, "canary", 7, victim_address()));
    if (changed) escaped("wrote its memory");
}
ATTEMPT(memory_read_by_vm_readv, "memory", BOTH, ANYONE) { if (canary_is("canary")) escaped("read its memory"); }
ATTEMPT(memory_written_by_vm_writev, "memory", BOTH, ANYONE) {
    struct iovec ours = {"killed", 7}, back = {"canary", 7}, theirs = {(void *)victim_address(), 7};
    must(process_vm_writev(victim(), &ours, 1, &theirs, 1, 0));
    int changed = canary_is("killed");
    must(process_vm_writev(victim(), &back, 1, &theirs, 1, 0));
    if (changed) escaped("wrote its memory");
}
ATTEMPT(memory_advised, "memory", BOTH, ROOT) {
    struct iovec theirs = {(void *)(victim_address() & ~4095ul), 4096};
    must(syscall(SYS_process_madvise, pidfd(), &theirs, 1, 20 /* MADV_COLD */, 0));
    escaped("gave advice about its memory");
}
ATTEMPT(memory_map_read, "memory", BOTH, ANYONE) {
    if (strstr(content_of(must(open(PROC("maps"), O_RDONLY))), "[stack]")) escaped("read its map");
}
ATTEMPT(environment_read, "memory", BOTH, ANYONE) {
    if (strstr(content_of(must(open(PROC("environ"), O_RDONLY))), "=")) escaped("read its environment");
}
ATTEMPT(references_cleared, "memory", BOTH, ANYONE) {
    must(write(must(open(PROC("clear_refs"), O_WRONLY)), "1", 1));
    escaped("cleared the referenced bits of its memory");
}

// ---- tracing ----

static void traced(int request) {
    must(ptrace(request, victim(), NULL, NULL));
    if (request == PTRACE_SEIZE) must(ptrace(PTRACE_INTERRUPT, victim(), NULL, NULL));
    waitpid(victim(), NULL, __WALL);
    errno = 0;
    long word = ptrace(PTRACE_PEEKDATA, victim(), (void *)victim_address(), NULL);
    int error = errno;
    ptrace(PTRACE_DETACH, victim(), NULL, NULL);
    if (!error && !memcmp(&word, "canary", 6)) escaped("traced it and read its memory");
}
ATTEMPT(trace_attached, "trace", BOTH, ANYONE) { traced(PTRACE_ATTACH); }
ATTEMPT(trace_seized, "trace", BOTH, ANYONE) { traced(PTRACE_SEIZE); }
ATTEMPT(descriptor_taken_by_pidfd, "trace", BOTH, ANYONE) {
    int file = must(syscall(SYS_pidfd_getfd, pidfd(), atoi(given("VICTIM_FD")), 0));
    lseek(file, 0, SEEK_SET);
    if_secret(file);
}
ATTEMPT(descriptors_listed, "trace", BOTH, ANYONE) {
    char target[4096] = {0};
    must(readlink(text("/proc/%d/fd/%s", victim(), given("VICTIM_FD")), target, sizeof target - 1));
    if (*target == '/') escaped("saw that %s is open", target);
}
ATTEMPT(resources_compared, "trace", BOTH, ANYONE) {
    must(syscall(SYS_kcmp, getpid(), victim(), 2 /* KCMP_FILES */, 0, 0));
    escaped("compared its descriptors with ours");
}
ATTEMPT(write_through_victim_cwd, "trace", BOTH, ANYONE) {
    scribble(must(open(text("/proc/%d/cwd/%s/file", victim(), attempt_name()), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(write_through_victim_root, "trace", BOTH, ANYONE) {
    scribble(must(open(text("/proc/%d/root%s", victim(), outside("file")), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(write_through_victim_thread_root, "trace", BOTH, ANYONE) {
    scribble(must(open(text("/proc/%d/task/%d/root%s", victim(), victim(), outside("file")), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(victim_seen, "trace", BOTH, ANYONE) {
    char *line = content_of(must(open(PROC("cmdline"), O_RDONLY)));
    if (strstr(line, "attacks")) escaped("read its command line");
}

// ---- settings of another process ----

ATTEMPT(limit_of_victim_changed, "settings", BOTH, ANYONE) {
    struct rlimit was, now;
    must(prlimit(victim(), RLIMIT_CORE, NULL, &was));
    struct rlimit lower = {was.rlim_cur ? 0 : was.rlim_max, was.rlim_max};
    must(prlimit(victim(), RLIMIT_CORE, &lower, NULL));
    must(prlimit(victim(), RLIMIT_CORE, &was, &now));
    escaped("changed its limit of core files");
}
ATTEMPT(scheduling_of_victim_changed, "settings", BOTH, ANYONE) {
    struct sched_param none = {0};
    must(sched_setscheduler(victim(), SCHED_BATCH, &none));
    int changed = sched_getscheduler(victim()) == SCHED_BATCH;
    sched_setscheduler(victim(), SCHED_OTHER, &none);
    if (changed) escaped("changed how it is scheduled");
}
ATTEMPT(affinity_of_victim_changed, "settings", BOTH, ANYONE) {
    cpu_set_t was, one;
    must(sched_getaffinity(victim(), sizeof was, &was));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &was)) { CPU_SET(cpu, &one); break; }
    must(sched_setaffinity(victim(), sizeof one, &one));
    must(sched_setaffinity(victim(), sizeof was, &was));
    escaped("tied it to a processor");
}
ATTEMPT(io_priority_of_victim_changed, "settings", BOTH, ANYONE) {
    must(syscall(SYS_ioprio_set, 1, victim(), (2 << 13) | 6));
    int changed = syscall(SYS_ioprio_get, 1, victim()) == ((2 << 13) | 6);
    syscall(SYS_ioprio_set, 1, victim(), 0);
    if (changed) escaped("changed its priority for the disk");
}
ATTEMPT(priority_of_victim_set, "settings", BOTH, ANYONE) {
    errno = 0;
    int now = getpriority(PRIO_PROCESS, victim());
    if (errno) blocked();
    must(setpriority(PRIO_PROCESS, victim(), now));
    escaped("may set its priority");
}
static void rewritten(const char *path) {
    char *value = text("%s", content_of(must(open(path, O_RDONLY))));
    must(write(must(open(path, O_WRONLY)), value, strlen(value)));
    escaped("wrote %s", path);
}
ATTEMPT(oom_score_of_victim_written, "settings", BOTH, ANYONE) { rewritten(PROC("oom_score_adj")); }
ATTEMPT(dump_filter_of_victim_written, "settings", BOTH, ANYONE) {
    char *value = text("0x%s", content_of(must(open(PROC("coredump_filter"), O_RDONLY))));
    must(write(must(open(PROC("coredump_filter"), O_WRONLY)), value, strlen(value)));
    escaped("wrote which of its memory is dumped");
}

// ---- signals ----

// The victim adds a byte to a file for each SIGUSR1.
static long heard(void) {
    struct stat about;
    return stat(text("%s/signals", given("OUTSIDE")), &about) == 0 ? about.st_size : 0;
}
static void if_heard(long before) {
    for (int i = 0; i < 200; i++) {
        if (heard() > before) escaped("it got the signal");
        poll(NULL, 0, 5);
    }
}
#define SIGNALLED(call) long before = heard(); must(call); if_heard(before)
ATTEMPT(signal_kill, "signal", BOTH, ANYONE) { SIGNALLED(kill(victim(), SIGUSR1)); }
ATTEMPT(signal_group, "signal", BOTH, ANYONE) { SIGNALLED(kill(-victim(), SIGUSR1)); }
ATTEMPT(signal_tgkill, "signal", BOTH, ANYONE) { SIGNALLED(syscall(SYS_tgkill, victim(), victim(), SIGUSR1)); }
ATTEMPT(signal_tkill, "signal", BOTH, ANYONE) { SIGNALLED(syscall(SYS_tkill, victim(), SIGUSR1)); }
ATTEMPT(signal_queued, "signal", BOTH, ANYONE) { SIGNALLED(sigqueue(victim(), SIGUSR1, (union sigval){0})); }
ATTEMPT(signal_queued_to_thread, "signal", BOTH, ANYONE) {
    siginfo_t about = {.si_code = SI_QUEUE, .si_signo = SIGUSR1};
    about.si_pid = getpid(), about.si_uid = getuid();
    SIGNALLED(syscall(SYS_rt_tgsigqueueinfo, victim(), victim(), SIGUSR1, &about));
}
ATTEMPT(signal_by_pidfd, "signal", BOTH, ANYONE) { SIGNALLED(syscall(SYS_pidfd_send_signal, pidfd(), SIGUSR1, NULL, 0)); }
ATTEMPT(signal_by_proc_directory, "signal", BOTH, ANYONE) {
    int directory = must(open(PROC(""), O_RDONLY | O_DIRECTORY));
    SIGNALLED(syscall(SYS_pidfd_send_signal, directory, SIGUSR1, NULL, 0));
}
ATTEMPT(signal_zero, "signal", BOTH, ANYONE) { must(kill(victim(), 0)); escaped("may signal it"); }
static void owned_by_victim(int file) {
    must(fcntl(file, F_SETSIG, SIGUSR1));
    must(fcntl(file, F_SETFL, O_ASYNC | O_NONBLOCK));
}
ATTEMPT(signal_by_file_owner, "signal", BOTH, ANYONE) {
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    must(fcntl(pair[0], F_SETOWN, victim()));
    owned_by_victim(pair[0]);
    SIGNALLED(write(pair[1], "x", 1));
}
ATTEMPT(signal_by_extended_file_owner, "signal", BOTH, ANYONE) {
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    struct f_owner_ex owner = {F_OWNER_PID, victim()};
    must(fcntl(pair[0], F_SETOWN_EX, &owner));
    owned_by_victim(pair[0]);
    SIGNALLED(write(pair[1], "x", 1));
}
ATTEMPT(signal_by_shell, "signal", BOTH, ANYONE) { SIGNALLED(-run("sh", "-c", text("kill -USR1 %d", victim()), NULL)); }

// ---- memory and queues between processes ----

ATTEMPT(shared_segment_written, "ipc", BOTH, ANYONE) {
    char *segment = shmat(atoi(given("VICTIM_SHM")), NULL, 0);
    if (segment == (void *)-1) blocked();
    if (!strcmp(segment, "canary")) { segment[10] = 'x'; escaped("wrote to its shared memory"); }
}
ATTEMPT(message_queued, "ipc", BOTH, ANYONE) {
    struct { long type; char body[4]; } message = {7, "hey"};
    must(msgsnd(atoi(given("VICTIM_MSG")), &message, 4, IPC_NOWAIT));
    must(msgrcv(atoi(given("VICTIM_MSG")), &message, 4, 7, IPC_NOWAIT));
    escaped("sent to its queue");
}
ATTEMPT(semaphore_raised, "ipc", BOTH, ANYONE) {
    struct sembuf up = {0, 1, IPC_NOWAIT};
    must(semop(atoi(given("VICTIM_SEM")), &up, 1));
    escaped("raised its semaphore");
}
ATTEMPT(posix_shared_memory_written, "ipc", BOTH, ANYONE) {
    const char *path = given("SHM_FILE");
    int file = must(open(path, O_RDWR));
    scribble(file);
    int changed = !holds(path, ORIGINAL);
    must(ftruncate(file, 0));
    must(pwrite(file, ORIGINAL, strlen(ORIGINAL), 0));
    if (changed) escaped("wrote to shared memory of others");
}

// ---- descriptors that came along ----

ATTEMPT(descriptor_inherited, "descriptor", BOTH, ANYONE) {
    if (inherited_count) escaped("descriptor %d was open at the start, and %d more", inherited[0], inherited_count - 1);
}
ATTEMPT(descriptor_inherited_directory, "descriptor", BOTH, ANYONE) {
    for (int i = 0; i < inherited_count; i++) {
        int file = openat(inherited[i], text("%s/file", attempt_name()), O_WRONLY);
        if (file >= 0) { scribble(file); if_changed(outside("file")); }
    }
    errno = EBADF;
    blocked();
}
ATTEMPT(descriptor_of_standard_stream_upwards, "descriptor", BOTH, ANYONE) {
    for (int i = 0; i < inherited_count; i++)
        if (fchdir(inherited[i]) == 0 && chdir("..") == 0) {
            scribble(must(open(text("%s/file", outside("") + strlen(given("OUTSIDE")) - strlen(strrchr(given("OUTSIDE"), '/')) + 1), O_WRONLY)));
            if_changed(outside("file"));
        }
    errno = EBADF;
    blocked();
}

// ---- terminals ----

static int terminal(void) { return must(open(given("TTY"), O_RDWR | O_NOCTTY | O_NONBLOCK)); }

ATTEMPT(terminal_written, "terminal", BOTH, ANYONE) {
    int file = terminal();
    if (must(write(file, "x", 1)) == 1) escaped("printed on another terminal");
}
ATTEMPT(terminal_mode_changed, "terminal", BOTH, ANYONE) {
    struct termios was, mode, now;
    int file = terminal();
    must(tcgetattr(file, &was));
    mode = was, mode.c_lflag ^= ECHONL;
    must(tcsetattr(file, TCSANOW, &mode));
    must(tcgetattr(file, &now));
    tcsetattr(file, TCSANOW, &was);
    if (now.c_lflag == mode.c_lflag) escaped("changed another terminal's mode");
}
ATTEMPT(terminal_resized, "terminal", BOTH, ANYONE) {
    struct winsize size = {33, 77, 0, 0}, now;
    int file = terminal();
    must(ioctl(file, TIOCSWINSZ, &size));
    must(ioctl(file, TIOCGWINSZ, &now));
    if (now.ws_col == 77) escaped("resized another terminal");
}
static void taken(int file) {
    signal(SIGHUP, SIG_IGN);
    // The leader of a group cannot begin a session; its child can, and speaks for it.
    pid_t child = must(fork());
    if (child) _exit(waitpid(child, NULL, 0) < 0);
    alarm(5);
    must(setsid());
    must(ioctl(file, TIOCSCTTY, 0));
}
ATTEMPT(terminal_taken, "terminal", BOTH, ANYONE) {
    int file = terminal();
    taken(file);
    int ours = open("/dev/tty", O_RDWR);
    ioctl(file, TIOCNOTTY);
    must(ours);
    escaped("took control of another terminal");
}
ATTEMPT(terminal_typed_into, "terminal", BOTH, ANYONE) {
    int file = terminal();
    char found[8] = {0};
    taken(file);
    int typed = ioctl(file, TIOCSTI, "k") | ioctl(file, TIOCSTI, "\n"), error = errno;
    if (typed == 0 && read(file, found, 8) < 0) error = errno;
    ioctl(file, TIOCNOTTY);
    if (typed == 0 && *found == 'k') escaped("typed into another terminal");
    // A kernel that refuses this to everybody says EIO.
    if (error == EIO && bare()) untried("this kernel lets nobody type into terminals");
    errno = error;
    blocked();
}
ATTEMPT(terminal_typed_into_own, "terminal", BOTH, ANYONE) {
    int file = open("/dev/tty", O_RDWR | O_NONBLOCK);
    if (file < 0 && bare()) untried("we have no terminal");
    must(file);
    must(ioctl(file, TIOCSTI, " "));
    escaped("typed into the terminal it was started from");
}
ATTEMPT(terminal_mode_bits, "terminal", BOTH, ANYONE) {
    struct stat was, now;
    must(stat(given("TTY"), &was));
    must(chmod(given("TTY"), 0622));
    must(stat(given("TTY"), &now));
    chmod(given("TTY"), was.st_mode & 07777);
    if ((now.st_mode & 0777) == 0622) escaped("opened another terminal to everybody");
}
ATTEMPT(terminal_console_selection, "terminal", BOTH, ROOT) {
    int file = must(open("/dev/tty0", O_RDWR | O_NOCTTY | O_NONBLOCK));
    char request = 6; // TIOCL_GETSHIFTSTATE
    must(ioctl(file, TIOCLINUX, &request));
    escaped("spoke to the console");
}
ATTEMPT(terminal_console_memory, "terminal", BOTH, ROOT) {
    must(open("/dev/vcs", O_RDWR));
    escaped("opened the console's characters");
}

// ---- what is shared by name ----

ATTEMPT(message_queue_opened, "memory", BOTH, ANYONE) {
    must(mq_open(given("QUEUE"), O_RDWR));
    escaped("may read and write a queue of the outside");
}
ATTEMPT(message_queue_removed, "memory", BOTH, ANYONE) {
    char *name = text("%s-removed", given("QUEUE"));
    // Where nothing stops us it is ours, and is gone afterwards.
    if (bare()) must(mq_open(name, O_RDWR | O_CREAT, 0600, NULL));
    must(mq_unlink(bare() ? name : given("QUEUE")));
    escaped("removed a queue");
}
// A user has so many in all, wherever its programs run.
ATTEMPT(watchers_used_up, "watch", BOTH, ANYONE) {
    long all = atol(content_of(must(open("/proc/sys/fs/inotify/max_user_instances", O_RDONLY)))), made = 0;
    // Other programs of the user have some of them.
    for (; made <= all / 2; made++)
        if (inotify_init() < 0) {
            if (bare()) untried("others have more than half of them");
            blocked();
        }
    escaped("has %ld of the user's %ld", made, all);
}
// Others who open the file for writing wait for whoever has a lease on it.
ATTEMPT(lease_on_file_outside, "lock", BOTH, ANYONE) {
    must(fcntl(must(open(outside("file"), O_RDONLY)), F_SETLEASE, F_RDLCK));
    escaped("has a lease on a file outside");
}
