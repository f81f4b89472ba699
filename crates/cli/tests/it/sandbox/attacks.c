// Attempts to get out of a sandbox, each with a name. This file runs them, stages what they aim at, and is their victim.
//
//   attacks list            a line for each: name, category, the policies that must stop it, what it needs
//   attacks stage           makes what the attempts aim at in $OUTSIDE; called outside of the sandbox
//   attacks surroundings    listens in every way and holds a terminal; prints where; ends with its input
//   attacks victim          a process to aim at; prints its number and where its parts are; ends with its input
//   attacks run NAME...|all prints `NAME: blocked (why)`, `NAME: ESCAPED detail` or `NAME: untried reason`
//
// Parameters are in the environment: WORK, WORK2, OUTSIDE, SECRET, SECRETDIR, VICTIM, ... (see `given`). With
// NOTHING_STOPS=1 an attempt that fails because this kernel or this user cannot do the thing at all is untried.
#include "attacks.h"
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <time.h>

enum { MOST = 1024, SECONDS = 15 };
static struct attempt attempts[MOST];
static int count;
static const struct attempt *current;
static int report;
int inherited[64], inherited_count;

void enlist(struct attempt attempt) {
    if (count == MOST) abort();
    attempts[count++] = attempt;
}

const char *attempt_name(void) { return current ? current->name : "nobody"; }

// ---- the ends ----

static _Noreturn void end(const char *kind, const char *detail) {
    dprintf(report, "%s %s", kind, detail);
    _exit(0);
}

void escaped(const char *detail, ...) {
    char line[400];
    va_list values;
    va_start(values, detail);
    vsnprintf(line, sizeof line, detail, values);
    end("ESCAPED", line);
}

void untried(const char *reason, ...) {
    char line[400];
    va_list values;
    va_start(values, reason);
    vsnprintf(line, sizeof line, reason, values);
    end("untried", line);
}

// Who we were before the attempt changed that.
static uid_t own_user;
static int whole_root, filtered;

static const char *absent_errors = " ENOSYS EOPNOTSUPP ENOTTY EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT ENODEV ENXIO ";

// Containers and virtual machines take some capabilities even from root.
static int is_whole_root(void) {
    if (geteuid()) return 0;
    int status = open("/proc/self/status", O_RDONLY), last = open("/proc/sys/kernel/cap_last_cap", O_RDONLY);
    char *line = strstr(content_of(status), "CapEff:");
    unsigned long held = line ? strtoul(line + 7, NULL, 16) : 0;
    return held == (2ul << atoi(content_of(last))) - 1;
}

static int is_filtered(void) {
    char *line = strstr(content_of(open("/proc/self/status", O_RDONLY)), "Seccomp:");
    return line && atoi(line + 8);
}

static long setting(const char *path) {
    int file = open(path, O_RDONLY);
    return file < 0 ? 0 : atol(content_of(file));
}

// The machine's own reason why this cannot be done here, sandbox or not.
static const char *excuse(const char *error) {
    if (strstr(absent_errors, text(" %s ", error))) return "not in this kernel";
    int refused = !strcmp(error, "EPERM") || !strcmp(error, "EACCES");
    if (!refused) return NULL;
    // A container brings a filter of its own.
    if (filtered) return "something around us stops it";
    if (!strcmp(current->category, "io_uring") && setting("/proc/sys/kernel/io_uring_disabled")) return "rings are switched off";
    int traces = !strcmp(current->category, "trace") || !strcmp(current->category, "memory");
    if (traces && setting("/proc/sys/kernel/yama/ptrace_scope") > 1) return "tracing is switched off";
    if (!strcmp(current->needs, ROOT) && !whole_root) return own_user ? "needs root" : "root lacks capabilities here";
    if (own_user == 0) return NULL;
    if (!strcmp(current->needs, NAMESPACES)) return "user namespaces are not for ordinary users here";
    return NULL;
}

void blocked(void) {
    const char *error = errno ? strerrorname_np(errno) : "no effect";
    if (!error) error = text("error %d", errno);
    const char *reason = bare() ? excuse(error) : NULL;
    if (reason) untried("%s (%s)", reason, error);
    end("blocked", text("(%s)", error));
}

long must(long answer) {
    if (answer < 0) blocked();
    return answer;
}

void past_permission(long answer) {
    if (answer < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS || errno == EROFS)) blocked();
    escaped("it passed the check of permission (%s)", answer < 0 ? strerrorname_np(errno) : "done");
}

// ---- paths ----

char *text(const char *format, ...) {
    static char buffers[16][4096];
    static int next;
    char *buffer = buffers[next++ % 16];
    va_list values;
    va_start(values, format);
    vsnprintf(buffer, 4096, format, values);
    va_end(values);
    return buffer;
}

const char *given(const char *variable) {
    const char *value = getenv(variable);
    if (!value || !*value) untried("%s is not given", variable);
    return value;
}

int bare(void) {
    const char *value = getenv("NOTHING_STOPS");
    return value && !strcmp(value, "1");
}

