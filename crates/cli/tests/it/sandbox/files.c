// Writing, creating, removing and renaming outside of the writable roots, and changing what is known about a file there.
#include "attacks.h"
#include <dirent.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <sys/sendfile.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <utime.h>

#define FILE_ outside("file")

static void scribbled(long file) {
    must(file);
    scribble(file);
    if_changed(FILE_);
}

static long openat2_at(int directory, const char *path, int flags, int resolve) {
    struct open_how how = {.flags = flags, .resolve = resolve};
    return syscall(SYS_openat2, directory, path, &how, sizeof how);
}

// ---- write ----

ATTEMPT(write_open, "write", BOTH, ANYONE) { scribbled(open(FILE_, O_WRONLY)); }
#ifdef SYS_open
ATTEMPT(write_open_old_call, "write", BOTH, ANYONE) { scribbled(syscall(SYS_open, FILE_, O_RDWR)); }
ATTEMPT(write_creat, "write", BOTH, ANYONE) { scribbled(syscall(SYS_creat, FILE_, 0644)); }
#endif
ATTEMPT(write_openat_directory, "write", BOTH, ANYONE) {
    int directory = must(open(outside(""), O_RDONLY | O_DIRECTORY));
    scribbled(openat(directory, "file", O_WRONLY));
}
ATTEMPT(write_openat_path_directory, "write", BOTH, ANYONE) {
    int directory = must(open(outside(""), O_PATH));
    scribbled(openat(directory, "file", O_RDWR));
}
ATTEMPT(write_openat2, "write", BOTH, ANYONE) { scribbled(openat2_at(AT_FDCWD, FILE_, O_WRONLY, 0)); }
ATTEMPT(write_openat2_in_root, "write", BOTH, ANYONE) {
    int root = must(open("/", O_PATH));
    scribbled(openat2_at(root, FILE_, O_WRONLY, RESOLVE_IN_ROOT));
}
ATTEMPT(write_openat2_beneath, "write", BOTH, ANYONE) {
    int directory = must(open(outside(""), O_PATH));
    scribbled(openat2_at(directory, "link", O_WRONLY, RESOLVE_BENEATH));
}
ATTEMPT(write_pwrite, "write", BOTH, ANYONE) {
    must(pwrite(must(open(FILE_, O_RDWR)), "x", 1, 0));
    if_changed(FILE_);
}
ATTEMPT(write_pwritev2, "write", BOTH, ANYONE) {
    struct iovec parts[2] = {{"x", 1}, {"y", 1}};
    must(pwritev2(must(open(FILE_, O_WRONLY)), parts, 2, 0, RWF_DSYNC));
    if_changed(FILE_);
}
ATTEMPT(write_aio, "write", BOTH, ANYONE) {
    aio_context_t context = 0;
    int file = must(open(FILE_, O_WRONLY));
    must(syscall(SYS_io_setup, 1, &context));
    struct iocb block = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = file, .aio_buf = (unsigned long)"xyz", .aio_nbytes = 3};
    struct iocb *blocks[] = {&block};
    must(syscall(SYS_io_submit, context, 1, blocks));
    struct io_event event;
    must(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
    if_changed(FILE_);
}
ATTEMPT(write_reopened_from_read_only, "write", BOTH, ANYONE) {
    int file = must(open(FILE_, O_RDONLY));
    scribbled(open(text("/proc/self/fd/%d", file), O_WRONLY));
}
ATTEMPT(write_reopened_from_path, "write", BOTH, ANYONE) {
    int file = must(open(FILE_, O_PATH));
    scribbled(open(text("/proc/self/fd/%d", file), O_WRONLY | O_TRUNC));
}
ATTEMPT(write_reopened_by_dev_fd, "write", BOTH, ANYONE) {
    int file = must(open(FILE_, O_PATH));
    scribbled(open(text("/dev/fd/%d", file), O_RDWR));
}
ATTEMPT(write_reopened_by_thread_self, "write", BOTH, ANYONE) {
    int file = must(open(FILE_, O_RDONLY));
    scribbled(open(text("/proc/thread-self/fd/%d", file), O_RDWR));
}
ATTEMPT(write_through_path_directory, "write", BOTH, ANYONE) {
    int directory = must(open(outside(""), O_PATH));
    scribbled(open(text("/proc/self/fd/%d/file", directory), O_WRONLY));
}
ATTEMPT(write_through_proc_root, "write", BOTH, ANYONE) { scribbled(open(text("/proc/self/root%s", FILE_), O_WRONLY)); }
ATTEMPT(write_through_proc_cwd, "write", BOTH, ANYONE) {
    must(chdir(outside("")));
    scribbled(open("/proc/self/cwd/file", O_WRONLY));
}
ATTEMPT(write_relative, "write", BOTH, ANYONE) {
    must(chdir(outside("dir")));
    scribbled(open("../file", O_WRONLY));
}
ATTEMPT(write_after_fchdir, "write", BOTH, ANYONE) {
    must(fchdir(must(open(outside(""), O_PATH))));
    scribbled(open("file", O_WRONLY));
}
ATTEMPT(write_by_dots_from_workspace, "write", BOTH, ANYONE) {
    const char *path = FILE_;
    char *dots = text("%s", given("WORK"));
    for (const char *at = given("WORK"); *at; at++)
        if (*at == '/') dots = text("%s/..", dots);
    scribbled(open(text("%s%s", dots, path), O_WRONLY));
}
ATTEMPT(write_mmap_shared, "mmap", BOTH, ANYONE) {
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, must(open(FILE_, O_RDWR)), 0);
    if (memory == MAP_FAILED) blocked();
    memory[0] = 'X';
    if_changed(FILE_);
}
ATTEMPT(write_mmap_of_reopened, "mmap", BOTH, ANYONE) {
    int reader = must(open(FILE_, O_RDONLY));
    int writer = must(open(text("/proc/self/fd/%d", reader), O_RDWR));
    char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, writer, 0);
    if (memory == MAP_FAILED) blocked();
    must(mprotect(memory, 4096, PROT_READ | PROT_WRITE));
    memory[0] = 'X';
    if_changed(FILE_);
}
ATTEMPT(write_mapped_file_by_map_files, "mmap", BOTH, ROOT) {
    char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, must(open(FILE_, O_RDONLY)), 0);
    if (memory == MAP_FAILED) blocked();
    unsigned long start = (unsigned long)memory;
    scribbled(open(text("/proc/self/map_files/%lx-%lx", start, start + 4096), O_RDWR));
}
ATTEMPT(write_copy_file_range, "copy", BOTH, ANYONE) {
    int target = must(open(FILE_, O_WRONLY));
    put(prepared("source"), SCRIBBLE);
    int source = must(open(prepared("source"), O_RDONLY));
    must(copy_file_range(source, NULL, target, NULL, 5, 0));
    if_changed(FILE_);
}
ATTEMPT(write_splice, "copy", BOTH, ANYONE) {
    int ends[2];
    must(pipe(ends));
    must(write(ends[1], "spliced", 7));
    must(splice(ends[0], NULL, must(open(FILE_, O_WRONLY)), NULL, 7, 0));
    if_changed(FILE_);
}
ATTEMPT(write_sendfile, "copy", BOTH, ANYONE) {
    int source = must(memfd_create("source", 0));
    must(write(source, "memory", 6));
    off_t start = 0;
    must(sendfile(must(open(FILE_, O_WRONLY)), source, &start, 6));
    if_changed(FILE_);
}
ATTEMPT(write_clone_range, "copy", BOTH, ANYONE) {
    put(prepared("source"), SCRIBBLE);
    int target = must(open(FILE_, O_WRONLY));
    must(ioctl(target, FICLONE, must(open(prepared("source"), O_RDONLY))));
    if_changed(FILE_);
}
ATTEMPT(write_fallocate, "fallocate", BOTH, ANYONE) {
    int file = must(open(FILE_, O_WRONLY));
    must(fallocate(file, 0, 0, 8192));
    struct stat about;
    must(fstat(file, &about));
    if (about.st_size == 8192) escaped("the file grew");
}
ATTEMPT(write_punch_hole, "fallocate", BOTH, ANYONE) {
    must(fallocate(must(open(FILE_, O_WRONLY)), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
    if_changed(FILE_);
}
ATTEMPT(write_by_spawned_shell, "write", BOTH, ANYONE) {
    run("sh", "-c", text("echo scribbled > '%s'", FILE_), NULL);
    if_changed(FILE_);
}
ATTEMPT(write_by_spawn_file_action, "write", BOTH, ANYONE) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, FILE_, O_WRONLY, 0);
    pid_t child;
    char *words[] = {"echo", "spawned", NULL};
    errno = posix_spawnp(&child, "echo", &actions, NULL, words, environ);
    if (errno) blocked();
    waitpid(child, NULL, 0);
    if_changed(FILE_);
}
ATTEMPT(write_by_passed_descriptor, "write", BOTH, ANYONE) { scribbled(opened_by_helper(FILE_, O_WRONLY)); }
ATTEMPT(write_by_orphan_in_own_session, "write", BOTH, ANYONE) {
    int ends[2];
    must(pipe(ends));
    if (must(fork()) == 0) {
        setsid();
        if (fork()) _exit(0);
        int file = open(FILE_, O_WRONLY), error = file < 0 ? errno : 0;
        if (file >= 0 && write(file, "orphan", 6) < 0) error = errno;
        if (write(ends[1], &error, sizeof error) < 0) _exit(1);
        _exit(0);
    }
    must(read(ends[0], &errno, sizeof errno));
    if (errno) blocked();
    if_changed(FILE_);
}
ATTEMPT(write_by_file_handle, "write", BOTH, ROOT) {
    struct { struct file_handle handle; unsigned char bytes[128]; } space = {.handle = {.handle_bytes = 128}};
    int mount, root = must(open(outside(""), O_RDONLY));
    must(name_to_handle_at(AT_FDCWD, FILE_, &space.handle, &mount, 0));
    scribbled(open_by_handle_at(root, &space.handle, O_WRONLY));
}
ATTEMPT(write_when_device_is_opened_raw, "write", BOTH, ROOT) {
    struct stat about;
    must(stat(FILE_, &about));
    if (major(about.st_dev) == 0) untried("the file is on no block device");
    if (mknod(prepared("disk"), S_IFBLK | 0600, about.st_dev) < 0) blocked();
    char block[512];
    long got = read(must(open(prepared("disk"), O_RDONLY)), block, sizeof block);
    unlink(prepared("disk"));
    if (must(got) == 512) escaped("read the disk under all files");
}

