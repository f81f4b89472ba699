// What is protected inside of the workspace: what git runs or obeys, the directories that agents obey, and the root
// itself; and, where the policy is read-only, all of it. Everything is put back afterwards.
#include "attacks.h"
#include <linux/openat2.h>

#define WORK(part) text("%s/%s", given("WORK"), part)
#define GIT(part) text("%s/.git/%s", given("WORK"), part)
#define WORK2(part) text("%s/%s", given("WORK2"), part)

static int is_there(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0;
}
// Escaped if it is there, which it then no longer is.
static void made(const char *path) {
    if (!is_there(path)) return;
    run("rm", "-rf", path, NULL);
    escaped("made %s", path);
}
// Whether a file differs from what it was; it is then put back.
static void altered(const char *path, const char *was, mode_t mode) {
    if (holds(path, was)) return;
    unlink(path);
    put(path, was);
    chmod(path, mode);
    escaped("changed %s", path);
}
static char *kept(const char *path) {
    int file = must(open(path, O_RDONLY));
    char *content = strdup(content_of(file));
    close(file);
    return content;
}

// ---- hooks ----

#define EVIL "#!/bin/sh\ntrue\n"
ATTEMPT(hook_created, "hooks", BOTH, ANYONE) { put(GIT("hooks/pre-commit"), EVIL); made(GIT("hooks/pre-commit")); }
ATTEMPT(hook_created_at, "hooks", BOTH, ANYONE) {
    int git = must(open(GIT(""), O_PATH));
    must(openat(git, "hooks/post-merge", O_CREAT | O_WRONLY, 0755));
    made(GIT("hooks/post-merge"));
}
ATTEMPT(hook_created_by_openat2, "hooks", BOTH, ANYONE) {
    struct open_how how = {.flags = O_CREAT | O_WRONLY, .mode = 0755, .resolve = RESOLVE_BENEATH};
    must(syscall(SYS_openat2, must(open(given("WORK"), O_PATH)), ".git/hooks/pre-push", &how, sizeof how));
    made(GIT("hooks/pre-push"));
}
ATTEMPT(hook_created_relatively, "hooks", BOTH, ANYONE) {
    must(chdir(GIT("objects")));
    must(open("../hooks/update", O_CREAT | O_WRONLY, 0755));
    made(GIT("hooks/update"));
}
ATTEMPT(hook_created_through_symlink, "hooks", BOTH, ANYONE) {
    must(symlink(GIT("hooks"), prepared("way")));
    must(open(prepared("way/post-commit"), O_CREAT | O_WRONLY, 0755));
    made(GIT("hooks/post-commit"));
}
ATTEMPT(hook_created_through_proc_cwd, "hooks", BOTH, ANYONE) {
    must(chdir(GIT("hooks")));
    must(open("/proc/self/cwd/pre-rebase", O_CREAT | O_WRONLY, 0755));
    made(GIT("hooks/pre-rebase"));
}
ATTEMPT(hook_renamed_into_place, "hooks", BOTH, ANYONE) {
    put(prepared("hook"), EVIL);
    must(rename(prepared("hook"), GIT("hooks/post-rewrite")));
    made(GIT("hooks/post-rewrite"));
}
ATTEMPT(hook_linked_into_place, "hooks", BOTH, ANYONE) {
    put(prepared("hook"), EVIL);
    must(link(prepared("hook"), GIT("hooks/commit-msg")));
    made(GIT("hooks/commit-msg"));
}
ATTEMPT(hook_symlinked_into_place, "hooks", BOTH, ANYONE) { must(symlink("/bin/true", GIT("hooks/pre-merge-commit"))); made(GIT("hooks/pre-merge-commit")); }
ATTEMPT(hook_of_unnamed_file, "hooks", BOTH, ANYONE) {
    int file = must(open(prepared(""), O_TMPFILE | O_WRONLY, 0755));
    must(linkat(AT_FDCWD, text("/proc/self/fd/%d", file), AT_FDCWD, GIT("hooks/post-applypatch"), AT_SYMLINK_FOLLOW));
    made(GIT("hooks/post-applypatch"));
}
ATTEMPT(hook_existing_changed, "hooks", BOTH, ANYONE) {
    char *was = kept(GIT("hooks/existing"));
    scribble(must(open(GIT("hooks/existing"), O_WRONLY | O_APPEND)));
    altered(GIT("hooks/existing"), was, 0755);
}
ATTEMPT(hook_existing_reopened, "hooks", BOTH, ANYONE) {
    char *was = kept(GIT("hooks/existing"));
    int reader = must(open(GIT("hooks/existing"), O_RDONLY));
    scribble(must(open(text("/proc/self/fd/%d", reader), O_WRONLY)));
    altered(GIT("hooks/existing"), was, 0755);
}
ATTEMPT(hook_existing_mapped, "hooks", BOTH, ANYONE) {
    char *was = kept(GIT("hooks/existing"));
    char *memory = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, must(open(GIT("hooks/existing"), O_RDWR)), 0);
    if (memory == MAP_FAILED) blocked();
    memory[strlen(was) - 2] = 'X';
    altered(GIT("hooks/existing"), was, 0755);
}
ATTEMPT(hook_existing_linked_out, "hooks", BOTH, ANYONE) {
    char *was = kept(GIT("hooks/existing"));
    must(link(GIT("hooks/existing"), prepared("linked")));
    scribble(must(open(prepared("linked"), O_WRONLY)));
    altered(GIT("hooks/existing"), was, 0755);
}
ATTEMPT(hook_existing_removed, "hooks", BOTH, ANYONE) {
    char *was = kept(GIT("hooks/existing"));
    must(unlink(GIT("hooks/existing")));
    altered(GIT("hooks/existing"), was, 0755);
}
ATTEMPT(hook_sample_made_executable, "hooks", BOTH, ANYONE) {
    struct stat about;
    must(chmod(GIT("hooks/dormant"), 0755));
    must(stat(GIT("hooks/dormant"), &about));
    chmod(GIT("hooks/dormant"), 0644);
    if (about.st_mode & 0100) escaped("a hook that slept runs now");
}
ATTEMPT(hooks_renamed_away, "hooks", BOTH, ANYONE) {
    must(rename(GIT("hooks"), GIT("hooks-away")));
    rename(GIT("hooks-away"), GIT("hooks"));
    escaped("the hooks could be put elsewhere");
}
ATTEMPT(hooks_exchanged, "hooks", BOTH, ANYONE) {
    must(mkdir(prepared("hooks"), 0755));
    put(prepared("hooks/pre-commit"), EVIL);
    must(renameat2(AT_FDCWD, prepared("hooks"), AT_FDCWD, GIT("hooks"), RENAME_EXCHANGE));
    renameat2(AT_FDCWD, prepared("hooks"), AT_FDCWD, GIT("hooks"), RENAME_EXCHANGE);
    escaped("the hooks were others");
}
ATTEMPT(hooks_moved_with_repository, "hooks", BOTH, ANYONE) {
    must(mkdir(prepared("elsewhere"), 0755));
    must(rename(GIT(""), prepared("elsewhere/.git")));
    int file = open(prepared("elsewhere/.git/hooks/pre-receive"), O_CREAT | O_WRONLY, 0755), error = errno;
    unlink(prepared("elsewhere/.git/hooks/pre-receive"));
    rename(prepared("elsewhere/.git"), WORK(".git"));
    errno = error;
    must(file);
    escaped("made a hook while the repository was elsewhere");
}
static char flipping[4096], allowed[4096], wanted[4096];
static void flip_path(void) {
    static int turn;
    strcpy(flipping, turn++ % 2 ? wanted : allowed);
}
static int create_flipping(void) {
    int file = open(flipping, O_CREAT | O_WRONLY, 0644);
    if (file >= 0) close(file);
    unlink(allowed);
    if (!is_there(wanted)) return 0;
    unlink(wanted);
    return 1;
}
ATTEMPT(hook_race_of_path_in_memory, "race", BOTH, ANYONE) {
    strcpy(allowed, prepared("harmless"));
    strcpy(wanted, GIT("hooks/fsmonitor-watchman"));
    race(flip_path, create_flipping);
}