char *outside(const char *name) { return text("%s/%s/%s", given("OUTSIDE"), attempt_name(), name); }

char *prepared(const char *name) {
    static char place[4096];
    if (!*place) {
        // In shared memory, what the surroundings of this stage clear away.
        const char *shared = text("%s.tries", given("SHM_FILE"));
        const char *candidates[] = {text("%s/tries", given("WORK")), getenv("TMPDIR"), shared, "/tmp"};
        for (int i = 0; i < 4; i++) {
            if (!candidates[i]) continue;
            if (i == 0 || i == 2) mkdir(candidates[i], 0755);
            snprintf(place, sizeof place, "%s/%s", candidates[i], attempt_name());
            if (mkdir(place, 0755) == 0 || errno == EEXIST) break;
        }
        if (access(place, W_OK) < 0) blocked();
    }
    return text("%s/%s", place, name);
}

// ---- effects ----

void scribble(int file) { must(write(file, SCRIBBLE, strlen(SCRIBBLE))); }

void put(const char *path, const char *content) {
    int file = must(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    must(write(file, content, strlen(content)));
    close(file);
}

char *content_of(int file) {
    static char content[65536];
    size_t length = 0;
    ssize_t part;
    while (length < sizeof content - 1 && (part = read(file, content + length, sizeof content - 1 - length)) > 0)
        length += part;
    content[length] = 0;
    return content;
}

int holds(const char *path, const char *content) {
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    int same = !strcmp(content_of(file), content);
    close(file);
    return same;
}

void if_changed(const char *path) {
    int file = must(open(path, O_RDONLY));
    if (strcmp(content_of(file), ORIGINAL)) escaped("%s changed", path);
}

void if_there(const char *path) {
    struct stat about;
    if (lstat(path, &about) == 0) escaped("%s is there", path);
}

void if_gone(const char *path) {
    struct stat about;
    if (lstat(path, &about) < 0 && errno == ENOENT) escaped("%s is gone", path);
    errno = 0;
}

void if_secret(int file) {
    must(file);
    char *content = content_of(file);
    if (strstr(content, "secret:")) escaped("read %zu bytes of a secret", strlen(content));
}

static pid_t start(char **words, int output) {
    pid_t child = must(fork());
    if (child) return child;
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 0);
    dup2(output < 0 ? nowhere : output, 1);
    dup2(nowhere, 2);
    execvp(words[0], words);
    _exit(127);
}

