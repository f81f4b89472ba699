// Unix sockets of programs outside, reached past a supervisor: through memory that it cannot read, by a race for the address
// or the descriptor, and where the socket lies in a place that can be written or comes after the start.
#include "attacks.h"
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/un.h>

#define WORD "echo-me"

static struct sockaddr_un at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}
static int local(int type) { return must(socket(AF_UNIX, type, 0)); }
static void if_answered(int connection) {
    char answer[64] = {0};
    struct pollfd wait = {connection, POLLIN, 0};
    must(send(connection, WORD, strlen(WORD), MSG_NOSIGNAL));
    if (poll(&wait, 1, 1500) <= 0) { errno = ETIMEDOUT; blocked(); }
    must(recv(connection, answer, sizeof answer - 1, 0));
    if (!strncmp(answer, WORD, strlen(WORD))) escaped("the outside answered");
}
static void reach(const char *path) {
    struct sockaddr_un to = at(path);
    int one = local(SOCK_STREAM);
    must(connect(one, (void *)&to, sizeof to));
    if_answered(one);
}

// ---- memory that the supervisor cannot read, and the kernel can ----

static void *write_only(const void *bytes, size_t length) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, bytes, length);
    // Of this processor's pages, those that can be written can be read; the kernel's books say otherwise.
    must(mprotect(page, 4096, PROT_WRITE));
    return page;
}
static void reach_from_write_only_memory(const char *path) {
    struct sockaddr_un to = at(path);
    int one = local(SOCK_STREAM);
    must(connect(one, write_only(&to, sizeof to), sizeof to));
    if_answered(one);
}
ATTEMPT(local_address_in_write_only_memory, "unix", BOTH, ANYONE) { reach_from_write_only_memory(given("UNIX_SOCKET")); }
ATTEMPT(local_address_in_write_only_memory_in_tmp, "unix", BOTH, ANYONE) { reach_from_write_only_memory(given("TMP_SOCKET")); }
ATTEMPT(local_datagram_to_address_in_write_only_memory, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("UNIX_DATAGRAM"));
    must(sendto(local(SOCK_DGRAM), WORD, strlen(WORD), 0, write_only(&to, sizeof to), sizeof to));
    escaped("the outside has a message");
}
ATTEMPT(local_name_bound_from_write_only_memory, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(outside("made"));
    must(bind(local(SOCK_STREAM), write_only(&to, sizeof to), sizeof to));
    if_there(outside("made"));
}

// ---- processes that the supervisor cannot look into ----

ATTEMPT(local_address_of_undumpable_process, "unix", BOTH, ANYONE) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    reach(given("TMP_SOCKET"));
}
// The kernel hides the memory of a program whose file its user cannot read.
ATTEMPT(local_address_of_unreadable_program, "unix", BOTH, ANYONE) {
    char *copy = prepared("program");
    if (run("cp", text("%s/attacks", given("STAGE")), copy, NULL)) blocked();
    must(chmod(copy, 0111));
    char *said = output_of(copy, "run", "local_socket_in_tmp", NULL);
    if (strstr(said, "ESCAPED")) escaped("such a program reached the outside");
    errno = EACCES;
    blocked();
}

// ---- races ----

static struct sockaddr_un harmless, wanted, flipping;
static void flip_address(void) {
    static int turn;
    memcpy(&flipping, turn++ % 2 ? &wanted : &harmless, sizeof flipping);
}
static int connected_to_wanted(int one) {
    struct sockaddr_un peer = {0};
    socklen_t length = sizeof peer;
    return getpeername(one, (void *)&peer, &length) == 0 && strstr(peer.sun_path, strrchr(wanted.sun_path, '/')) != NULL;
}
static int address_round(void) {
    int one = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int won = connect(one, (void *)&flipping, sizeof flipping) == 0 && connected_to_wanted(one);
    close(one);
    return won;
}
static void own_listener(const char *path) {
    int one = local(SOCK_STREAM);
    harmless = at(path);
    must(bind(one, (void *)&harmless, sizeof harmless));
    must(listen(one, 4096));
}
ATTEMPT(local_race_of_address_in_memory, "race", BOTH, ANYONE) {
    must(chdir(prepared("")));
    own_listener("own");
    wanted = at(given("UNIX_SOCKET"));
    race(flip_address, address_round);
}
static int flipped, other_descriptor, own_socket;
static void flip_descriptor(void) {
    static int turn;
    dup2(turn++ % 2 ? own_socket : other_descriptor, flipped);
}
static int descriptor_round(void) {
    own_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(flipped, (void *)&wanted, sizeof wanted);
    int won = connected_to_wanted(own_socket);
    close(own_socket);
    return won;
}
// What is no socket of this family is none of the supervisor's business, unless it becomes one.
ATTEMPT(local_race_of_descriptor, "race", BOTH, ANYONE) {
    wanted = at(given("UNIX_SOCKET"));
    own_socket = local(SOCK_STREAM);
    other_descriptor = must(open("/dev/null", O_RDONLY));
    flipped = must(dup(other_descriptor));
    race(flip_descriptor, descriptor_round);
}