// ---- configuration ----

ATTEMPT(config_appended, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    int file = must(open(GIT("config"), O_WRONLY | O_APPEND));
    must(dprintf(file, "[core]\n\tfsmonitor = false\n"));
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_truncated, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    must(truncate(GIT("config"), 0));
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_replaced_by_lock, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    put(GIT("config.lock"), text("%s[core]\n\tpager = true\n", was));
    if (rename(GIT("config.lock"), GIT("config")) < 0) { int error = errno; unlink(GIT("config.lock")); errno = error; blocked(); }
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_replaced_from_workspace, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    put(prepared("config"), text("%s[alias]\n\tst = !true\n", was));
    must(rename(prepared("config"), GIT("config")));
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_exchanged, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    put(prepared("config"), text("%s[alias]\n\tst = !true\n", was));
    must(renameat2(AT_FDCWD, prepared("config"), AT_FDCWD, GIT("config"), RENAME_EXCHANGE));
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_removed, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    must(unlink(GIT("config")));
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_replaced_by_symlink, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    put(prepared("config"), text("%s[alias]\n\tst = !true\n", was));
    must(symlink(prepared("config"), GIT("config-link")));
    if (rename(GIT("config-link"), GIT("config")) < 0) { int error = errno; unlink(GIT("config-link")); errno = error; blocked(); }
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_linked_out, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    must(link(GIT("config"), prepared("config")));
    scribble(must(open(prepared("config"), O_WRONLY | O_APPEND)));
    altered(GIT("config"), was, 0644);
}
ATTEMPT(config_hooks_path_by_git, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    run("git", "-c", "safe.directory=*", "-C", given("WORK"), "config", "core.hooksPath", given("WORK"), NULL);
    altered(GIT("config"), was, 0644);
    errno = EACCES;
    blocked();
}
ATTEMPT(config_include_by_git, "config", BOTH, ANYONE) {
    char *was = kept(GIT("config"));
    put(prepared("evil"), text("[core]\n\thooksPath = %s\n", prepared("")));
    run("git", "-c", "safe.directory=*", "-C", given("WORK"), "config", "include.path", prepared("evil"), NULL);
    altered(GIT("config"), was, 0644);
    errno = EACCES;
    blocked();
}
ATTEMPT(config_of_worktree_created, "config", BOTH, ANYONE) { put(GIT("config.worktree"), "[core]\n\tfsmonitor = true\n"); made(GIT("config.worktree")); }
ATTEMPT(config_commondir_created, "config", BOTH, ANYONE) { put(GIT("commondir"), "/nowhere\n"); made(GIT("commondir")); }
ATTEMPT(config_commondir_renamed_into_place, "config", BOTH, ANYONE) {
    put(prepared("commondir"), "/nowhere\n");
    must(rename(prepared("commondir"), GIT("commondir")));
    made(GIT("commondir"));
}
ATTEMPT(config_mode_changed, "config", BOTH, ANYONE) {
    struct stat about;
    must(chmod(GIT("config"), 0666));
    must(stat(GIT("config"), &about));
    chmod(GIT("config"), 0644);
    if ((about.st_mode & 0777) == 0666) escaped("everybody may write the configuration");
}