// ---- append, truncate ----

ATTEMPT(append_open, "append", BOTH, ANYONE) { scribbled(open(FILE_, O_WRONLY | O_APPEND)); }
ATTEMPT(append_by_flag_of_one_write, "append", BOTH, ANYONE) {
    struct iovec part = {"more", 4};
    must(pwritev2(must(open(FILE_, O_WRONLY)), &part, 1, 0, RWF_APPEND));
    if_changed(FILE_);
}
ATTEMPT(append_by_shell, "append", BOTH, ANYONE) {
    run("sh", "-c", text("echo more >> '%s'", FILE_), NULL);
    if_changed(FILE_);
}
ATTEMPT(append_through_link, "append", BOTH, ANYONE) { scribbled(open(outside("link"), O_WRONLY | O_APPEND)); }
ATTEMPT(truncate_path, "truncate", BOTH, ANYONE) {
    must(truncate(FILE_, 2));
    if_changed(FILE_);
}
ATTEMPT(truncate_descriptor, "truncate", BOTH, ANYONE) {
    must(ftruncate(must(open(FILE_, O_RDWR)), 0));
    if_changed(FILE_);
}
ATTEMPT(truncate_on_open_for_reading, "truncate", BOTH, ANYONE) {
    must(open(FILE_, O_RDONLY | O_TRUNC));
    if_changed(FILE_);
}
ATTEMPT(truncate_through_proc_fd, "truncate", BOTH, ANYONE) {
    int file = must(open(FILE_, O_RDONLY));
    must(truncate(text("/proc/self/fd/%d", file), 1));
    if_changed(FILE_);
}
ATTEMPT(truncate_longer, "truncate", BOTH, ANYONE) {
    must(truncate(FILE_, 100));
    if_changed(FILE_);
    struct stat about;
    if (stat(FILE_, &about) == 0 && about.st_size == 100) escaped("the file grew");
}

