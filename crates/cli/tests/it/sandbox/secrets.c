// Reading what may not be read: one file ($SECRET) and a directory ($SECRETDIR, with `inside` and `program` in it).
#include "attacks.h"
#include <dirent.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#define SECRET_ given("SECRET")
#define INSIDE text("%s/inside", given("SECRETDIR"))

ATTEMPT(secret_open, "secret", BOTH, ANYONE) { if_secret(open(SECRET_, O_RDONLY)); }
ATTEMPT(secret_open_for_both, "secret", BOTH, ANYONE) { if_secret(open(SECRET_, O_RDWR)); }
ATTEMPT(secret_openat2, "secret", BOTH, ANYONE) {
    struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_NO_MAGICLINKS};
    if_secret(syscall(SYS_openat2, AT_FDCWD, SECRET_, &how, sizeof how));
}
ATTEMPT(secret_reopened_from_path, "secret", BOTH, ANYONE) {
    if_secret(open(text("/proc/self/fd/%ld", must(open(SECRET_, O_PATH))), O_RDONLY));
}
ATTEMPT(secret_mapped, "secret", BOTH, ANYONE) {
    char *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, must(open(SECRET_, O_RDONLY)), 0);
    if (memory == MAP_FAILED) blocked();
    if (!strncmp(memory, "secret:", 7)) escaped("mapped a secret");
}
ATTEMPT(secret_through_proc_root, "secret", BOTH, ANYONE) { if_secret(open(text("/proc/self/root%s", SECRET_), O_RDONLY)); }
ATTEMPT(secret_through_task_root, "secret", BOTH, ANYONE) { if_secret(open(text("/proc/self/task/%d/root%s", getpid(), SECRET_), O_RDONLY)); }
ATTEMPT(secret_through_first_process, "secret", BOTH, ROOT) { if_secret(open(text("/proc/1/root%s", SECRET_), O_RDONLY)); }
ATTEMPT(secret_through_parent_root, "secret", BOTH, ANYONE) { if_secret(open(text("/proc/%d/root%s", getppid(), SECRET_), O_RDONLY)); }
ATTEMPT(secret_through_victim_root, "secret", BOTH, ANYONE) { if_secret(open(text("/proc/%d/root%s", victim(), SECRET_), O_RDONLY)); }
ATTEMPT(secret_through_victim_descriptor, "secret", BOTH, ANYONE) { if_secret(open(text("/proc/%d/fd/%s", victim(), given("VICTIM_FD")), O_RDONLY)); }
ATTEMPT(secret_relative, "secret", BOTH, ANYONE) {
    char *directory = text("%s", SECRET_), *slash = strrchr(directory, '/');
    *slash = 0;
    must(chdir(directory));
    if_secret(open(slash + 1, O_RDONLY));
}
ATTEMPT(secret_doubled_slashes, "secret", BOTH, ANYONE) {
    char *path = text("%s", SECRET_), *slash = strrchr(path, '/');
    *slash = 0;
    if_secret(open(text("%s//.///%s", path, slash + 1), O_RDONLY));
}
ATTEMPT(secret_hard_linked, "secret", BOTH, ANYONE) {
    must(link(SECRET_, prepared("link")));
    int file = open(prepared("link"), O_RDONLY);
    unlink(prepared("link"));
    if_secret(file);
}
ATTEMPT(secret_hard_linked_by_descriptor, "secret", BOTH, ANYONE) {
    int path = must(open(SECRET_, O_PATH));
    must(linkat(AT_FDCWD, text("/proc/self/fd/%d", path), AT_FDCWD, prepared("link"), AT_SYMLINK_FOLLOW));
    int file = open(prepared("link"), O_RDONLY);
    unlink(prepared("link"));
    if_secret(file);
}
ATTEMPT(secret_symlinked, "secret", BOTH, ANYONE) {
    must(symlink(SECRET_, prepared("link")));
    if_secret(open(prepared("link"), O_RDONLY));
}
ATTEMPT(secret_renamed, "secret", BOTH, ANYONE) {
    must(rename(SECRET_, prepared("taken")));
    int file = open(prepared("taken"), O_RDONLY);
    rename(prepared("taken"), SECRET_);
    if_secret(file);
}
ATTEMPT(secret_exchanged, "secret", BOTH, ANYONE) {
    put(prepared("bait"), "bait\n");
    must(renameat2(AT_FDCWD, prepared("bait"), AT_FDCWD, SECRET_, RENAME_EXCHANGE));
    int file = open(prepared("bait"), O_RDONLY);
    renameat2(AT_FDCWD, prepared("bait"), AT_FDCWD, SECRET_, RENAME_EXCHANGE);
    if_secret(file);
}
ATTEMPT(secret_by_cat, "secret", BOTH, ANYONE) {
    if (strstr(output_of("cat", SECRET_, NULL), "secret:")) escaped("cat printed it");
}
ATTEMPT(secret_by_tar, "secret", BOTH, ANYONE) {
    if (strstr(output_of("sh", "-c", text("tar -cf - '%s' | tr -d '\\0'", SECRET_), NULL), "secret:")) escaped("tar packed it");
}
ATTEMPT(secret_by_shell_redirection, "secret", BOTH, ANYONE) {
    if (strstr(output_of("sh", "-c", text("read line < '%s'; echo $line", SECRET_), NULL), "secret:")) escaped("the shell read it");
}
ATTEMPT(secret_executed, "secret", BOTH, ANYONE) {
    if (strstr(output_of(text("%s/program", given("SECRETDIR")), NULL), "secret:")) escaped("its first line was carried out");
}
ATTEMPT(secret_executed_by_descriptor, "secret", BOTH, ANYONE) {
    int file = must(open(text("%s/program", given("SECRETDIR")), O_PATH));
    if (strstr(output_of(text("/proc/self/fd/%d", file), NULL), "secret:")) escaped("its first line was carried out");
}
ATTEMPT(secret_by_passed_descriptor, "secret", BOTH, ANYONE) {
    if_secret(opened_by_helper(SECRET_, O_RDONLY));
}
ATTEMPT(secret_sent_by_file, "secret", BOTH, ANYONE) {
    int target = must(memfd_create("copy", 0));
    must(sendfile(target, must(open(SECRET_, O_RDONLY)), NULL, 4096));
    lseek(target, 0, SEEK_SET);
    if_secret(target);
}
ATTEMPT(secret_spliced, "secret", BOTH, ANYONE) {
    int ends[2];
    must(pipe2(ends, O_NONBLOCK));
    must(splice(must(open(SECRET_, O_RDONLY)), NULL, ends[1], NULL, 4096, 0));
    if_secret(ends[0]);
}
ATTEMPT(secret_copied_by_range, "secret", BOTH, ANYONE) {
    int target = must(open(prepared("copy"), O_RDWR | O_CREAT | O_TRUNC, 0600));
    must(copy_file_range(must(open(SECRET_, O_RDONLY)), NULL, target, NULL, 4096, 0));
    lseek(target, 0, SEEK_SET);
    unlink(prepared("copy"));
    if_secret(target);
}
ATTEMPT(secret_by_file_handle, "secret", BOTH, ROOT) {
    struct { struct file_handle handle; unsigned char bytes[128]; } space = {.handle = {.handle_bytes = 128}};
    int mount;
    must(name_to_handle_at(AT_FDCWD, SECRET_, &space.handle, &mount, 0));
    if_secret(open_by_handle_at(must(open(given("WORK"), O_RDONLY)), &space.handle, O_RDONLY));
}
ATTEMPT(secret_bind_mounted, "secret", BOTH, NAMESPACES) {
    put(prepared("point"), "");
    own_mounts();
    must(mount(SECRET_, prepared("point"), NULL, MS_BIND, NULL));
    if_secret(open(prepared("point"), O_RDONLY));
}
ATTEMPT(secret_directory_bind_mounted, "secret", BOTH, NAMESPACES) {
    must(mkdir(prepared("point"), 0755));
    own_mounts();
    must(mount(given("SECRETDIR"), prepared("point"), NULL, MS_BIND | MS_REC, NULL));
    if_secret(open(prepared("point/inside"), O_RDONLY));
}
ATTEMPT(secret_by_cloned_tree, "secret", BOTH, NAMESPACES) {
    own_mounts();
    int tree = must(syscall(SYS_open_tree, AT_FDCWD, given("SECRETDIR"), 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC));
    if_secret(openat(tree, "inside", O_RDONLY));
}
ATTEMPT(secret_by_overlay, "secret", BOTH, NAMESPACES) {
    must(mkdir(prepared("point"), 0755));
    own_mounts();
    must(mount("overlay", prepared("point"), "overlay", 0, text("lowerdir=%s:%s", given("SECRETDIR"), prepared("point"))));
    if_secret(open(prepared("point/inside"), O_RDONLY));
}
ATTEMPT(secret_unmasked, "secret", BOTH, NAMESPACES) {
    own_mounts();
    if (bare()) must(mount("none", given("SECRETDIR"), "tmpfs", 0, NULL));
    must(umount2(given("SECRETDIR"), MNT_DETACH));
    if_secret(open(INSIDE, O_RDONLY));
}
ATTEMPT(secret_after_chroot, "secret", BOTH, NAMESPACES) {
    own_mounts();
    must(chroot(given("SECRETDIR")));
    if_secret(open("/inside", O_RDONLY));
}
ATTEMPT(secret_directory_listed, "secret", BOTH, ANYONE) {
    DIR *directory = opendir(given("SECRETDIR"));
    if (!directory) blocked();
    for (struct dirent *entry; (entry = readdir(directory));)
        if (!strcmp(entry->d_name, "inside")) escaped("the names in it can be read");
}
ATTEMPT(secret_directory_listed_by_path, "secret", BOTH, ANYONE) {
    int path = must(open(given("SECRETDIR"), O_PATH));
    DIR *directory = opendir(text("/proc/self/fd/%d/.", path));
    if (!directory) blocked();
    for (struct dirent *entry; (entry = readdir(directory));)
        if (!strcmp(entry->d_name, "inside")) escaped("the names in it can be read");
}
ATTEMPT(secret_directory_entered, "secret", BOTH, ANYONE) {
    must(chdir(given("SECRETDIR")));
    if_secret(open("inside", O_RDONLY));
}
ATTEMPT(secret_directory_file_opened, "secret", BOTH, ANYONE) { if_secret(open(INSIDE, O_RDONLY)); }
ATTEMPT(secret_directory_file_at, "secret", BOTH, ANYONE) {
    if_secret(openat(must(open(given("SECRETDIR"), O_PATH)), "inside", O_RDONLY));
}
ATTEMPT(secret_directory_renamed, "secret", BOTH, ANYONE) {
    must(rename(given("SECRETDIR"), prepared("taken")));
    int file = open(prepared("taken/inside"), O_RDONLY);
    rename(prepared("taken"), given("SECRETDIR"));
    if_secret(file);
}
ATTEMPT(secret_directory_symlinked, "secret", BOTH, ANYONE) {
    must(symlink(given("SECRETDIR"), prepared("way")));
    if_secret(open(prepared("way/inside"), O_RDONLY));
}
ATTEMPT(secret_directory_globbed, "secret", BOTH, ANYONE) {
    if (strstr(output_of("sh", "-c", text("cat '%s'/*", given("SECRETDIR")), NULL), "secret:")) escaped("the shell read it");
}
ATTEMPT(secret_directory_by_dots, "secret", BOTH, ANYONE) { if_secret(open(text("%s/../%s/inside", given("SECRETDIR"), strrchr(given("SECRETDIR"), '/') + 1), O_RDONLY)); }

static char shared_path[4096], harmless[4096], goal[4096];
static void flip_memory(void) {
    static int turn;
    strcpy(shared_path, turn++ % 2 ? goal : harmless);
}
static int read_memory(void) {
    int file = open(shared_path, O_RDONLY);
    if (file < 0) return 0;
    char start[8] = {0};
    ssize_t length = read(file, start, 7);
    close(file);
    return length == 7 && !strcmp(start, "secret:");
}
ATTEMPT(secret_race_of_path_in_memory, "race", BOTH, ANYONE) {
    strcpy(harmless, "/etc/passwd");
    strcpy(goal, SECRET_);
    race(flip_memory, read_memory);
}
