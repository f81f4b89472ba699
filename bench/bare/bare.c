/* The bare peer: does what a session does with the system calls alone, in as few of them as the work needs.
 *
 *     bare WORK name=value...
 *
 * It knows no journal, no record, no second stream, no limits and no orphans: whatever Windlass takes more than this
 * is the price of those. It prints one `figure value` per line, the same figures as `windlass-bench ours WORK`, and
 * stops with a message when a byte is missing. Two of the works, `produce` and `linger`, are the children that both
 * sides run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum {
    READ_SIZE = 64 * 1024,
    LINE = 64,          /* a produced line, its newline included */
    BLOCK = 4096,       /* produced lines come in blocks, and each block begins with its number */
    STAMP = 16,         /* the digits of that number */
    LINGER_MS = 2,
};

static char buffer[READ_SIZE];
static char *const no_environment[] = { NULL };

/* What every function does when a call fails: say which, and stop. */
static void must(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

/* ---- the order: name=value words ---- */

static char **words;

static const char *setting(const char *name) {
    size_t length = strlen(name);
    for (char **word = words; *word; word++)
        if (strncmp(*word, name, length) == 0 && (*word)[length] == '=')
            return *word + length + 1;
    fprintf(stderr, "bare: `%s=` is missing\n", name);
    exit(2);
}

static long number(const char *name) {
    return strtol(setting(name), NULL, 10);
}

static int on_terminal(void) {
    return strcmp(setting("io"), "terminal") == 0;
}

/* ---- figures ---- */

static double micros(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void figure(const char *name, double value) {
    printf("%s %.6f\n", name, value);
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *samples, long count) {
    qsort(samples, count, sizeof *samples, ascending);
    return samples[count / 2];
}

static double *room_for_samples(long count) {
    double *samples = calloc(count, sizeof *samples);
    must(samples != NULL, "calloc");
    return samples;
}

/* ---- children ---- */

/* Our ends of a child's pipes or terminal; -1 where there is none. */
struct child {
    pid_t pid;
    int input;
    int output;
};

static struct child spawn(char *const argv[], posix_spawn_file_actions_t *actions) {
    struct child child = { .input = -1, .output = -1 };
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    errno = posix_spawn(&child.pid, argv[0], actions, &attributes, argv, no_environment);
    must(errno == 0, argv[0]);
    posix_spawnattr_destroy(&attributes);
    return child;
}

/* The slave is opened by the child, which leads a session and so gets it as its controlling terminal. */
static struct child spawn_on_terminal(char *const argv[]) {
    char path[64];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    must(master >= 0 && unlockpt(master) == 0 && ptsname_r(master, path, sizeof path) == 0, "openpt");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, path, O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    struct child child = spawn(argv, &actions);
    posix_spawn_file_actions_destroy(&actions);
    child.input = child.output = master;
    return child;
}

static struct child spawn_on_pipes(char *const argv[]) {
    int in[2], out[2];
    must(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "pipe2");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    struct child child = spawn(argv, &actions);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    child.input = in[1];
    child.output = out[0];
    return child;
}

static struct child spawn_connected(char *const argv[]) {
    return on_terminal() ? spawn_on_terminal(argv) : spawn_on_pipes(argv);
}

/* Reads to the end, which on a terminal is EIO, and returns how many bytes that was. */
static uint64_t read_to_end(int fd) {
    uint64_t total = 0;
    for (;;) {
        ssize_t count = read(fd, buffer, sizeof buffer);
        if (count > 0)
            total += count;
        else if (count == 0 || errno == EIO)
            return total;
        else
            must(errno == EINTR, "read");
    }
}

static void reap(pid_t pid) {
    int status;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
}

static void let_go(struct child child) {
    close(child.output);
    if (child.input != child.output)
        close(child.input);
}

/* ---- the works ---- */

/* One after the other: start, read to the end where there is a terminal, wait. */
static void measure_spawn(void) {
    char *const argv[] = { "/bin/true", NULL };
    long count = number("count");
    double *samples = room_for_samples(count);
    for (long i = 0; i < count; i++) {
        double begun = micros();
        struct child child = on_terminal() ? spawn_on_terminal(argv) : spawn(argv, NULL);
        if (child.output >= 0) {
            read_to_end(child.output);
            close(child.output);
        }
        reap(child.pid);
        samples[i] = micros() - begun;
    }
    figure("micros", median(samples, count));
}

/* Everything a producer prints, read and forgotten. */
static void measure_flood(void) {
    uint64_t bytes = number("bytes");
    char length[64];
    snprintf(length, sizeof length, "bytes=%llu", (unsigned long long)bytes);
    char *const argv[] = { (char *)setting("self"), "produce", length, NULL };
    double begun = micros();
    struct child child = spawn_connected(argv);
    uint64_t total = read_to_end(child.output);
    reap(child.pid);
    double took = micros() - begun;
    let_go(child);
    uint64_t expected = on_terminal() ? bytes + bytes / LINE : bytes;
    must(total == expected, "bytes were lost");
    figure("mb_per_s", total / took);
}

/* The idle ones are watched too, as a program that serves them all would have to. */
static void watch(int epoll, int fd) {
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

static struct child *spawn_idle(long count) {
    char *const argv[] = { "/bin/cat", NULL };
    struct child *children = calloc(count + 1, sizeof *children);
    must(children != NULL, "calloc");
    for (long i = 0; i < count; i++)
        children[i] = spawn_connected(argv);
    return children;
}

static void kill_and_reap(const struct child *children, long count) {
    for (long i = 0; i < count; i++)
        kill(-children[i].pid, SIGKILL);
    for (long i = 0; i < count; i++)
        reap(children[i].pid);
}

/* What is typed comes back twice: the terminal echoes it, and cat prints it. */
static void measure_echo(void) {
    static const char line[] = "0123456789abcdef\n";
    const size_t answer = 2 * (sizeof line - 1 + 1);
    long count = number("count"), idle_count = number("idle");
    double *samples = room_for_samples(count);
    struct child *idle = spawn_idle(idle_count);
    char *const argv[] = { "/bin/cat", NULL };
    struct child cat = spawn_on_terminal(argv);
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, cat.output);
    for (long i = 0; i < idle_count; i++)
        watch(epoll, idle[i].output);
    for (long i = 0; i < count; i++) {
        double begun = micros();
        must(write(cat.input, line, sizeof line - 1) == (ssize_t)sizeof line - 1, "write");
        for (size_t come = 0; come < answer;) {
            struct epoll_event event;
            must(epoll_wait(epoll, &event, 1, -1) == 1, "epoll_wait");
            ssize_t got = read(event.data.fd, buffer, sizeof buffer);
            must(got > 0, "read");
            come += got;
        }
        samples[i] = micros() - begun;
    }
    figure("micros", median(samples, count));
    kill_and_reap(&cat, 1);
    kill_and_reap(idle, idle_count);
}

static void measure_idle(void) {
    long count = number("count");
    struct child *children = spawn_idle(count);
    double begun = micros();
    kill_and_reap(children, count);
    figure("end_ms", (micros() - begun) / 1e3);
}

/* The child notes the time in a shared file as the last thing it does: nothing is sent that could wake us early. */
static void measure_exit(void) {
    long count = number("count");
    double *samples = room_for_samples(count);
    char note[4096];
    snprintf(note, sizeof note, "note=%s", setting("note"));
    char *const argv[] = { (char *)setting("self"), "linger", note, NULL };
    int file = open(setting("note"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(file >= 0 && ftruncate(file, sizeof(double)) == 0, "note");
    for (long i = 0; i < count; i++) {
        struct child child = spawn(argv, NULL);
        int pidfd = syscall(SYS_pidfd_open, child.pid, 0);
        struct pollfd event = { .fd = pidfd, .events = POLLIN };
        must(poll(&event, 1, -1) == 1, "poll");
        siginfo_t info;
        must(waitid(P_PIDFD, pidfd, &info, WEXITED) == 0, "waitid");
        double answered = micros(), exited;
        must(pread(file, &exited, sizeof exited, 0) == sizeof exited, "note");
        samples[i] = answered - exited;
        close(pidfd);
    }
    figure("micros", median(samples, count));
}

/* ---- the children ---- */

/* Lines of text in blocks that begin with their number: a missing, doubled or misplaced piece shows. */
static void produce(void) {
    uint64_t bytes = number("bytes");
    for (int at = 0; at < READ_SIZE; at++)
        buffer[at] = at % LINE == LINE - 1 ? '\n' : 'a' + at % LINE % 26;
    for (uint64_t written = 0; written < bytes;) {
        for (int at = 0; at < READ_SIZE; at += BLOCK) {
            char stamp[STAMP + 1];
            snprintf(stamp, sizeof stamp, "%016llx", (unsigned long long)(written + at) / BLOCK);
            memcpy(buffer + at, stamp, STAMP);
        }
        size_t wanted = bytes - written < READ_SIZE ? bytes - written : READ_SIZE;
        for (size_t done = 0; done < wanted;) {
            ssize_t count = write(1, buffer + done, wanted - done);
            must(count > 0, "write");
            done += count;
        }
        written += wanted;
    }
}

/* Lives long enough to be waited for, notes the time, and is gone. */
static void linger(void) {
    int file = open(setting("note"), O_RDWR);
    must(file >= 0, "note");
    double *note = mmap(NULL, sizeof *note, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    must(note != MAP_FAILED, "mmap");
    *note = 0;
    struct timespec moment = { .tv_nsec = LINGER_MS * 1000000L };
    nanosleep(&moment, NULL);
    *note = micros();
    _exit(0);
}

/* A thousand children need more descriptors than the usual limit. */
static void raise_open_files(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } works[] = {
        { "spawn", measure_spawn }, { "flood", measure_flood }, { "echo", measure_echo },
        { "idle", measure_idle },   { "exit", measure_exit },   { "produce", produce },
        { "linger", linger },
    };
    words = argv + (argc > 1 ? 2 : 1);
    for (size_t i = 0; argc > 1 && i < sizeof works / sizeof *works; i++)
        if (strcmp(argv[1], works[i].name) == 0) {
            raise_open_files();
            works[i].run();
            return 0;
        }
    fprintf(stderr, "usage: bare spawn|flood|echo|idle|exit|produce|linger name=value...\n");
    return 2;
}
