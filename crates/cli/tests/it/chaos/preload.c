/* Preloaded into Windlass: calls on files below CHAOS_DIRECTORY fail or take long, and the wall clock is off, as the file CHAOS_CONTROL
 * says at that moment. Only calls through the C library are seen, which is how Rust's standard library opens, reads, writes and renames. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct control {
    volatile unsigned int error;    /* the errno, or 0 */
    volatile unsigned int one_in;   /* how many calls there are to one that fails */
    volatile unsigned int delay_us; /* before each call */
    volatile int clock_shift_s;     /* added to the wall clock */
};

static const struct control *control;
static const char *directory;
static size_t directory_length;
static unsigned int calls;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CHAOS_CONTROL");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    directory = getenv("CHAOS_DIRECTORY");
    if (mapped == MAP_FAILED || !directory) return;
    directory_length = strlen(directory);
    control = mapped;
}

static int is_below(const char *path) {
    return strncmp(path, directory, directory_length) == 0;
}

/* Whether the call on this path has to fail; errno is set then. */
static int fails(const char *path) {
    if (!control || !is_below(path)) return 0;
    if (control->delay_us) usleep(control->delay_us);
    if (!control->error || !control->one_in || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % control->one_in) return 0;
    errno = (int)control->error;
    return 1;
}

static int descriptor_fails(int fd) {
    char link[64], path[4096];
    if (!control || (!control->error && !control->delay_us)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return fails(path) ? -1 : NEXT(open64)(path, flags, mode);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    return descriptor_fails(fd) ? -1 : NEXT(pwrite64)(fd, bytes, count, at);
}

ssize_t pread64(int fd, void *bytes, size_t count, off64_t at) {
    return descriptor_fails(fd) ? -1 : NEXT(pread64)(fd, bytes, count, at);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    return descriptor_fails(fd) ? -1 : NEXT(write)(fd, bytes, count);
}

ssize_t read(int fd, void *bytes, size_t count) {
    return descriptor_fails(fd) ? -1 : NEXT(read)(fd, bytes, count);
}

int rename(const char *from, const char *to) {
    return fails(to) ? -1 : NEXT(rename)(from, to);
}

int unlink(const char *path) {
    return fails(path) ? -1 : NEXT(unlink)(path);
}

int mkdir(const char *path, mode_t mode) {
    return fails(path) ? -1 : NEXT(mkdir)(path, mode);
}

DIR *opendir(const char *path) {
    return fails(path) ? NULL : NEXT(opendir)(path);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int answer = NEXT(clock_gettime)(clock, time);
    if (answer == 0 && control && clock == CLOCK_REALTIME) time->tv_sec += control->clock_shift_s;
    return answer;
}