// ---- create ----

ATTEMPT(create_exclusive, "create", BOTH, ANYONE) {
    must(open(outside("new"), O_CREAT | O_EXCL | O_WRONLY, 0644));
    if_there(outside("new"));
}
ATTEMPT(create_openat2, "create", BOTH, ANYONE) {
    struct open_how how = {.flags = O_CREAT | O_RDWR, .mode = 0600};
    must(syscall(SYS_openat2, AT_FDCWD, outside("new"), &how, sizeof how));
    if_there(outside("new"));
}
ATTEMPT(create_read_only_open, "create", BOTH, ANYONE) {
    must(open(outside("new"), O_CREAT | O_RDONLY, 0644));
    if_there(outside("new"));
}
ATTEMPT(create_temporary_and_link, "create", BOTH, ANYONE) {
    int file = must(open(outside(""), O_TMPFILE | O_RDWR, 0644));
    must(linkat(AT_FDCWD, text("/proc/self/fd/%d", file), AT_FDCWD, outside("new"), AT_SYMLINK_FOLLOW));
    if_there(outside("new"));
}
ATTEMPT(create_temporary_unlinked, "create", BOTH, ANYONE) {
    int file = must(open(outside(""), O_TMPFILE | O_RDWR, 0644));
    must(write(file, "bytes on a foreign disk", 23));
    escaped("wrote to an unnamed file in a foreign directory");
}
ATTEMPT(create_temporary_linked_from_workspace, "create", BOTH, ANYONE) {
    int file = must(open(prepared(""), O_TMPFILE | O_RDWR, 0644));
    must(linkat(AT_FDCWD, text("/proc/self/fd/%d", file), AT_FDCWD, outside("new"), AT_SYMLINK_FOLLOW));
    if_there(outside("new"));
}
ATTEMPT(create_mkdir, "mkdir", BOTH, ANYONE) { must(mkdir(outside("new"), 0755)); if_there(outside("new")); }
ATTEMPT(create_mkdirat, "mkdir", BOTH, ANYONE) {
    must(mkdirat(must(open(outside("dir"), O_PATH)), "../new", 0755));
    if_there(outside("new"));
}
ATTEMPT(create_mkdir_by_proc_fd, "mkdir", BOTH, ANYONE) {
    int directory = must(open(outside(""), O_PATH));
    must(mkdir(text("/proc/self/fd/%d/new", directory), 0755));
    if_there(outside("new"));
}
ATTEMPT(create_regular_by_mknod, "node", BOTH, ANYONE) { must(mknod(outside("new"), S_IFREG | 0644, 0)); if_there(outside("new")); }
ATTEMPT(create_fifo, "node", BOTH, ANYONE) { must(mkfifo(outside("new"), 0644)); if_there(outside("new")); }
ATTEMPT(create_fifo_by_mknodat, "node", BOTH, ANYONE) {
    must(mknodat(must(open(outside(""), O_PATH)), "new", S_IFIFO | 0644, 0));
    if_there(outside("new"));
}
ATTEMPT(create_socket_node_by_mknod, "node", BOTH, ANYONE) { must(mknod(outside("new"), S_IFSOCK | 0644, 0)); if_there(outside("new")); }
ATTEMPT(create_socket_by_bind, "node", BOTH, ANYONE) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    must(chdir(outside("")));
    strcpy(address.sun_path, "new");
    must(bind(must(socket(AF_UNIX, SOCK_STREAM, 0)), (void *)&address, sizeof address));
    if_there(outside("new"));
}
ATTEMPT(create_character_device, "node", BOTH, ROOT) { must(mknod(outside("new"), S_IFCHR | 0600, makedev(1, 3))); if_there(outside("new")); }
ATTEMPT(create_block_device, "node", BOTH, ROOT) { must(mknod(outside("new"), S_IFBLK | 0600, makedev(7, 200))); if_there(outside("new")); }
ATTEMPT(create_device_in_workspace, "node", BOTH, ROOT) {
    must(mknod(prepared("kmsg"), S_IFCHR | 0600, makedev(1, 11)));
    int file = open(prepared("kmsg"), O_RDONLY | O_NONBLOCK);
    unlink(prepared("kmsg"));
    must(file);
    escaped("opened a device that it made in the workspace");
}
ATTEMPT(create_symlink, "symlink", BOTH, ANYONE) { must(symlink("/etc/passwd", outside("new"))); if_there(outside("new")); }
ATTEMPT(create_symlinkat, "symlink", BOTH, ANYONE) {
    must(symlinkat("x", must(open(outside(""), O_PATH)), "new"));
    if_there(outside("new"));
}