// ---- in places that can be written ----

ATTEMPT(local_socket_in_tmp, "unix", BOTH, ANYONE) { reach(given("TMP_SOCKET")); }
ATTEMPT(local_socket_in_tmp_relatively, "unix", BOTH, ANYONE) {
    must(chdir("/tmp"));
    reach(given("TMP_SOCKET") + strlen("/tmp/"));
}
ATTEMPT(local_socket_in_workspace, "unix", BOTH, ANYONE) { reach(given("WORK_SOCKET")); }
ATTEMPT(local_socket_in_workspace_linked, "unix", BOTH, ANYONE) {
    must(link(given("WORK_SOCKET"), prepared("s")));
    must(chdir(prepared("")));
    reach("s");
}
// The name is one at which a program inside listens, too; the file is the one from outside.
ATTEMPT(local_socket_in_workspace_under_own_name, "unix", BOTH, ANYONE) {
    must(chdir(prepared("")));
    own_listener("s");
    must(unlink("s"));
    must(link(given("WORK_SOCKET"), "s"));
    reach("s");
}
ATTEMPT(local_datagram_in_workspace, "unix", BOTH, ANYONE) {
    struct sockaddr_un to = at(given("WORK_DATAGRAM"));
    must(sendto(local(SOCK_DGRAM), WORD, strlen(WORD), 0, (void *)&to, sizeof to));
    escaped("the outside has a message");
}

// ---- bound after the start: the surroundings bind sockets where a file asks for one ----

static char *bound_later(const char *directory) {
    char *path = text("windlass-late-%s-%s", given("SURROUNDINGS"), attempt_name());
    int file = must(open(text("%s/%s", given("WANTED"), attempt_name()), O_WRONLY | O_CREAT, 0644));
    must(chdir(directory));
    close(file);
    struct stat about;
    char *ready = text("%s/%s.ready", given("WANTED"), path);
    for (int i = 0; i < 500 && stat(ready, &about) < 0; i++) poll(NULL, 0, 10);
    return path;
}
ATTEMPT(local_socket_bound_later_in_tmp, "unix", BOTH, ANYONE) { reach(bound_later("/tmp")); }
ATTEMPT(local_socket_bound_later_in_workspace, "unix", BOTH, ANYONE) { reach(bound_later(given("WANTED"))); }

// `sendmsg` takes the address from memory: no filter sees it, and no mount hides a socket that comes after the start.
static void message(int one, const char *path) {
    struct sockaddr_un to = at(path);
    struct iovec part = {WORD, strlen(WORD)};
    struct msghdr message = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
    must(sendmsg(one, &message, 0));
}
ATTEMPT(local_datagram_bound_later_in_tmp, "unix", BOTH, ANYONE) {
    message(local(SOCK_DGRAM), bound_later("/tmp"));
    escaped("the outside has a message");
}
ATTEMPT(local_datagram_bound_later_in_workspace, "unix", BOTH, ANYONE) {
    message(local(SOCK_DGRAM), bound_later(given("WANTED")));
    escaped("the outside has a message");
}
// The kernel makes a socket for datagrams of this one.
ATTEMPT(local_datagram_of_raw_socket_bound_later, "unix", BOTH, ANYONE) {
    message(local(SOCK_RAW), bound_later("/tmp"));
    escaped("the outside has a message");
}
ATTEMPT(local_datagram_of_pair_bound_later, "unix", BOTH, ANYONE) {
    char *path = bound_later("/tmp"), answer[64];
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    message(pair[0], path);
    // It belongs to the other end of the pair, whatever address it has.
    if (recv(pair[1], answer, sizeof answer, MSG_DONTWAIT) > 0) { errno = EISCONN; blocked(); }
    escaped("the outside has a message");
}

// ---- names at which the user's own programs expect a server of the user's ----

ATTEMPT(local_server_planted_for_tmux, "unix", BOTH, ANYONE) {
    char *directory = text("/tmp/tmux-%d", getuid()), *path = text("%s/windlass-attempt-%d", directory, getpid());
    int made = mkdir(directory, 0700);
    struct sockaddr_un name = at(path);
    int answer = bind(local(SOCK_STREAM), (void *)&name, sizeof name), error = errno;
    unlink(path);
    if (made == 0) rmdir(directory);
    errno = error;
    must(answer);
    escaped("tmux would obey a server at %s", path);
}
