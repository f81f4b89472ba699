// The same things once more through io_uring, whose operations no filter of system calls sees.
#include "attacks.h"
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <sys/un.h>

static int ring;
static struct io_uring_params parameters;
static char *submissions, *completions;
static struct io_uring_sqe *entries;

static void make_ring(void) {
    ring = must(syscall(SYS_io_uring_setup, 4, &parameters));
    size_t first = parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned);
    size_t second = parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe);
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_POPULATE;
    submissions = mmap(NULL, first, protection, flags, ring, IORING_OFF_SQ_RING);
    completions = mmap(NULL, second, protection, flags, ring, IORING_OFF_CQ_RING);
    entries = mmap(NULL, parameters.sq_entries * sizeof *entries, protection, flags, ring, IORING_OFF_SQES);
    if (submissions == MAP_FAILED || completions == MAP_FAILED || entries == MAP_FAILED) blocked();
}

// Carries out one operation; a failure ends the attempt.
static int performed(struct io_uring_sqe entry) {
    if (!ring) make_ring();
    unsigned *tail = (unsigned *)(submissions + parameters.sq_off.tail), mask = *(unsigned *)(submissions + parameters.sq_off.ring_mask);
    ((unsigned *)(submissions + parameters.sq_off.array))[*tail & mask] = *tail & mask;
    entries[*tail & mask] = entry;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
    unsigned *head = (unsigned *)(completions + parameters.cq_off.head);
    struct io_uring_cqe *all = (void *)(completions + parameters.cq_off.cqes);
    int answer = all[*head & *(unsigned *)(completions + parameters.cq_off.ring_mask)].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    if (answer < 0) { errno = -answer; blocked(); }
    return answer;
}
#define ADDRESS(of) ((unsigned long)(of))

static int opened(const char *path, int flags, int mode) {
    return performed((struct io_uring_sqe){.opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = ADDRESS(path), .open_flags = flags, .len = mode});
}
static void written(int file) {
    performed((struct io_uring_sqe){.opcode = IORING_OP_WRITE, .fd = file, .addr = ADDRESS(SCRIBBLE), .len = strlen(SCRIBBLE)});
}

ATTEMPT(ring_made, "io_uring", BOTH, ANYONE) {
    make_ring();
    performed((struct io_uring_sqe){.opcode = IORING_OP_NOP});
    escaped("a ring does what no filter sees");
}
ATTEMPT(ring_write, "io_uring", BOTH, ANYONE) { written(opened(outside("file"), O_WRONLY, 0)); if_changed(outside("file")); }
ATTEMPT(ring_create, "io_uring", BOTH, ANYONE) { opened(outside("new"), O_CREAT | O_WRONLY, 0644); if_there(outside("new")); }
ATTEMPT(ring_openat2, "io_uring", BOTH, ANYONE) {
    struct open_how how = {.flags = O_WRONLY | O_TRUNC};
    performed((struct io_uring_sqe){.opcode = IORING_OP_OPENAT2, .fd = AT_FDCWD, .addr = ADDRESS(outside("file")), .len = sizeof how, .off = ADDRESS(&how)});
    if_changed(outside("file"));
}
ATTEMPT(ring_mkdir, "io_uring", BOTH, ANYONE) {
    performed((struct io_uring_sqe){.opcode = IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = ADDRESS(outside("new")), .len = 0755});
    if_there(outside("new"));
}
ATTEMPT(ring_unlink, "io_uring", BOTH, ANYONE) {
    performed((struct io_uring_sqe){.opcode = IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = ADDRESS(outside("file"))});
    if_gone(outside("file"));
}
ATTEMPT(ring_rename, "io_uring", BOTH, ANYONE) {
    performed((struct io_uring_sqe){.opcode = IORING_OP_RENAMEAT, .fd = AT_FDCWD, .addr = ADDRESS(outside("file")), .len = AT_FDCWD, .off = ADDRESS(outside("moved"))});
    if_there(outside("moved"));
}
ATTEMPT(ring_symlink, "io_uring", BOTH, ANYONE) {
    performed((struct io_uring_sqe){.opcode = IORING_OP_SYMLINKAT, .fd = AT_FDCWD, .addr = ADDRESS("x"), .addr2 = ADDRESS(outside("new"))});
    if_there(outside("new"));
}
ATTEMPT(ring_link, "io_uring", BOTH, ANYONE) {
    put(prepared("source"), SCRIBBLE);
    performed((struct io_uring_sqe){.opcode = IORING_OP_LINKAT, .fd = AT_FDCWD, .addr = ADDRESS(prepared("source")), .len = AT_FDCWD, .addr2 = ADDRESS(outside("new"))});
    if_there(outside("new"));
}
ATTEMPT(ring_attribute, "io_uring", BOTH, ANYONE) {
    performed((struct io_uring_sqe){.opcode = IORING_OP_SETXATTR, .addr = ADDRESS("user.ring"), .addr2 = ADDRESS("x"), .len = 1, .addr3 = ADDRESS(outside("file"))});
    escaped("set an attribute");
}
ATTEMPT(ring_secret, "io_uring", BOTH, ANYONE) { if_secret(opened(given("SECRET"), O_RDONLY, 0)); }
ATTEMPT(ring_tcp, "io_uring", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(given("TCP_PORT"))), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int one = performed((struct io_uring_sqe){.opcode = IORING_OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM});
    performed((struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = one, .addr = ADDRESS(&to), .off = sizeof to});
    escaped("connected to the host");
}
ATTEMPT(ring_unix, "io_uring", NETWORK_NOT_ON, ANYONE) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, given("UNIX_SOCKET"));
    int one = performed((struct io_uring_sqe){.opcode = IORING_OP_SOCKET, .fd = AF_UNIX, .off = SOCK_STREAM});
    performed((struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = one, .addr = ADDRESS(&to), .off = sizeof to});
    escaped("connected to the outside");
}
ATTEMPT(ring_git_hook, "io_uring", BOTH, ANYONE) {
    char *hook = text("%s/.git/hooks/post-checkout", given("WORK"));
    int file = opened(hook, O_CREAT | O_WRONLY, 0755);
    written(file);
    unlink(hook);
    escaped("made a hook");
}
