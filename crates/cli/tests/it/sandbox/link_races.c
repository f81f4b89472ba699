// Two commands race to put links into git directories.
// usage: link_races make            makes links in the directory `d`, wherever that is moved, until there is a file `stop`
//        link_races move ROUNDS     moves directories `d` into the repository
//        link_races become ROUNDS   turns directories `d` into repositories, and moves them to `repositories`
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Whether the link that was made is where none may be. It stays there as evidence.
static int has_got_in(int directory) {
    char own[64], path[4096];
    snprintf(own, sizeof own, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(own, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return strstr(path, "/.git/") != NULL || strstr(path, "/repositories/") != NULL ||
           (faccessat(directory, "objects", F_OK, 0) == 0 && faccessat(directory, "refs", F_OK, 0) == 0);
}

static int put(int directory, int round) {
    if (round % 3 == 0) return symlinkat("/nowhere", directory, "x");
    unlink("l");
    if (symlink("/nowhere", "l")) return -1;
    return round % 3 == 1 ? renameat(AT_FDCWD, "l", directory, "x") : linkat(AT_FDCWD, "l", directory, "x", 0);
}

static int make(void) {
    for (int round = 0; access("stop", F_OK) != 0; round++) {
        int directory = open("d", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) continue;
        while (put(directory, round) == 0 && !has_got_in(directory)) unlinkat(directory, "x", 0);
        close(directory);
    }
    return 0;
}

static int become(void) {
    if (mkdir("d/objects", 0755)) return -1;
    if (mkdir("d/refs", 0755) == 0) return 0;
    rmdir("d/objects");
    return -1;
}

static int moved(int rounds, int becomes) {
    char to[64];
    for (int round = 0; round < rounds; round++) {
        if (mkdir("d", 0755)) return 1;
        snprintf(to, sizeof to, becomes ? "repositories/%d" : ".git/in/%d", round);
        if (becomes) while (become());
        while (rename("d", to));
    }
    return 0;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    if (strcmp(words[1], "make") == 0) return make();
    return count < 3 ? 2 : moved(atoi(words[2]), strcmp(words[1], "become") == 0);
}