// ---- the repository as a whole ----

ATTEMPT(repository_renamed_away, "repository", BOTH, ANYONE) {
    must(rename(WORK(".git"), WORK("git-away")));
    int other = mkdir(WORK(".git"), 0755);
    rmdir(WORK(".git"));
    rename(WORK("git-away"), WORK(".git"));
    must(other);
    escaped("another repository could stand there");
}
ATTEMPT(repository_exchanged, "repository", BOTH, ANYONE) {
    must(mkdir(prepared("git"), 0755));
    must(renameat2(AT_FDCWD, prepared("git"), AT_FDCWD, WORK(".git"), RENAME_EXCHANGE));
    renameat2(AT_FDCWD, prepared("git"), AT_FDCWD, WORK(".git"), RENAME_EXCHANGE);
    escaped("another repository stood there");
}
ATTEMPT(repository_replaced_by_file, "repository", BOTH, ANYONE) {
    must(rename(WORK(".git"), prepared("git")));
    int file = open(WORK(".git"), O_CREAT | O_EXCL | O_WRONLY, 0644);
    unlink(WORK(".git"));
    rename(prepared("git"), WORK(".git"));
    must(file);
    escaped("a file could point to another repository");
}
ATTEMPT(repository_replaced_by_symlink, "repository", BOTH, ANYONE) {
    must(rename(WORK(".git"), prepared("git")));
    int link = symlink(prepared("git"), WORK(".git"));
    unlink(WORK(".git"));
    rename(prepared("git"), WORK(".git"));
    must(link);
    escaped("a link could point to another repository");
}

// ---- a repository where there was none ----