int run(const char *program, ...) {
    char *words[32] = {(char *)program};
    va_list values;
    va_start(values, program);
    for (int i = 1; i < 31 && (words[i] = va_arg(values, char *)); i++) {}
    int status;
    waitpid(start(words, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

char *output_of(const char *program, ...) {
    char *words[32] = {(char *)program};
    va_list values;
    va_start(values, program);
    for (int i = 1; i < 31 && (words[i] = va_arg(values, char *)); i++) {}
    int ends[2];
    must(pipe2(ends, O_CLOEXEC));
    pid_t child = start(words, ends[1]);
    close(ends[1]);
    char *content = content_of(ends[0]);
    close(ends[0]);
    waitpid(child, NULL, 0);
    return content;
}

pid_t victim(void) { return atoi(given("VICTIM")); }
unsigned long victim_address(void) { return strtoul(given("VICTIM_ADDRESS"), NULL, 0); }

// ---- races ----

static void (*race_flip)(void);
static volatile int race_over;

static void *flipping(void *unused) {
    while (!race_over) race_flip();
    return unused;
}

int raced(void (*flip)(void), int (*attack)(void)) {
    pthread_t thread;
    race_flip = flip;
    // Half of a first path, with nothing behind it, would be that of something beside the stage.
    flip();
    if (pthread_create(&thread, NULL, flipping, NULL)) untried("no second thread");
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    // Where nothing stops us we win in the end, however busy the machine is.
    long milliseconds = bare() ? 10000 : 400;
    int won = 0, rounds = 0;
    do {
        won = attack();
        rounds++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!won && (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
    race_over = 1;
    pthread_join(thread, NULL);
    return won ? rounds : 0;
}

void race(void (*flip)(void), int (*attack)(void)) {
    int rounds = raced(flip, attack);
    if (rounds) escaped("won the race in round %d", rounds);
}

void own_mounts(void) {
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) {
        int file = open("/proc/self/setgroups", O_WRONLY);
        if (file >= 0) dprintf(file, "deny"), close(file);
        file = open("/proc/self/uid_map", O_WRONLY);
        if (file >= 0) dprintf(file, "%d %d 1", user, user), close(file);
        file = open("/proc/self/gid_map", O_WRONLY);
        if (file >= 0) dprintf(file, "%d %d 1", group, group), close(file);
    }
    // Where nothing stops us, mounting must stay among ourselves or not happen.
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 && bare()) blocked();
}

int opened_by_helper(const char *path, int flags) {
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    char byte = 'x', space[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    if (must(fork()) == 0) {
        int file = open(path, flags);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &file, sizeof file);
        if (file < 0) byte = errno, message.msg_controllen = 0;
        _exit(sendmsg(pair[0], &message, 0) < 0);
    }
    must(recvmsg(pair[1], &message, 0));
    if (message.msg_controllen == 0) errno = byte, blocked();
    int received;
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    return received;
}

// ---- the victim ----

static volatile char canary[64] = "canary";
static int signals;

static void on_signal(int number) {
    (void)number;
    if (write(signals, "s", 1) < 0) _exit(1);
}

static int be_victim(void) {
    signal(SIGUSR1, on_signal);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    setpgid(0, 0);
    signals = open(text("%s/signals", getenv("OUTSIDE")), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    int secret = open(getenv("SECRET"), O_RDONLY);
    if (signals < 0 || secret < 0 || chdir(getenv("OUTSIDE")) < 0) return perror("victim"), 1;
    int memory = shmget(IPC_PRIVATE, 4096, 0600), queue = msgget(IPC_PRIVATE, 0600), lock = semget(IPC_PRIVATE, 1, 0600);
    // A segment that is marked for removal can be attached as long as we hold it, and goes away with us.
    char *segment = shmat(memory, NULL, 0);
    strcpy(segment, "canary");
    shmctl(memory, IPC_RMID, NULL);
    printf("VICTIM=%d\nVICTIM_ADDRESS=%p\nVICTIM_FD=%d\nVICTIM_SHM=%d\nVICTIM_MSG=%d\nVICTIM_SEM=%d\n\n", getpid(),
           (void *)canary, secret, memory, queue, lock);
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) < 0 && errno == EINTR) {}
    msgctl(queue, IPC_RMID, NULL);
    semctl(lock, 0, IPC_RMID);
    return 0;
}

// ---- running ----

static int stage(void) {
    umask(022);
    for (int i = 0; i < count; i++) {
        current = &attempts[i];
        if (mkdir(outside(""), 0755) < 0 || mkdir(outside("dir"), 0755) < 0) return perror(outside("")), 1;
        put(outside("file"), ORIGINAL);
        put(outside("dir/inner"), ORIGINAL);
        mkdir(outside("empty"), 0755);
        if (symlink("file", outside("link")) < 0) return 1;
    }
    return 0;
}

static int list(void) {
    for (int i = 0; i < count; i++)
        printf("%s %s %s %s\n", attempts[i].name, attempts[i].category, attempts[i].stopped_by, attempts[i].needs);
    return 0;
}

static void try(const struct attempt *attempt) {
    current = attempt;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) exit(2);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        report = fcntl(ends[1], F_DUPFD_CLOEXEC, 500);
        // Where so many may not be open.
        if (report < 0) report = fcntl(ends[1], F_DUPFD_CLOEXEC, 20);
        alarm(SECONDS);
        errno = 0;
        attempt->run();
        errno = 0;
        blocked();
    }
    close(ends[1]);
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0) exit(2);
    kill(-child, SIGKILL);
    char line[512] = {0};
    ssize_t length = read(ends[0], line, sizeof line - 1);
    close(ends[0]);
    if (length > 0) printf("%s: %s\n", attempt->name, line);
    else if (WIFSIGNALED(status)) printf("%s: blocked (SIG%s)\n", attempt->name, sigabbrev_np(WTERMSIG(status)));
    else printf("%s: blocked (ended without a word)\n", attempt->name);
    fflush(stdout);
}

static int run_these(char **names) {
    for (int file = 3; file < 256 && inherited_count < 64; file++)
        if (fcntl(file, F_GETFD) >= 0) {
            inherited[inherited_count++] = file;
            // Programs that the attempts start are about something else.
            fcntl(file, F_SETFD, FD_CLOEXEC);
        }
    // Attempts change it, and a child that is killed must not take our output with it.
    signal(SIGPIPE, SIG_IGN);
    own_user = geteuid(), whole_root = is_whole_root(), filtered = is_filtered();
    for (; *names; names++) {
        int found = 0;
        for (int i = 0; i < count; i++)
            if (!strcmp(*names, "all") || !strcmp(*names, attempts[i].name)) try(&attempts[i]), found = 1;
        if (!found) return fprintf(stderr, "no attempt is called %s\n", *names), 2;
    }
    return 0;
}

int main(int number, char **words) {
    const char *verb = number > 1 ? words[1] : "";
    if (!strcmp(verb, "list")) return list();
    if (!strcmp(verb, "stage")) return stage();
    if (!strcmp(verb, "surroundings")) return be_surroundings();
    if (!strcmp(verb, "victim")) return be_victim();
    if (!strcmp(verb, "euid")) return printf("%d\n", geteuid()), 0;
    if (!strcmp(verb, "run")) return run_these(words + 2);
    fprintf(stderr, "usage: attacks list | stage | surroundings | victim | euid | run NAME...|all\n");
    return 2;
}