// ---- remove, rename, link ----

ATTEMPT(remove_unlink, "remove", BOTH, ANYONE) { must(unlink(FILE_)); if_gone(FILE_); }
ATTEMPT(remove_unlinkat, "remove", BOTH, ANYONE) { must(unlinkat(must(open(outside(""), O_PATH)), "file", 0)); if_gone(FILE_); }
ATTEMPT(remove_rmdir, "remove", BOTH, ANYONE) { must(rmdir(outside("empty"))); if_gone(outside("empty")); }
ATTEMPT(remove_directory_by_unlinkat, "remove", BOTH, ANYONE) { must(unlinkat(AT_FDCWD, outside("empty"), AT_REMOVEDIR)); if_gone(outside("empty")); }
ATTEMPT(remove_tree_by_rm, "remove", BOTH, ANYONE) { run("rm", "-rf", outside("dir"), NULL); if_gone(outside("dir")); }
ATTEMPT(rename_within_outside, "rename", BOTH, ANYONE) { must(rename(FILE_, outside("moved"))); if_there(outside("moved")); }
ATTEMPT(rename_over_outside, "rename", BOTH, ANYONE) { must(rename(FILE_, outside("dir/inner"))); if_gone(FILE_); }
ATTEMPT(rename_into_outside, "rename", BOTH, ANYONE) {
    put(prepared("source"), SCRIBBLE);
    must(rename(prepared("source"), outside("new")));
    if_there(outside("new"));
}
ATTEMPT(rename_replacing_outside, "rename", BOTH, ANYONE) {
    put(prepared("source"), SCRIBBLE);
    must(renameat(AT_FDCWD, prepared("source"), must(open(outside(""), O_PATH)), "file"));
    if_changed(FILE_);
}
ATTEMPT(rename_out_of_outside, "rename", BOTH, ANYONE) { must(rename(FILE_, prepared("taken"))); if_gone(FILE_); }
ATTEMPT(rename_directory_out, "rename", BOTH, ANYONE) { must(rename(outside("dir"), prepared("taken"))); if_gone(outside("dir")); }
ATTEMPT(rename_directory_in, "rename", BOTH, ANYONE) {
    must(mkdir(prepared("new"), 0755));
    must(rename(prepared("new"), outside("new")));
    if_there(outside("new"));
}
ATTEMPT(rename_exchange, "rename", BOTH, ANYONE) {
    put(prepared("source"), SCRIBBLE);
    must(renameat2(AT_FDCWD, prepared("source"), AT_FDCWD, FILE_, RENAME_EXCHANGE));
    if_changed(FILE_);
}
ATTEMPT(rename_exchange_directories, "rename", BOTH, ANYONE) {
    must(mkdir(prepared("bait"), 0755));
    must(renameat2(AT_FDCWD, prepared("bait"), AT_FDCWD, outside("dir"), RENAME_EXCHANGE));
    if_gone(outside("dir/inner"));
}
ATTEMPT(rename_no_replace, "rename", BOTH, ANYONE) {
    must(renameat2(AT_FDCWD, FILE_, AT_FDCWD, outside("moved"), RENAME_NOREPLACE));
    if_there(outside("moved"));
}
ATTEMPT(link_out_then_write, "link", BOTH, ANYONE) {
    must(link(FILE_, prepared("linked")));
    scribbled(open(prepared("linked"), O_WRONLY));
}
ATTEMPT(link_into_outside, "link", BOTH, ANYONE) {
    put(prepared("source"), SCRIBBLE);
    must(link(prepared("source"), outside("new")));
    if_there(outside("new"));
}
ATTEMPT(link_of_descriptor, "link", BOTH, ANYONE) {
    int file = must(open(FILE_, O_RDONLY));
    must(linkat(AT_FDCWD, text("/proc/self/fd/%d", file), AT_FDCWD, prepared("linked"), AT_SYMLINK_FOLLOW));
    scribbled(open(prepared("linked"), O_WRONLY));
}
ATTEMPT(link_of_path_descriptor, "link", BOTH, ROOT) {
    int file = must(open(FILE_, O_PATH));
    must(linkat(file, "", AT_FDCWD, prepared("linked"), AT_EMPTY_PATH));
    scribbled(open(prepared("linked"), O_WRONLY));
}
ATTEMPT(symlink_then_write, "symlink", BOTH, ANYONE) {
    must(symlink(FILE_, prepared("link")));
    scribbled(open(prepared("link"), O_WRONLY));
}
ATTEMPT(symlink_directory_then_create, "symlink", BOTH, ANYONE) {
    must(symlink(outside(""), prepared("way")));
    must(open(prepared("way/new"), O_CREAT | O_WRONLY, 0644));
    if_there(outside("new"));
}
ATTEMPT(symlink_dangling_then_create, "symlink", BOTH, ANYONE) {
    must(symlink(outside("new"), prepared("link")));
    must(open(prepared("link"), O_CREAT | O_WRONLY, 0644));
    if_there(outside("new"));
}
ATTEMPT(symlink_chain_through_proc, "symlink", BOTH, ANYONE) {
    must(symlink("/proc/self/root", prepared("root")));
    must(symlink(text("root%s", FILE_), prepared("link")));
    scribbled(open(prepared("link"), O_WRONLY));
}
ATTEMPT(symlink_into_mkdir, "symlink", BOTH, ANYONE) {
    must(symlink(outside("dir"), prepared("way")));
    must(mkdir(prepared("way/../new"), 0755));
    if_there(outside("new"));
}

