// Races against whoever judges a call before it is carried out: the path, the directory, the descriptor or the tree is
// another one a moment later. Everything is put back afterwards.
#include "attacks.h"
#include <sys/un.h>
#include <sys/xattr.h>
#include <utime.h>

#define GIT(part) text("%s/.git/%s", given("WORK"), part)
#define WORK2(part) text("%s/%s", given("WORK2"), part)

#define HOOK "#!/bin/sh\ntrue\n" // what the hooks of the stage hold
// A race after which something is put back.
#define race_then(flip, attack, restore)                                                                          \
    do {                                                                                                          \
        int rounds = raced(flip, attack);                                                                         \
        if (rounds) (void)(restore), escaped("won the race in round %d", rounds);                                 \
    } while (0)

static char flipping[8192], harmless[8192], wanted[4096], bait[4096];
static int flipped_descriptor, inner_descriptor, wanted_descriptor;

static int is_there(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0;
}
static void flip_path(void) {
    static int turn;
    strcpy(flipping, turn++ % 2 ? wanted : harmless);
    // It stays what it is for as long as it takes to read it.
    for (volatile int i = 0; i < 200; i++) continue;
}
// What came of one round; nothing stays.
static int made_wanted(void) {
    unlink(harmless), rmdir(harmless);
    if (!is_there(wanted)) return 0;
    unlink(wanted), rmdir(wanted);
    return 1;
}
static void want_repository(const char *instead) {
    snprintf(harmless, sizeof harmless, "%s", instead);
    snprintf(wanted, sizeof wanted, "%s", WORK2(".git"));
    snprintf(bait, sizeof bait, "%s", prepared("bait"));
}

// Settings of agents, which must not come as a directory either; a repository may.
static void want_settings(void) {
    want_repository(WORK2("agents"));
    snprintf(wanted, sizeof wanted, "%s", WORK2(".agents"));
}

// ---- names that must not come into being, by every call that makes one ----

