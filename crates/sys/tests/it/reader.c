// Waits for input in exactly the way its first argument names, after printing "ready". Descriptor 0 is the source unless
// the second argument is a path to open. Exits after the first input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int source = 0;
static char byte[1];

static void say(const char *word) {
    if (write(1, word, strlen(word)) < 0) _exit(3);
}

static int epoll_of(unsigned events) {
    int set = epoll_create1(0);
    struct epoll_event event = {.events = events};
    epoll_ctl(set, EPOLL_CTL_ADD, source, &event);
    return set;
}

static void *read_source(void *unused) {
    if (read(source, byte, 1) < 0) _exit(3);
    _exit(0);
    return unused;
}

// An event loop that waits for the source and for another descriptor.
static long loop_with(int other) {
    int set = epoll_of(EPOLLIN);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(set, EPOLL_CTL_ADD, other, &event);
    return syscall(SYS_epoll_pwait, set, &event, 1, -1, NULL, 0);
}

static int timer_of(int seconds) {
    struct itimerspec time = {{seconds, 0}, {seconds, 0}};
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    timerfd_settime(timer, 0, &time, NULL);
    return timer;
}

static int listener(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, sizeof address) || listen(server, 1)) _exit(3);
    return server;
}

static int connection(void) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int server = listener(), client = socket(AF_INET, SOCK_STREAM, 0);
    getsockname(server, (struct sockaddr *)&address, &length);
    if (connect(client, (struct sockaddr *)&address, length)) _exit(3);
    return client;
}

static int end_of_pair(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) _exit(3);
    return ends[0];
}

static void *sleep_long(void *unused) {
    sleep(1000);
    return unused;
}

static void *wait_for_work(void *unused) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t work = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 1000;
    pthread_mutex_lock(&lock);
    pthread_cond_timedwait(&work, &lock, &end);
    return unused;
}

// As a thread of Go's runtime does: for a time, not until one.
static void *wait_like_go(void *unused) {
    struct timespec time = {1000, 0};
    int lock = 0;
    syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
    return unused;
}

#ifdef WITH_NOTE_OF_GO
__asm__(".pushsection .note.go.buildid, \"a\", %note\n.long 4, 4, 4\n.asciz \"Go\\0\"\n.asciz \"any\"\n.popsection");
#endif

static void start(void *(*work)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
}

static void handle(int unused) {
    (void)unused;
}

// A timer that sends a signal for which there is a handler.
static void start_posix_timer(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec time = {{1000, 0}, {1000, 0}};
    int timer;
    signal(SIGUSR1, handle);
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer)) _exit(3);
    if (syscall(SYS_timer_settime, timer, 0, &time, NULL)) _exit(3);
}