// ---- races: what was checked is not what is opened ----

static char inner[4096], goal[4096], shared_path[4096], link_path[4096], spare_path[4096];

static void set_goals(const char *inside_name, const char *goal_path) {
    snprintf(inner, sizeof inner, "%s", prepared(inside_name));
    snprintf(goal, sizeof goal, "%s", goal_path);
    snprintf(link_path, sizeof link_path, "%s", prepared("flipping"));
    snprintf(spare_path, sizeof spare_path, "%s", prepared("spare"));
}
static void flip_symlink(void) {
    static int turn;
    unlink(spare_path);
    if (symlink(turn++ % 2 ? goal : inner, spare_path) == 0) rename(spare_path, link_path);
}
static int open_link(void) {
    int file = open(link_path, O_WRONLY);
    if (file >= 0 && write(file, SCRIBBLE, strlen(SCRIBBLE)) > 0) close(file);
    return !holds(goal, ORIGINAL);
}
ATTEMPT(race_symlink_flipped, "race", BOTH, ANYONE) {
    set_goals("inner", FILE_);
    put(inner, ORIGINAL);
    race(flip_symlink, open_link);
}
static void flip_exchange(void) { renameat2(AT_FDCWD, link_path, AT_FDCWD, spare_path, RENAME_EXCHANGE); }
static int create_below(void) {
    int file = open(text("%s/new", link_path), O_CREAT | O_WRONLY, 0644);
    if (file >= 0) close(file);
    return access(goal, F_OK) == 0;
}
ATTEMPT(race_directory_exchanged_for_link, "race", BOTH, ANYONE) {
    set_goals("inner", outside("new"));
    must(mkdir(link_path, 0755));
    must(symlink(outside(""), spare_path));
    race(flip_exchange, create_below);
}
// A supervisor that reads a path from our memory must not let the kernel read it a second time.
static void flip_memory(void) {
    static int turn;
    strcpy(shared_path, turn++ % 2 ? goal : inner);
}
static int open_memory(void) {
    int file = open(shared_path, O_WRONLY);
    if (file >= 0 && write(file, SCRIBBLE, strlen(SCRIBBLE)) > 0) close(file);
    return !holds(goal, ORIGINAL);
}
ATTEMPT(race_path_in_memory_open, "race", BOTH, ANYONE) {
    set_goals("inner", FILE_);
    put(inner, ORIGINAL);
    race(flip_memory, open_memory);
}
static int mkdir_memory(void) {
    if (mkdir(shared_path, 0755) == 0 || errno == EEXIST) rmdir(inner);
    return access(goal, F_OK) == 0;
}
ATTEMPT(race_path_in_memory_mkdir, "race", BOTH, ANYONE) {
    set_goals("inner", outside("new"));
    race(flip_memory, mkdir_memory);
}
static int truncate_memory(void) {
    if (truncate(shared_path, 1) < 0) return 0;
    return !holds(goal, ORIGINAL);
}
ATTEMPT(race_path_in_memory_truncate, "race", BOTH, ANYONE) {
    set_goals("inner", FILE_);
    put(inner, ORIGINAL);
    race(flip_memory, truncate_memory);
}
static int chmod_memory(void) {
    struct stat about;
    chmod(shared_path, 0600);
    return stat(goal, &about) == 0 && (about.st_mode & 0777) == 0600;
}
ATTEMPT(race_path_in_memory_chmod, "race", BOTH, ANYONE) {
    set_goals("inner", FILE_);
    put(inner, ORIGINAL);
    race(flip_memory, chmod_memory);
}
