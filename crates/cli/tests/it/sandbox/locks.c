// Locks every file and directory below a directory that can be opened for reading, says how many, and holds them until its
// input ends.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int held;

static int hold(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about, (void)kind, (void)where;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0)
        return 0;
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    held += flock(file, LOCK_EX | LOCK_NB) == 0;
    fcntl(file, F_OFD_SETLK, &whole);
    return 0;
}

int main(int count, char **words) {
    for (int i = 1; i < count; i++)
        nftw(words[i], hold, 64, FTW_PHYS);
    printf("held %d\n", held);
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    return 0;
}