static void wait_as(const char *way) {
    struct iovec part = {byte, 1};
    struct epoll_event event;
    struct timespec minute = {60, 0};
    int other[2];
    if (pipe(other) < 0) _exit(3);
    fd_set set;
    FD_ZERO(&set);
    FD_SET(source, &set);
    struct pollfd table[2] = {{other[0], POLLIN, 0}, {source, POLLIN, 0}};
    long answer = 0;
    if (!strcmp(way, "read")) answer = read(source, byte, 1);
    else if (!strcmp(way, "readv")) answer = readv(source, &part, 1);
    else if (!strcmp(way, "splice")) answer = syscall(SYS_splice, source, NULL, other[1], NULL, 1, 0);
    else if (!strcmp(way, "pselect6")) answer = syscall(SYS_pselect6, source + 1, &set, NULL, NULL, NULL, NULL);
    else if (!strcmp(way, "ppoll")) answer = syscall(SYS_ppoll, table, 2, NULL, NULL, 0);
    else if (!strcmp(way, "pselect6, a minute")) answer = syscall(SYS_pselect6, source + 1, &set, NULL, NULL, &minute, NULL);
    else if (!strcmp(way, "ppoll, a minute")) answer = syscall(SYS_ppoll, table, 2, &minute, NULL, 0);
    else if (!strcmp(way, "epoll_pwait")) answer = syscall(SYS_epoll_pwait, epoll_of(EPOLLIN), &event, 1, -1, NULL, 0);
    else if (!strcmp(way, "epoll_pwait2")) answer = syscall(SYS_epoll_pwait2, epoll_of(EPOLLIN), &event, 1, NULL, NULL, 0);
#ifdef SYS_select
    else if (!strcmp(way, "select")) answer = syscall(SYS_select, source + 1, &set, NULL, NULL, NULL);
    else if (!strcmp(way, "poll")) answer = syscall(SYS_poll, table, 2, -1);
    else if (!strcmp(way, "poll, a minute")) answer = syscall(SYS_poll, table, 2, 60000);
    else if (!strcmp(way, "epoll_wait")) answer = syscall(SYS_epoll_wait, epoll_of(EPOLLIN | EPOLLET), &event, 1, -1);
#endif
    else if (!strcmp(way, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, read_source, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(way, "child")) {
        if (fork() == 0) read_source(NULL);
        wait(NULL);
    } else if (!strcmp(way, "orphan")) {
        // A foreground group whose leader, the reader's parent, is gone. The rest is done by whoever adopts the reader.
        pid_t leader = fork();
        if (leader == 0) {
            setpgid(0, 0);
            signal(SIGTTOU, SIG_IGN);
            tcsetpgrp(source, getpid());
            if (fork() == 0) read_source(NULL);
            _exit(0);
        }
        waitpid(leader, NULL, 0);
        pause();
    } else if (!strcmp(way, "new session")) {
        if (fork() == 0) { setsid(); read_source(NULL); }
        wait(NULL);
    } else if (!strcmp(way, "undumpable")) {
        prctl(PR_SET_DUMPABLE, 0);
        answer = read(source, byte, 1);
    // Other things beside the reader.
    } else if (!strcmp(way, "armed timer")) {
        answer = loop_with(timer_of(1000));
    } else if (!strcmp(way, "idle timer")) {
        answer = loop_with(timer_of(0));
    } else if (!strcmp(way, "listener")) {
        answer = loop_with(listener());
    } else if (!strcmp(way, "connection")) {
        answer = loop_with(connection());
    } else if (!strcmp(way, "pair of sockets")) {
        answer = loop_with(end_of_pair());
    } else if (!strcmp(way, "sleeping thread")) {
        start(sleep_long);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "spare thread")) {
        start(wait_for_work);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "sleeping main thread")) {
        start(read_source);
        sleep_long(NULL);
    } else if (!strcmp(way, "main thread that gives up")) {
        start(read_source);
        wait_for_work(NULL);
    } else if (!strcmp(way, "handler")) {
        signal(SIGUSR1, handle);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "alarm")) {
        signal(SIGALRM, handle);
        alarm(1000);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "handlers of a shell")) {
        signal(SIGALRM, handle);
        signal(SIGVTALRM, handle);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "posix timer")) {
        start_posix_timer();
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "forked child that sleeps")) {
        if (fork() == 0) sleep_long(NULL);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "forked child that polls")) {
        if (fork() == 0) _exit(poll(table, 1, 1000000));
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "forked child with other output")) {
        if (fork() == 0) {
            int file = open("/dev/null", O_WRONLY);
            dup2(file, 1);
            dup2(file, 2);
            sleep_long(NULL);
        }
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "spare thread of Go")) {
        start(wait_like_go);
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "parent with an alarm")) {
        if (fork() == 0) read_source(NULL);
        signal(SIGALRM, handle);
        alarm(1000);
        pause();
    } else if (!strcmp(way, "parent that polls")) {
        if (fork() == 0) read_source(NULL);
        poll(table, 1, 1000000);
    } else if (!strcmp(way, "parent with a timed lock")) {
        if (fork() == 0) read_source(NULL);
        wait_for_work(NULL);
    } else if (!strcmp(way, "child that left its session")) {
        if (fork() == 0) { setsid(); sleep_long(NULL); }
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "child that left its group")) {
        if (fork() == 0) { setpgid(0, 0); sleep_long(NULL); }
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "child that left, with a pipe")) {
        if (fork() == 0) { setsid(); dup2(other[1], 1); dup2(other[1], 2); sleep_long(NULL); }
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "child that left, with other output")) {
        if (fork() == 0) {
            int file = open("/dev/null", O_WRONLY);
            setsid();
            dup2(file, 1);
            dup2(file, 2);
            sleep_long(NULL);
        }
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "child that left, and waits")) {
        if (fork() == 0) { setsid(); pause(); }
        answer = read(source, byte, 1);
    } else if (!strcmp(way, "job of a shell")) {
        signal(SIGTSTP, SIG_IGN);
        if (fork() == 0) { setpgid(0, 0); sleep_long(NULL); }
        answer = read(source, byte, 1);
    // From here on: not waiting for input.
    } else if (!strcmp(way, "poll for output")) {
        if (source == 0) source = 1;
        table[1].events = POLLPRI;
        answer = syscall(SYS_ppoll, table, 2, NULL, NULL, 0);
    } else if (!strcmp(way, "poll switched off")) {
        table[1].fd = -1;
        answer = syscall(SYS_ppoll, table, 2, NULL, NULL, 0);
    } else if (!strcmp(way, "select for exceptions")) {
        answer = syscall(SYS_pselect6, source + 1, NULL, NULL, &set, NULL, NULL);
    } else if (!strcmp(way, "epoll for exceptions")) {
        answer = syscall(SYS_epoll_pwait, epoll_of(EPOLLPRI), &event, 1, -1, NULL, 0);
    } else if (!strcmp(way, "select another")) {
        FD_ZERO(&set);
        FD_SET(other[0], &set);
        answer = syscall(SYS_pselect6, other[0] + 1, &set, NULL, NULL, NULL, NULL);
    } else if (!strcmp(way, "another terminal")) {
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        answer = read(master, byte, 1);
    } else if (!strcmp(way, "nothing")) {
        pause();
    } else {
        say("no such way\n");
        _exit(2);
    }
    _exit(answer < 0 ? 1 : 0);
}

int main(int count, char **words) {
    if (count > 2) source = open(words[2], O_RDWR);
    say("ready\n");
    wait_as(words[1]);
}
