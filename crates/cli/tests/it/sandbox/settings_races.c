// Races for git's configuration.
// usage: settings_races swap EVIL TARGET    three threads move, exchange and write files in the place of another
//        settings_races write               changes the configuration some hundred times, as git does, and ends
//        settings_races intrude             goes for every file that a supervisor has in the repository for a moment, until there is a
//                                           file `stop`; says GOT at the end if it had one
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVIL "[core]\n\tfsmonitor = evil\n"
#define CONFIG ".git/config"

static char evil[65536], harmless[65536];
static const char *target;

static void load(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY);
    ssize_t length = file < 0 ? 0 : read(file, text, size - 1);
    text[length < 0 ? 0 : length] = 0;
    if (file >= 0) close(file);
}
static int store(const char *path, int flags, const char *text) {
    int file = open(path, flags | O_CLOEXEC, 0644);
    if (file < 0) return -1;
    int wrote = write(file, text, strlen(text)) < 0 ? -1 : 0;
    close(file);
    return wrote;
}
static int exchange(const char *from, const char *to) {
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 2);
}

static void *move_bait(void *unused) {
    for (int round = 0; round < 100; round++) {
        store("bait", O_CREAT | O_WRONLY | O_TRUNC, round % 2 ? harmless : evil);
        if (rename("bait", target)) exchange("bait", target);
    }
    return unused;
}
static void *write_bait(void *unused) {
    for (int round = 0; round < 100; round++) {
        store("bait", O_WRONLY | O_TRUNC, evil);
        store(target, O_WRONLY | O_APPEND, evil);
    }
    return unused;
}
static int swap(const char *from) {
    load(from, evil, sizeof evil);
    load(target, harmless, sizeof harmless);
    void *(*roles[])(void *) = {move_bait, write_bait, move_bait};
    pthread_t threads[3];
    for (int each = 0; each < 3; each++) pthread_create(&threads[each], NULL, roles[each], NULL);
    for (int each = 0; each < 3; each++) pthread_join(threads[each], NULL);
    return 0;
}

static int put(const char *more) {
    static char text[sizeof harmless + 64];
    snprintf(text, sizeof text, "%s%s", harmless, more);
    if (store(CONFIG ".lock", O_CREAT | O_WRONLY | O_TRUNC, text)) return 1;
    return rename(CONFIG ".lock", CONFIG) ? 1 : 0;
}
static int write_settings(void) {
    load(CONFIG, harmless, sizeof harmless);
    for (int round = 0; round < 400; round++) {
        char more[64];
        snprintf(more, sizeof more, "[branch \"x\"]\n\tmerge = %d\n", round);
        if (put(more)) return 1;
    }
    return put("");
}

static int attack(const char *path) {
    int got = 0;
    got |= store(path, O_WRONLY, EVIL) == 0;
    got |= link(path, "linked") == 0;
    got |= store("linked", O_WRONLY, EVIL) == 0;
    store("bait", O_CREAT | O_WRONLY | O_TRUNC, EVIL);
    got |= exchange("bait", path) == 0;
    got |= rename("bait", path) == 0;
    got |= rename(path, "moved") == 0;
    got |= store("moved", O_WRONLY, EVIL) == 0;
    unlink("linked"), unlink("moved"), unlink("bait");
    return got;
}
static int intrude(void) {
    int got = 0;
    puts("ready");
    fflush(stdout);
    while (access("stop", F_OK)) {
        DIR *directory = opendir(".git");
        for (struct dirent *entry; directory && (entry = readdir(directory));) {
            char path[512];
            if (strncmp(entry->d_name, ".windlass-", 10)) continue;
            snprintf(path, sizeof path, ".git/%s", entry->d_name);
            got |= attack(path);
        }
        if (directory) closedir(directory);
    }
    puts(got ? "GOT" : "nothing");
    return 0;
}

int main(int count, char **words) {
    if (count == 4 && !strcmp(words[1], "swap")) return target = words[3], swap(words[2]);
    if (count == 2 && !strcmp(words[1], "write")) return write_settings();
    if (count == 2 && !strcmp(words[1], "intrude")) return intrude();
    return 2;
}