// A repository may be made there, but none that runs programs.
static void init(void) { run("git", "init", "-q", given("WORK2"), NULL); }
static void uninit(void) { run("rm", "-rf", WORK2(".git"), NULL); }
ATTEMPT(new_repository_hook, "new-repository", BOTH, ANYONE) {
    init();
    int file = open(WORK2(".git/hooks/post-checkout"), O_CREAT | O_WRONLY, 0755), error = errno;
    uninit();
    errno = error;
    must(file);
    escaped("made a hook in a new repository");
}
ATTEMPT(new_repository_hook_renamed, "new-repository", BOTH, ANYONE) {
    put(prepared("hook"), EVIL);
    init();
    int moved = rename(prepared("hook"), WORK2(".git/hooks/post-checkout")), error = errno;
    uninit();
    errno = error;
    must(moved);
    escaped("moved a hook into a new repository");
}
ATTEMPT(new_repository_hook_before_its_marks, "new-repository", BOTH, ANYONE) {
    must(mkdir(WORK2(".git"), 0755));
    mkdir(WORK2(".git/hooks"), 0755);
    put(WORK2(".git/hooks/post-checkout"), EVIL);
    init();
    int is_repository = is_there(WORK2(".git/HEAD")) && is_there(WORK2(".git/objects")) && is_there(WORK2(".git/hooks/post-checkout"));
    uninit();
    if (is_repository) escaped("made a repository around a hook");
    errno = EACCES;
    blocked();
}
ATTEMPT(new_repository_setting, "new-repository", BOTH, ANYONE) {
    init();
    run("git", "-c", "safe.directory=*", "-C", given("WORK2"), "config", "core.fsmonitor", "./x", NULL);
    char *config = is_there(WORK2(".git/config")) ? kept(WORK2(".git/config")) : "";
    uninit();
    if (strstr(config, "fsmonitor")) escaped("a new repository runs a program");
    errno = EACCES;
    blocked();
}
ATTEMPT(new_repository_renamed, "new-repository", BOTH, ANYONE) {
    must(mkdir(WORK2("bait"), 0755));
    int moved = rename(WORK2("bait"), WORK2(".git")), error = errno;
    rmdir(WORK2("bait"));
    errno = error;
    must(moved);
    made(WORK2(".git"));
}
ATTEMPT(new_repository_renamed_from_elsewhere, "new-repository", BOTH, ANYONE) {
    must(mkdir(prepared("bait"), 0755));
    must(renameat2(AT_FDCWD, prepared("bait"), AT_FDCWD, WORK2(".git"), RENAME_NOREPLACE));
    made(WORK2(".git"));
}
ATTEMPT(new_repository_symlink, "new-repository", BOTH, ANYONE) { must(symlink(prepared(""), WORK2(".git"))); made(WORK2(".git")); }
ATTEMPT(new_repository_symlinkat, "new-repository", BOTH, ANYONE) { must(symlinkat("x", must(open(given("WORK2"), O_PATH)), ".git")); made(WORK2(".git")); }
ATTEMPT(new_repository_file, "new-repository", BOTH, ANYONE) { put(WORK2(".git"), "gitdir: /nowhere\n"); made(WORK2(".git")); }
ATTEMPT(new_repository_hard_link, "new-repository", BOTH, ANYONE) {
    put(prepared("file"), "gitdir: /nowhere\n");
    must(link(prepared("file"), WORK2(".git")));
    made(WORK2(".git"));
}
ATTEMPT(new_repository_of_unnamed_file, "new-repository", BOTH, ANYONE) {
    int file = must(open(given("WORK2"), O_TMPFILE | O_WRONLY, 0644));
    must(linkat(AT_FDCWD, text("/proc/self/fd/%d", file), AT_FDCWD, WORK2(".git"), AT_SYMLINK_FOLLOW));
    made(WORK2(".git"));
}
ATTEMPT(new_repository_node, "new-repository", BOTH, ANYONE) { must(mknod(WORK2(".git"), S_IFREG | 0644, 0)); made(WORK2(".git")); }
ATTEMPT(new_repository_race, "race", BOTH, ANYONE) {
    strcpy(allowed, WORK2("git"));
    strcpy(wanted, WORK2(".git"));
    race(flip_path, create_flipping);
}

// ---- directories that agents obey ----

