// Attempts to use everything up, far beyond a limit that is given; without one they are not tried.
#include "attacks.h"
#include <poll.h>
#include <pthread.h>
#include <sys/inotify.h>

// Who looks whether limits are kept looks only now and then: what counts is whether it can be kept.
static _Noreturn void kept(long amount, const char *what) {
    if (!bare()) poll(NULL, 0, 5000);
    escaped("%ld %s", amount, what);
}
static long limit(const char *variable) { return atol(given(variable)); }
ATTEMPT(exhaust_processes, "exhaust", BOTH, ANYONE) {
    long most = 16 * limit("LIMIT_PROCESSES"), made = 0;
    for (; made < most; made++) {
        pid_t child = must(fork());
        if (child == 0) { pause(); _exit(0); }
    }
    kept(made, "processes");
}
static void *sit(void *nothing) { return pause(), nothing; }
ATTEMPT(exhaust_processes_by_threads, "exhaust", BOTH, ANYONE) {
    long most = 16 * limit("LIMIT_PROCESSES"), made = 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (pthread_t thread; made < most; made++)
        if ((errno = pthread_create(&thread, &small, sit, NULL))) blocked();
    kept(made, "threads");
}
static char *filled(int flags, long size) {
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) blocked();
    for (long at = 0; at < size; at += 4096) memory[at] = 1;
    return memory;
}
ATTEMPT(exhaust_memory, "exhaust", BOTH, ANYONE) {
    long most = 4 * limit("LIMIT_MEMORY");
    filled(MAP_PRIVATE, most);
    kept(most, "bytes");
}
ATTEMPT(exhaust_memory_shared, "exhaust", BOTH, ANYONE) {
    long most = 4 * limit("LIMIT_MEMORY");
    filled(MAP_SHARED, most);
    kept(most, "bytes");
}
ATTEMPT(exhaust_memory_by_many, "exhaust", BOTH, ANYONE) {
    // Each of them is within the limit.
    long part = limit("LIMIT_MEMORY") / 2, made = 0;
    int told[2];
    for (must(pipe(told)); made < 8; made++) {
        if (must(fork()) == 0) { filled(MAP_PRIVATE, part), write(told[1], "", 1), pause(); _exit(0); }
        must(read(told[0], &(char){0}, 1));
    }
    kept(made * part, "bytes");
}
ATTEMPT(exhaust_memory_by_file, "exhaust", BOTH, ANYONE) {
    long most = 4 * limit("LIMIT_MEMORY"), part = 1 << 20;
    int file = must(memfd_create("big", 0));
    char *zeroes = filled(MAP_PRIVATE, part);
    for (long made = 0; made < most; made += part) must(write(file, zeroes, part));
    kept(most, "bytes");
}
ATTEMPT(exhaust_disk, "exhaust", BOTH, ANYONE) {
    // Each file is within the limit.
    long part = 1 << 20, most = 64 * limit("LIMIT_DISK");
    char *zeroes = calloc(1, part);
    for (long made = 0; made < most;) {
        int file = must(open(prepared("big"), O_WRONLY | O_CREAT, 0644));
        unlink(prepared("big"));
        for (int i = 0; i < 4; i++, made += part) must(write(file, zeroes, part));
        // Now and then it reaches the disk.
        if (made % (32 * part) == 0) fdatasync(file);
    }
    kept(most, "bytes");
}
ATTEMPT(exhaust_disk_by_one_file, "exhaust", BOTH, ANYONE) {
    long most = 2 * limit("LIMIT_DISK");
    int file = must(open(prepared("big"), O_WRONLY | O_CREAT, 0644)), answer = posix_fallocate(file, 0, most);
    unlink(prepared("big"));
    if ((errno = answer)) blocked();
    kept(most, "bytes");
}
ATTEMPT(exhaust_terminals, "exhaust", BOTH, ANYONE) {
    // More than one process may have open.
    enum { EACH = 200 };
    long most = limit("LIMIT_TERMINALS"), made = 0;
    int told[2];
    must(pipe(told));
    for (int answer[2]; made <= most; made += answer[0]) {
        if (must(fork()) == 0) {
            for (answer[0] = 0; answer[0] < EACH && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0;) answer[0]++;
            answer[1] = errno;
            write(told[1], answer, sizeof answer), pause();
            _exit(0);
        }
        must(read(told[0], answer, sizeof answer));
        if (answer[0] < EACH) { errno = answer[1]; blocked(); }
    }
    kept(made, "terminals");
}
ATTEMPT(exhaust_watchers, "exhaust", BOTH, ANYONE) {
    long most = limit("LIMIT_WATCHERS"), made = 0;
    for (; made <= most; made++) must(inotify_init1(0));
    kept(made, "instances of inotify");
}
ATTEMPT(exhaust_watchers_by_many, "exhaust", BOTH, ANYONE) {
    long most = limit("LIMIT_WATCHERS"), made = 0;
    int told[2];
    must(pipe(told));
    for (int error; made <= most; made++) {
        if (must(fork()) == 0) {
            error = inotify_init() < 0 ? errno : 0;
            write(told[1], &error, sizeof error), pause();
            _exit(0);
        }
        must(read(told[0], &error, sizeof error));
        if ((errno = error)) blocked();
    }
    kept(made, "instances of inotify");
}
static pthread_barrier_t together;
static void *one_instance(void *nothing) {
    (void)nothing;
    pthread_barrier_wait(&together);
    return (void *)(long)(inotify_init1(IN_NONBLOCK) < 0);
}
ATTEMPT(exhaust_watchers_at_once, "exhaust", BOTH, ANYONE) {
    long most = limit("LIMIT_WATCHERS"), made = 0;
    pthread_t threads[256];
    pthread_barrier_init(&together, NULL, most + 1);
    for (long i = 0; i <= most; i++)
        if ((errno = pthread_create(&threads[i], NULL, one_instance, NULL))) blocked();
    for (long i = 0; i <= most; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        made += !failed;
    }
    if (made <= most) { errno = EMFILE; blocked(); }
    kept(made, "instances of inotify");
}
// On its way through a socket a descriptor belongs to no process. Not all may be taken: some are left for other programs. Root's
// instances are those of everything else that runs in these tests, and where nothing stops us we would take them all.
ATTEMPT(exhaust_watchers_on_their_way, "exhaust", BOTH, ANYONE) {
    long most = 2 * limit("LIMIT_WATCHERS") - 4, made = 0;
    if (bare()) escaped("not tried where it would harm others");
    if (getuid() == 0) { errno = EMFILE; blocked(); }
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    for (; made <= most; made++) {
        int instance = must(inotify_init1(0));
        union { char space[CMSG_SPACE(sizeof(int))]; struct cmsghdr header; } control = {0};
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &instance, sizeof instance);
        struct iovec part = {"x", 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        must(sendmsg(pair[0], &message, 0));
        close(instance);
    }
    kept(made, "instances of inotify");
}
ATTEMPT(exhaust_descriptors, "exhaust", BOTH, ANYONE) {
    long most = 2 * limit("LIMIT_FILES"), made = 0;
    for (; made < most; made++) must(dup(0));
    kept(made, "descriptors");
}
