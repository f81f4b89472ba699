// Waits for input in exactly the way its first argument names, after printing "ready". Descriptor 0 is the source unless
// the second argument is a path to open. Exits after the first input.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
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
    else if (!strcmp(way, "pselect6")) answer = syscall(SYS_pselect6, source + 1, &set, NULL, NULL, &minute, NULL);
    else if (!strcmp(way, "ppoll")) answer = syscall(SYS_ppoll, table, 2, &minute, NULL, 0);
    else if (!strcmp(way, "epoll_pwait")) answer = syscall(SYS_epoll_pwait, epoll_of(EPOLLIN), &event, 1, -1, NULL, 0);
    else if (!strcmp(way, "epoll_pwait2")) answer = syscall(SYS_epoll_pwait2, epoll_of(EPOLLIN), &event, 1, NULL, NULL, 0);
#ifdef SYS_select
    else if (!strcmp(way, "select")) answer = syscall(SYS_select, source + 1, &set, NULL, NULL, NULL);
    else if (!strcmp(way, "poll")) answer = syscall(SYS_poll, table, 2, -1);
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
