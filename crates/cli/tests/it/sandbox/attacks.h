// What the attempts share: how one is declared, where its targets are, and the three ways it can end.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

// The policies that must stop an attempt.
#define BOTH "both"                     // read-only and workspace-write, whatever the network is
#define READ_ONLY "read-only"           // workspace-write allows this very thing
#define NETWORK_OFF "network-off"       // loopback allows it
#define NETWORK_NOT_ON "network-not-on" // neither off nor loopback allows it

// What it needs to be meaningful where nothing stops it.
#define ANYONE "anyone"
#define ROOT "root"
#define NAMESPACES "namespaces" // root, or an ordinary user where those may make user namespaces

struct attempt {
    const char *name, *category, *stopped_by, *needs;
    void (*run)(void);
};
void enlist(struct attempt attempt);

#define ATTEMPT(name, category, stopped_by, needs)                                             \
    static void name(void);                                                                    \
    __attribute__((constructor)) static void enlist_##name(void) {                             \
        enlist((struct attempt){#name, category, stopped_by, needs, name});                    \
    }                                                                                          \
    static void name(void)

// The ends of an attempt. An attempt that returns had no effect.
_Noreturn void escaped(const char *detail, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void blocked(void); // says errno
_Noreturn void untried(const char *reason, ...) __attribute__((format(printf, 1, 2)));

// The value of a system call that did not fail; one that failed ends the attempt as blocked.
long must(long answer);
// Ends as escaped if a call got past the check of permission, though its arguments made it fail afterwards.
void past_permission(long answer);

// Paths, in buffers that the next fifteen calls leave alone.
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *outside(const char *name);         // of this attempt, outside of every writable root
char *prepared(const char *name);        // of this attempt, somewhere it may write
const char *given(const char *variable); // a parameter, without which the attempt is not tried
int bare(void);                          // nothing is meant to stop us: mind the machine
const char *attempt_name(void);

// Effects.
#define ORIGINAL "original\n"
#define SCRIBBLE "scribbled\n"
void scribble(int file);
void put(const char *path, const char *content); // makes or replaces a file
int holds(const char *path, const char *content);
char *content_of(int file);
void if_changed(const char *path);     // escaped if a file no longer holds ORIGINAL
void if_there(const char *path);       // escaped if it exists
void if_gone(const char *path);        // escaped if it does not
void if_secret(int file);              // escaped if a secret can be read from it
int run(const char *program, ...);     // the exit code, its output thrown away
char *output_of(const char *program, ...);

// The process outside.
pid_t victim(void);
unsigned long victim_address(void);

// Two threads: one calls `flip` again and again, the other `attack` until it returns true or time is over.
int raced(void (*flip)(void), int (*attack)(void)); // in which round that was; 0: never
void race(void (*flip)(void), int (*attack)(void));

// A world of our own mounts, so that nothing is mounted where others see it. Failing to make one is no reason to stop.
void own_mounts(void);
int opened_by_helper(const char *path, int flags); // by another process inside, and passed over a pair of sockets
int be_surroundings(void);
extern int inherited[64], inherited_count;
