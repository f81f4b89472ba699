// Opens a path again and again while another thread exchanges the path in memory, from a harmless one to a wanted one and back.
// Says GOT when it has the wanted file open: for reading, something of it that is not harmless, and for writing, the file itself and
// no draft of it. usage: replaced r|w HARMLESS WANTED GO EXCHANGES
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[4096];
static const char *harmless, *wanted;
static volatile int over;
static volatile long flips;

static void *flip(void *unused) {
    while (!over) {
        memcpy(path, wanted, strlen(wanted) + 1);
        memcpy(path, harmless, strlen(harmless) + 1);
        flips++;
    }
    return unused;
}

static int is_wanted(int file) {
    struct stat own, there;
    return fstat(file, &own) == 0 && stat(wanted, &there) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

static int has_secret(int file) {
    char start[8] = "";
    return read(file, start, sizeof start) > 0 && memcmp(start, "harmless", 8);
}

int main(int count, char **words) {
    if (count < 6) return 2;
    long exchanges = atol(words[5]);
    int flags = words[1][0] == 'w' ? O_RDWR : O_RDONLY;
    harmless = words[2], wanted = words[3];
    puts("ready");
    fflush(stdout);
    // Until the other end of the pipe is opened: then the wanted file has been replaced.
    close(open(words[4], O_RDONLY));
    pthread_t thread;
    pthread_create(&thread, NULL, flip, NULL);
    // Both threads have to have had their share, also where the machine is busy with others.
    for (long round = 0; (round < 4000 || flips < exchanges) && !over; round++) {
        int file = open(path, flags);
        if (file < 0) continue;
        if (flags == O_RDWR ? is_wanted(file) : has_secret(file)) over = 1;
        close(file);
    }
    puts(over ? "GOT" : "nothing");
    over = 1;
    pthread_join(thread, NULL);
    return 0;
}
