// Does hostile things to the tree around it, in an order that a seed decides, until its input ends. It aims at places that no
// sandbox lets it change: what it does inside of the workspace is its own business.
// usage: adversary SEED OUTSIDE
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static unsigned long state;
static unsigned pick(unsigned count) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(state >> 33) % count;
}

// Names in the workspace that are protected, lead outside, or are exchanged with links all the time.
static const char *names[] = {
    "a", "b", "a/x", "b/x", ".git", ".git/hooks", ".git/hooks/pre-commit", ".git/config", ".git/index",
    ".git/modules", ".git/commondir", ".windlass", ".windlass/config.toml", "sub/.windlass", "sub/.windlass/rules.toml",
    ".codex", ".agents", "sub", "sub/.git", "sub/.git/config", "link", "link/planted", "../planted", "./a/../.git/hooks/x",
};
static char outside[4096], shared[4096], *page;
static volatile int over;

static const char *name(void) {
    static char buffers[8][8192];
    static unsigned next;
    char *buffer = buffers[next++ % 8];
    unsigned which = pick(sizeof names / sizeof *names + 2);
    if (which < sizeof names / sizeof *names) strcpy(buffer, names[which]);
    else if (which % 2) snprintf(buffer, sizeof buffers[0], "%s/planted", outside);
    else snprintf(buffer, sizeof buffers[0], "/proc/self/root%s/planted", outside);
    return buffer;
}

static void write_to(const char *path, int flags) {
    int file = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0755);
    if (file < 0) return;
    if (write(file, "#!/bin/sh\ntouch planted\n", 24) < 0) over = over;
    if (pick(4) == 0) fchmod(file, 0755);
    close(file);
}

static void exchange_link(void) {
    unlink("link.new");
    if (symlink(pick(2) ? outside : ".git/hooks", "link.new")) return;
    const char *victims[] = {"a", "b", "link", "sub", ".git/hooks", "sub/.git"};
    const char *victim = victims[pick(6)];
    if (syscall(SYS_renameat2, AT_FDCWD, "link.new", AT_FDCWD, victim, 2)) rename("link.new", victim);
}

static void bind_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    if (bind(fd, (struct sockaddr *)&address, sizeof address)) over = over;
    close(fd);
}

// A path or an address in a page that cannot be read now and then, or whose end lies behind a page that never can.
static void use_page(void) {
    char *text = page + (pick(2) ? 0 : 4096 - 12);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    switch (pick(4)) {
    case 0: write_to(text, O_CREAT | O_WRONLY); break;
    case 1: rename("a/x", text); break;
    case 2: if (bind(fd, (struct sockaddr *)text, sizeof(struct sockaddr_un))) over = over; break;
    case 3: if (connect(fd, (struct sockaddr *)text, sizeof(struct sockaddr_un))) over = over; break;
    }
    if (fd >= 0) close(fd);
}

// Signals the victim, and everything that it can see with a signal that does no harm.
static void signal_all(void) {
    const char *victim = getenv("VICTIM");
    if (victim) kill(atoi(victim), SIGUSR1);
    DIR *processes = opendir("/proc");
    if (!processes) return;
    for (struct dirent *each; (each = readdir(processes));)
        if (atoi(each->d_name) > 0) kill(atoi(each->d_name), SIGURG);
    closedir(processes);
}

static void act(void) {
    switch (pick(18)) {
    case 0: case 1: exchange_link(); break;
    case 2: case 3: write_to(name(), O_CREAT | O_WRONLY); break;
    case 4: write_to(name(), O_WRONLY | O_TRUNC); break;
    case 5: write_to(name(), O_RDWR | O_APPEND); break;
    case 6: mkdir(name(), 0755); break;
    case 7: rename(name(), name()); break;
    case 8: syscall(SYS_renameat2, AT_FDCWD, name(), AT_FDCWD, name(), 2); break;
    case 9: if (link(name(), name())) over = over; break;
    case 10: if (symlink(name(), name())) over = over; break;
    case 11: unlink(name()); rmdir(name()); break;
    case 12: chmod(name(), pick(2) ? 0 : 0755); chmod("a", 0755); chmod("b", 0755); chmod("sub", 0755); break;
    case 13: if (truncate(name(), 0)) over = over; break;
    case 14: bind_at(name()); break;
    case 15: strcpy(shared, name()); write_to(shared, O_CREAT | O_WRONLY); break;
    case 16: use_page(); break;
    case 17: if (pick(50) == 0) signal_all(); break;
    }
}

// Exchanges the path of calls that are being made.
static void *flip(void *unused) {
    unsigned round = 0;
    while (!over) {
        const char *path = round++ % 2 ? ".git/hooks/pre-commit" : "a/x";
        strcpy(shared, path);
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        strcpy(page, path);
        memcpy(page + 4096 - 12, ".git/hooks/p", 12);
        mprotect(page, 4096, round % 3 ? PROT_NONE : PROT_WRITE);
    }
    return unused;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    state = strtoul(words[1], NULL, 10);
    snprintf(outside, sizeof outside, "%s", words[2]);
    signal(SIGPIPE, SIG_IGN);
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE)) return 2;
    pthread_t thread;
    pthread_create(&thread, NULL, flip, NULL);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    puts("hostile");
    fflush(stdout);
    while (!over) {
        for (int each = 0; each < 200; each++) act();
        if (poll(&input, 1, 0) > 0) over = 1;
    }
    pthread_join(thread, NULL);
    return 0;
}
