// Whom the attempts try to reach: listeners that send back what they get, a terminal, a piece of shared memory. One
// process, which prints `NAME=value` lines and an empty one when all is there, and ends when its input does.
#include "attacks.h"
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/un.h>

enum { ROOM = 256 };
static struct pollfd watched[ROOM] = {{0, POLLIN, 0}};
static int watching = 1;

static void watch(int file) {
    if (watching < ROOM) watched[watching++] = (struct pollfd){file, POLLIN, 0};
    else close(file);
}
static void check(long answer, const char *what) {
    if (answer >= 0) return;
    perror(what);
    exit(1);
}

static int inet(int type) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int one = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    check(bind(one, (void *)&address, length), "bind");
    if (type == SOCK_STREAM) check(listen(one, 64), "listen");
    getsockname(one, (void *)&address, &length);
    printf("%s=%d\n", type == SOCK_STREAM ? "TCP_PORT" : "UDP_PORT", ntohs(address.sin_port));
    return one;
}
static int local(int type, const char *name, const char *path, int is_abstract) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path + is_abstract, path, sizeof address.sun_path - 2);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + is_abstract + strlen(path);
    int one = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    check(bind(one, (void *)&address, length), path);
    if (type == SOCK_STREAM) check(listen(one, 64), "listen");
    printf("%s=%s\n", name, path);
    return one;
}
// Binds a socket for each file that is made in a directory of the workspace: in `/tmp`, and beside the file by a relative path.
static int wishes = -1;
static char *wanted;
static void hear_wishes(const char *work) {
    mkdir(text("%s/tries", work), 0755);
    wanted = strdup(text("%s/tries/.wanted", work));
    check(mkdir(wanted, 0755), wanted);
    wishes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    check(inotify_add_watch(wishes, wanted, IN_CREATE), wanted);
    printf("WANTED=%s\nSURROUNDINGS=%d\n", wanted, getpid());
    watch(wishes);
}
static void bind_late(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int type = strstr(path, "datagram") ? SOCK_DGRAM : SOCK_STREAM, one = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (bind(one, (void *)&address, sizeof address) == 0 && (type == SOCK_DGRAM || listen(one, 64) == 0)) watch(one);
    else close(one);
}
static void grant_wishes(void) {
    char events[4096] __attribute__((aligned(8)));
    ssize_t length = read(wishes, events, sizeof events);
    for (char *at = events; length > 0 && at < events + length;) {
        struct inotify_event *event = (void *)at;
        char *name = text("windlass-late-%d-%s", getpid(), event->name);
        int is_wish = event->len && strncmp(event->name, "windlass-late-", 14);
        if (is_wish && chdir(wanted) == 0) {
            bind_late(text("/tmp/%s", name)), bind_late(name);
            // A socket has its name before anybody listens at it; this file comes afterwards.
            close(open(text("%s.ready", name), O_WRONLY | O_CREAT, 0644));
        }
        at += sizeof *event + event->len;
    }
}
static int terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    check(master, "a terminal");
    grantpt(master), unlockpt(master);
    // Somebody must hold the other side, or the master has nothing but errors to tell.
    check(open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC), "a terminal");
    printf("TTY=%s\n", ptsname(master));
    return master;
}
static void tell_own_address(void) {
    // Connecting a datagram socket sends nothing; it only asks which address would be used.
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(0xc0000201)}};
    socklen_t length = sizeof far;
    int one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (connect(one, (void *)&far, length) == 0 && getsockname(one, (void *)&far, &length) == 0) {
        unsigned host = ntohl(far.sin_addr.s_addr);
        printf("HOST_ADDRESS=%u.%u.%u.%u\n", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255);
    }
    close(one);
}

static int accepts(int one) {
    int yes = 0;
    socklen_t length = sizeof yes;
    return getsockopt(one, SOL_SOCKET, SO_ACCEPTCONN, &yes, &length) == 0 && yes;
}
// Serves one descriptor that has something to say; false when it is at its end.
static int serve(int one) {
    char bytes[4096];
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    if (accepts(one)) {
        int connection = accept4(one, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0) watch(connection);
        return 1;
    }
    if (one == wishes) return grant_wishes(), 1;
    if (isatty(one)) return read(one, bytes, sizeof bytes) != 0;
    ssize_t count = recvfrom(one, bytes, sizeof bytes, 0, (void *)&from, &length);
    int type = 0;
    socklen_t size = sizeof type;
    getsockopt(one, SOL_SOCKET, SO_TYPE, &type, &size);
    if (type == SOCK_STREAM) return count > 0 && send(one, bytes, count, MSG_NOSIGNAL) >= 0;
    // A sender without a name gets no answer, and one that is gone needs none.
    if (count > 0 && length > sizeof(sa_family_t)) sendto(one, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (void *)&from, length);
    return 1;
}

int be_surroundings(void) {
    const char *here = getenv("STAGE");
    // A test that is ended with its group must not take us along: we have something to clear away.
    setpgid(0, 0);
    char *memory = strdup(text("/dev/shm/windlass-stage-%d", getpid()));
    put(memory, ORIGINAL);
    printf("SHM_FILE=%s\n", memory);
    watch(inet(SOCK_STREAM));
    watch(inet(SOCK_DGRAM));
    watch(local(SOCK_STREAM, "UNIX_SOCKET", text("%s/socket", here), 0));
    watch(local(SOCK_DGRAM, "UNIX_DATAGRAM", text("%s/datagram", here), 0));
    watch(local(SOCK_STREAM, "ABSTRACT", text("windlass-stage-%d", getpid()), 1));
    const char *work = getenv("WORK"), *shared = strdup(text("/tmp/windlass-stage-%d", getpid()));
    watch(local(SOCK_STREAM, "TMP_SOCKET", shared, 0));
    watch(local(SOCK_STREAM, "WORK_SOCKET", text("%s/served", work), 0));
    watch(local(SOCK_DGRAM, "WORK_DATAGRAM", text("%s/heard", work), 0));
    hear_wishes(work);
    const char *queue = strdup(text("/windlass-stage-%d", getpid()));
    if (mq_open(queue, O_RDWR | O_CREAT | O_CLOEXEC, 0600, NULL) >= 0) printf("QUEUE=%s\n", queue);
    watch(terminal());
    tell_own_address();
    printf("\n");
    fflush(stdout);
    while (poll(watched, watching, -1) >= 0 && !watched[0].revents)
        for (int i = watching - 1; i > 0; i--)
            if (watched[i].revents && !serve(watched[i].fd)) {
                close(watched[i].fd);
                watched[i] = watched[--watching];
            }
    unlink(memory);
    unlink(shared);
    mq_unlink(queue);
    return system(text("rm -rf '%s.tries' /tmp/windlass-late-%d-*", memory, getpid())) != 0;
}