#define OBEYED(name, directory)                                                                                    \
    ATTEMPT(name##_made, "obeyed", BOTH, ANYONE) { must(mkdir(WORK(directory), 0755)); made(WORK(directory)); }    \
    ATTEMPT(name##_made_in_other_root, "obeyed", BOTH, ANYONE) { must(mkdir(WORK2(directory), 0755)); made(WORK2(directory)); } \
    ATTEMPT(name##_symlinked, "obeyed", BOTH, ANYONE) { must(symlink(prepared(""), WORK(directory))); made(WORK(directory)); }  \
    ATTEMPT(name##_renamed, "obeyed", BOTH, ANYONE) {                                                              \
        must(mkdir(prepared("bait"), 0755));                                                                       \
        must(rename(prepared("bait"), WORK(directory)));                                                           \
        made(WORK(directory));                                                                                     \
    }
OBEYED(codex, ".codex")
OBEYED(agents, ".agents")
OBEYED(windlass, ".windlass")

// ---- the root of the workspace, and beside it ----

ATTEMPT(workspace_renamed, "root", BOTH, ANYONE) {
    char *work = text("%s", given("WORK")), *away = text("%s-away", work);
    must(rename(work, away));
    rename(away, work);
    escaped("the workspace could be put elsewhere");
}
ATTEMPT(workspace_exchanged, "root", BOTH, ANYONE) {
    must(renameat2(AT_FDCWD, given("WORK"), AT_FDCWD, given("WORK2"), RENAME_EXCHANGE));
    must(renameat2(AT_FDCWD, given("WORK"), AT_FDCWD, given("WORK2"), RENAME_EXCHANGE));
    escaped("the roots changed places");
}
ATTEMPT(workspace_removed, "root", BOTH, ANYONE) {
    // The second one is empty but for litter of races, so that it can be removed at all.
    run("find", given("WORK2"), "-mindepth", "1", "-delete", NULL);
    must(rmdir(given("WORK2")));
    mkdir(given("WORK2"), 0755);
    escaped("the root itself could be removed");
}
ATTEMPT(workspace_sibling_created, "root", BOTH, ANYONE) {
    char *path = text("%s-sibling", given("WORK"));
    must(mkdir(path, 0755));
    rmdir(path);
    escaped("made a directory beside the workspace");
}
ATTEMPT(workspace_sibling_by_dots, "root", BOTH, ANYONE) {
    must(chdir(given("WORK")));
    must(open("../beside", O_CREAT | O_WRONLY, 0644));
    unlink("../beside");
    escaped("made a file beside the workspace");
}
ATTEMPT(home_written, "root", BOTH, ANYONE) {
    char *path = text("%s/.windlass-attack-%d", given("HOME"), getpid());
    must(open(path, O_CREAT | O_WRONLY, 0600));
    unlink(path);
    escaped("wrote into the home directory");
}

// ---- where nothing may be written ----

#define FILE_ WORK("tracked")
static void if_no_longer(const char *was) {
    if (holds(FILE_, was)) return;
    put(FILE_, was);
    escaped("changed a file of the workspace");
}
ATTEMPT(read_only_write, "read-only", READ_ONLY, ANYONE) { char *was = kept(FILE_); scribble(must(open(FILE_, O_WRONLY))); if_no_longer(was); }
ATTEMPT(read_only_truncate, "read-only", READ_ONLY, ANYONE) { char *was = kept(FILE_); must(truncate(FILE_, 1)); if_no_longer(was); }
ATTEMPT(read_only_map, "read-only", READ_ONLY, ANYONE) {
    char *was = kept(FILE_), *memory = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, must(open(FILE_, O_RDWR)), 0);
    if (memory == MAP_FAILED) blocked();
    memory[0] = 'X';
    if_no_longer(was);
}
ATTEMPT(read_only_create, "read-only", READ_ONLY, ANYONE) { put(WORK("new-file"), "x"); made(WORK("new-file")); }
ATTEMPT(read_only_mkdir, "read-only", READ_ONLY, ANYONE) { must(mkdir(WORK("new-directory"), 0755)); made(WORK("new-directory")); }
ATTEMPT(read_only_symlink, "read-only", READ_ONLY, ANYONE) { must(symlink("x", WORK("new-link"))); made(WORK("new-link")); }
ATTEMPT(read_only_link, "read-only", READ_ONLY, ANYONE) { must(link(FILE_, WORK("new-name"))); made(WORK("new-name")); }
ATTEMPT(read_only_rename, "read-only", READ_ONLY, ANYONE) { must(rename(FILE_, WORK("renamed"))); rename(WORK("renamed"), FILE_); escaped("renamed a file"); }
ATTEMPT(read_only_unlink, "read-only", READ_ONLY, ANYONE) { char *was = kept(FILE_); must(unlink(FILE_)); if_no_longer(was); }
ATTEMPT(read_only_chmod, "read-only", READ_ONLY, ANYONE) { must(chmod(FILE_, 0600)); chmod(FILE_, 0644); escaped("changed a mode"); }
ATTEMPT(read_only_unnamed_file, "read-only", READ_ONLY, ANYONE) { must(open(given("WORK"), O_TMPFILE | O_WRONLY, 0600)); escaped("wrote to the disk of the workspace"); }
ATTEMPT(read_only_commit, "read-only", READ_ONLY, ANYONE) {
    put(GIT("refs/heads/attack"), text("%s\n", "0123456789012345678901234567890123456789"));
    made(GIT("refs/heads/attack"));
}