#define MAKING(name, call)                                                                                        \
    static int name##_round(void) { call; return made_wanted(); }                                                 \
    ATTEMPT(new_repository_race_##name, "race", BOTH, ANYONE) { want_repository(WORK2("git")); race(flip_path, name##_round); }
#define MAKING_DIRECTORY(name, call)                                                                              \
    static int name##_round(void) { call; return made_wanted(); }                                                 \
    ATTEMPT(settings_race_##name, "race", BOTH, ANYONE) { want_settings(); race(flip_path, name##_round); }
static void create(void) { int file = open(flipping, O_CREAT | O_WRONLY | O_NONBLOCK, 0644); if (file >= 0) close(file); }
static void relink(void) { put(bait, "gitdir: /nowhere\n"); link(bait, flipping); }
static void rename_file(void) { put(bait, "gitdir: /nowhere\n"); rename(bait, flipping); }
static void rename_directory(void) { mkdir(bait, 0755); rename(bait, flipping); }
static void rename_new(void) {
    put(bait, "gitdir: /nowhere\n");
    renameat2(AT_FDCWD, bait, AT_FDCWD, flipping, RENAME_NOREPLACE);
}
static void bind_socket(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(wanted) >= sizeof address.sun_path) untried("the path is too long for a socket");
    memcpy(address.sun_path, flipping, sizeof address.sun_path - 1);
    int end = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(end, (struct sockaddr *)&address, sizeof address), close(end);
}
MAKING_DIRECTORY(of_mkdir, mkdir(flipping, 0755))
MAKING_DIRECTORY(of_mkdirat, mkdirat(AT_FDCWD, flipping, 0755))
MAKING(of_symlink, (void)!symlink("x", flipping))
MAKING(of_node, mknod(flipping, S_IFREG | 0644, 0))
MAKING(of_pipe, mkfifo(flipping, 0644))
MAKING(of_link, relink())
MAKING(of_rename, rename_file())
MAKING(of_renamed_directory, rename_directory())
MAKING(of_rename_without_replacing, rename_new())
ATTEMPT(new_repository_of_socket, "new-repository", BOTH, ANYONE) {
    want_repository(WORK2("git"));
    strcpy(flipping, wanted);
    bind_socket();
    if (made_wanted()) escaped("made %s", wanted);
}

// ---- what is opened instead is of a kind that a judge might leave to the kernel ----

static int create_round(void) { create(); return made_wanted(); }
static int keep_round(void) {
    create();
    if (!is_there(wanted)) return 0;
    unlink(wanted);
    return 1;
}
ATTEMPT(new_repository_race_with_device, "race", BOTH, ANYONE) { want_repository("/dev/null"); race(flip_path, keep_round); }
ATTEMPT(new_repository_race_with_terminal, "race", BOTH, ANYONE) { want_repository("/dev/tty"); race(flip_path, keep_round); }
ATTEMPT(new_repository_race_with_own_settings, "race", BOTH, ANYONE) { want_repository("/proc/self/comm"); race(flip_path, keep_round); }
ATTEMPT(new_repository_race_with_nothing, "race", BOTH, ANYONE) { want_repository("/nowhere/at/all"); race(flip_path, create_round); }
ATTEMPT(new_repository_race_with_root, "race", BOTH, ANYONE) { want_repository("/"); race(flip_path, keep_round); }
ATTEMPT(new_repository_race_with_empty_path, "race", BOTH, ANYONE) { want_repository(""); race(flip_path, keep_round); }
ATTEMPT(new_repository_race_with_long_path, "race", BOTH, ANYONE) {
    char longer[5000];
    memset(longer, 'x', sizeof longer), longer[sizeof longer - 1] = 0;
    want_repository(longer);
    race(flip_path, keep_round);
}
ATTEMPT(new_repository_race_with_pipe, "race", BOTH, ANYONE) {
    want_repository(prepared("pipe"));
    must(mkfifo(harmless, 0644));
    race(flip_path, keep_round);
}
ATTEMPT(new_repository_race_with_file, "race", BOTH, ANYONE) {
    want_repository(prepared("file"));
    put(harmless, "here\n");
    race(flip_path, keep_round);
}
// Memory that is there, and is not.
static char *page;
static void flip_protection(void) {
    static int turn;
    mprotect(page, 4096, turn++ % 2 ? PROT_READ : PROT_NONE);
}
static int unreadable_round(void) {
    mkdir(page, 0755);
    return made_wanted();
}
ATTEMPT(settings_race_with_unreadable_path, "race", BOTH, ANYONE) {
    want_settings();
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(page, wanted);
    race(flip_protection, unreadable_round);
}

// ---- the tree is another one, by somebody with whom no memory is shared ----

static char way[4096], spare[4096], inner[4096];
static void flip_way(void) {
    static int turn;
    unlink(spare);
    if (symlink(turn++ % 2 ? given("WORK2") : inner, spare) == 0) rename(spare, way);
}
static int way_round(void) {
    mkdir(text("%s/.agents", way), 0755);
    rmdir(text("%s/.agents", inner));
    return made_wanted();
}
ATTEMPT(settings_race_of_way, "race", BOTH, ANYONE) {
    want_settings();
    snprintf(way, sizeof way, "%s", prepared("way"));
    snprintf(spare, sizeof spare, "%s", prepared("spare"));
    snprintf(inner, sizeof inner, "%s", prepared("inner"));
    must(mkdir(inner, 0755));
    pid_t flipper = must(fork());
    if (!flipper)
        for (;;) flip_way();
    race(flip_way, way_round);
    kill(flipper, SIGKILL), waitpid(flipper, NULL, 0);
}
static int dangling_round(void) {
    int file = open(way, O_CREAT | O_WRONLY, 0644);
    if (file >= 0) close(file);
    return made_wanted();
}
static void flip_dangling(void) {
    static int turn;
    unlink(spare);
    if (symlink(turn++ % 2 ? wanted : inner, spare) == 0) rename(spare, way);
}
ATTEMPT(new_repository_race_of_dangling_link, "race", BOTH, ANYONE) {
    want_repository(WORK2("git"));
    snprintf(way, sizeof way, "%s", prepared("way"));
    snprintf(spare, sizeof spare, "%s", prepared("spare"));
    snprintf(inner, sizeof inner, "%s", prepared("inner"));
    race(flip_dangling, dangling_round);
}

// ---- descriptors ----

static void flip_descriptor(void) {
    static int turn;
    dup2(turn++ % 2 ? wanted_descriptor : inner_descriptor, flipped_descriptor);
}
static void want_descriptor(int inside, int goal) {
    inner_descriptor = inside, wanted_descriptor = goal;
    flipped_descriptor = must(dup(inside));
}
static int below_round(void) {
    mkdirat(flipped_descriptor, ".agents", 0755);
    unlinkat(inner_descriptor, ".agents", AT_REMOVEDIR);
    return made_wanted();
}
ATTEMPT(settings_race_of_descriptor, "race", BOTH, ANYONE) {
    want_settings();
    must(mkdir(prepared("inner"), 0755));
    want_descriptor(must(open(prepared("inner"), O_PATH)), must(open(given("WORK2"), O_PATH)));
    race(flip_descriptor, below_round);
}
static int mode_round(void) {
    struct stat about;
    fchmod(flipped_descriptor, 0600);
    return fstat(wanted_descriptor, &about) == 0 && (about.st_mode & 0777) == 0600;
}
ATTEMPT(race_of_descriptor_chmod, "race", BOTH, ANYONE) {
    put(prepared("inner"), ORIGINAL);
    want_descriptor(must(open(prepared("inner"), O_RDONLY)), must(open(outside("file"), O_RDONLY)));
    race(flip_descriptor, mode_round);
}

// ---- files that are there and must stay as they are ----

static void want_file(const char *goal) {
    snprintf(harmless, sizeof harmless, "%s", prepared("inner"));
    snprintf(wanted, sizeof wanted, "%s", goal);
    put(harmless, HOOK);
}
static struct stat about_before;
static int differs(void) {
    struct stat about;
    if (stat(wanted, &about)) return 1;
    return about.st_mode != about_before.st_mode || about.st_size != about_before.st_size
        || about.st_mtime != about_before.st_mtime || about.st_ino != about_before.st_ino;
}
static int chmod_round(void) { chmod(flipping, 0755); return differs(); }
ATTEMPT(hook_race_of_mode, "race", BOTH, ANYONE) {
    want_file(GIT("hooks/dormant"));
    must(stat(wanted, &about_before));
    race_then(flip_path, chmod_round, chmod(wanted, 0644));
}
static int append_round(void) {
    int file = open(flipping, O_WRONLY | O_APPEND);
    if (file >= 0 && write(file, "\n", 1) > 0) close(file);
    return differs();
}
ATTEMPT(hook_race_of_content, "race", BOTH, ANYONE) {
    want_file(GIT("hooks/existing"));
    must(stat(wanted, &about_before));
    race_then(flip_path, append_round, truncate(wanted, about_before.st_size));
}
static int truncate_round(void) { if (truncate(flipping, 17)) return 0; return differs(); }
ATTEMPT(hook_race_of_length, "race", BOTH, ANYONE) {
    want_file(GIT("hooks/existing"));
    must(stat(wanted, &about_before));
    race_then(flip_path, truncate_round, put(wanted, HOOK));
}
static int times_round(void) {
    struct utimbuf times = {1, 1};
    utime(flipping, &times);
    return differs();
}
ATTEMPT(race_path_in_memory_times, "race", BOTH, ANYONE) {
    want_file(outside("file"));
    must(stat(wanted, &about_before));
    race(flip_path, times_round);
}
static int attribute_round(void) {
    setxattr(flipping, "user.raced", "x", 1, 0);
    char value;
    return getxattr(wanted, "user.raced", &value, 1) == 1;
}
ATTEMPT(race_path_in_memory_attribute, "race", BOTH, ANYONE) {
    want_file(outside("file"));
    if (setxattr(harmless, "user.raced", "x", 1, 0) && errno == EOPNOTSUPP) untried("no attributes here");
    race(flip_path, attribute_round);
}
static int remove_round(void) {
    unlink(flipping);
    put(harmless, HOOK);
    return !is_there(wanted);
}
ATTEMPT(hook_race_of_removal, "race", BOTH, ANYONE) {
    want_file(GIT("hooks/existing"));
    race_then(flip_path, remove_round, (put(wanted, HOOK), chmod(wanted, 0755)));
}
static int replace_round(void) {
    put(bait, "[core]\n\tfsmonitor = true\n");
    rename(bait, flipping);
    return differs();
}
ATTEMPT(config_race_of_rename, "race", BOTH, ANYONE) {
    snprintf(bait, sizeof bait, "%s", prepared("bait"));
    want_file(GIT("config"));
    must(stat(wanted, &about_before));
    char *was = strdup(content_of(must(open(wanted, O_RDONLY))));
    race_then(flip_path, replace_round, put(wanted, was));
}
