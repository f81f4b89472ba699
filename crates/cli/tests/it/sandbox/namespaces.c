// Making and entering namespaces, mounting, and changing what is mounted. Where nothing stops us, all of it happens in a
// world of mounts that nobody else sees.
#include "attacks.h"
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/statfs.h>

// <sys/mount.h> and <linux/mount.h> do not go together everywhere.
extern int mount(const char *, const char *, const char *, unsigned long, const void *);
extern int umount2(const char *, int);
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
enum { TMPFS = 0x01021994, PROC = 0x9fa0, DETACH = 2 };

static long kind_of(const char *path) {
    struct statfs about;
    must(statfs(path, &about));
    return about.f_type;
}
static void if_kind(const char *path, long kind) {
    if (kind_of(path) == kind) escaped("another file system is mounted at %s", path);
}

// ---- making ----

static unsigned long namespace_number(const char *name) {
    struct stat about;
    must(stat(text("/proc/self/ns/%s", name), &about));
    return about.st_ino;
}
static void unshared(int flag, const char *name) {
    unsigned long before = namespace_number(name);
    must(unshare(flag));
    if (namespace_number(name) != before) escaped("is in another namespace: %s", name);
}
ATTEMPT(unshare_user, "namespace", BOTH, NAMESPACES) { unshared(CLONE_NEWUSER, "user"); }
ATTEMPT(unshare_mounts, "namespace", BOTH, ROOT) { unshared(CLONE_NEWNS, "mnt"); }
ATTEMPT(unshare_network, "namespace", BOTH, ROOT) { unshared(CLONE_NEWNET, "net"); }
ATTEMPT(unshare_ipc, "namespace", BOTH, ROOT) { unshared(CLONE_NEWIPC, "ipc"); }
ATTEMPT(unshare_names, "namespace", BOTH, ROOT) { unshared(CLONE_NEWUTS, "uts"); }
ATTEMPT(unshare_cgroup, "namespace", BOTH, ROOT) { unshared(CLONE_NEWCGROUP, "cgroup"); }
ATTEMPT(unshare_processes, "namespace", BOTH, ROOT) {
    must(unshare(CLONE_NEWPID));
    pid_t child = must(fork());
    if (child == 0) _exit(getpid() == 1 ? 77 : 1);
    int status;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77) escaped("its child is the first process of a namespace");
}
ATTEMPT(unshare_time, "namespace", BOTH, ROOT) { must(unshare(CLONE_NEWTIME)); escaped("made a namespace of clocks"); }
ATTEMPT(unshare_user_and_all, "namespace", BOTH, NAMESPACES) {
    must(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWUTS));
    escaped("is root of a world of its own");
}
ATTEMPT(unshare_by_program, "namespace", BOTH, NAMESPACES) {
    if (strstr(output_of("unshare", "--user", "--map-root-user", "id", "-u", NULL), "0\n")) escaped("is root of a namespace");
    errno = EPERM;
    blocked();
}
static void cloned(unsigned long flags) {
    long child = must(syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL));
    if (child == 0) _exit(77);
    int status;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77) escaped("a child lives in another namespace");
}
ATTEMPT(clone_user, "namespace", BOTH, NAMESPACES) { cloned(CLONE_NEWUSER); }
ATTEMPT(clone_user_and_network, "namespace", BOTH, NAMESPACES) { cloned(CLONE_NEWUSER | CLONE_NEWNET); }
ATTEMPT(clone_mounts, "namespace", BOTH, ROOT) { cloned(CLONE_NEWNS); }
ATTEMPT(clone_processes, "namespace", BOTH, ROOT) { cloned(CLONE_NEWPID); }
static void cloned_by_three(unsigned long flags) {
    struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};
    long child = must(syscall(SYS_clone3, &arguments, sizeof arguments));
    if (child == 0) _exit(77);
    int status;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77) escaped("a child lives in another namespace");
}
ATTEMPT(clone3_user, "namespace", BOTH, NAMESPACES) { cloned_by_three(CLONE_NEWUSER); }
ATTEMPT(clone3_user_and_mounts, "namespace", BOTH, NAMESPACES) { cloned_by_three(CLONE_NEWUSER | CLONE_NEWNS); }
ATTEMPT(clone3_mounts, "namespace", BOTH, ROOT) { cloned_by_three(CLONE_NEWNS); }
ATTEMPT(clone3_network, "namespace", BOTH, ROOT) { cloned_by_three(CLONE_NEWNET); }

// ---- entering ----

static void entered(const char *name, int kind) {
    int space = must(open(text("/proc/%d/ns/%s", victim(), name), O_RDONLY));
    must(setns(space, kind));
    escaped("entered a namespace of the outside: %s", name);
}
ATTEMPT(enter_mounts, "setns", BOTH, ROOT) { entered("mnt", CLONE_NEWNS); }
ATTEMPT(enter_network, "setns", BOTH, ROOT) { entered("net", CLONE_NEWNET); }
ATTEMPT(enter_processes, "setns", BOTH, ROOT) { entered("pid", CLONE_NEWPID); }
ATTEMPT(enter_ipc, "setns", BOTH, ROOT) { entered("ipc", CLONE_NEWIPC); }
ATTEMPT(enter_names, "setns", BOTH, ROOT) { entered("uts", CLONE_NEWUTS); }
ATTEMPT(enter_cgroup, "setns", BOTH, ROOT) { entered("cgroup", CLONE_NEWCGROUP); }
ATTEMPT(enter_user, "setns", BOTH, ANYONE) {
    struct stat theirs;
    if (stat(text("/proc/%d/ns/user", victim()), &theirs) == 0 && theirs.st_ino == namespace_number("user"))
        untried("the victim is in our user namespace");
    entered("user", CLONE_NEWUSER);
}
ATTEMPT(enter_by_pidfd, "setns", BOTH, ROOT) {
    must(setns(must(syscall(SYS_pidfd_open, victim(), 0)), CLONE_NEWNS | CLONE_NEWNET));
    escaped("entered the outside's mounts");
}
ATTEMPT(enter_mounts_of_first_process, "setns", BOTH, ROOT) {
    must(setns(must(open("/proc/1/ns/mnt", O_RDONLY)), CLONE_NEWNS));
    // Inside, the first process may be one of ours; what counts is what can be written then.
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}

// ---- mounting ----

static char *point(void) {
    must(mkdir(prepared("point"), 0755));
    own_mounts();
    return prepared("point");
}
ATTEMPT(mount_memory, "mount", BOTH, NAMESPACES) { char *at = point(); must(mount("none", at, "tmpfs", 0, NULL)); if_kind(at, TMPFS); }
ATTEMPT(mount_processes, "mount", BOTH, ROOT) { char *at = point(); must(mount("none", at, "proc", 0, NULL)); if_kind(at, PROC); }
ATTEMPT(mount_bound_outside, "mount", BOTH, NAMESPACES) {
    char *at = point();
    must(mount(outside(""), at, NULL, MS_BIND, NULL));
    scribble(must(open(text("%s/file", at), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_bound_recursively, "mount", BOTH, NAMESPACES) {
    char *at = point();
    must(mount("/", at, NULL, MS_BIND | MS_REC, NULL));
    scribble(must(open(text("%s%s", at, outside("file")), O_WRONLY)));
    if_changed(outside("file"));
}
// What a sandbox has made read-only; where there is none, we make it so ourselves first.
static void seal(void) {
    own_mounts();
    if (!bare()) return;
    must(mount(outside(""), outside(""), NULL, MS_BIND, NULL));
    must(mount(NULL, outside(""), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL));
    if (open(outside("file"), O_WRONLY) >= 0) untried("nothing could be made read-only");
}
static void unsealed(const char *mounted) {
    if (bare()) mounted = outside("");
    must(mount(NULL, mounted, NULL, MS_REMOUNT | MS_BIND, NULL));
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_root_made_writable, "remount", BOTH, NAMESPACES) { seal(); unsealed("/"); }
ATTEMPT(mount_outside_made_writable, "remount", BOTH, NAMESPACES) { seal(); unsealed(given("OUTSIDE")); }
ATTEMPT(mount_superblock_made_writable, "remount", BOTH, ROOT) {
    own_mounts();
    // Where nothing stops us the file system is writable already, and asking for that changes nothing.
    must(mount(NULL, "/", NULL, MS_REMOUNT, NULL));
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_attributes_made_writable, "remount", BOTH, NAMESPACES) {
    seal();
    struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
    must(syscall(SYS_mount_setattr, AT_FDCWD, bare() ? outside("") : "/", AT_RECURSIVE, &attributes, sizeof attributes));
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_seal_taken_off, "remount", BOTH, NAMESPACES) {
    seal();
    must(umount2(bare() ? outside("") : given("OUTSIDE"), DETACH));
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_root_taken_off, "remount", BOTH, NAMESPACES) {
    own_mounts();
    // A root of its own, as sandboxes make it, is what can come off.
    if (bare()) {
        must(mount(outside("dir"), outside("dir"), NULL, MS_BIND, NULL));
        must(umount2(outside("dir"), DETACH));
        escaped("may take mounts off");
    }
    must(umount2("/", DETACH));
    escaped("took the root off");
}
ATTEMPT(mount_clone_of_tree, "mount", BOTH, NAMESPACES) {
    own_mounts();
    int tree = must(syscall(SYS_open_tree, AT_FDCWD, outside(""), OPEN_TREE_CLONE));
    scribble(must(openat(tree, "file", O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_moved_tree, "mount", BOTH, NAMESPACES) {
    char *at = point();
    int tree = must(syscall(SYS_open_tree, AT_FDCWD, outside(""), OPEN_TREE_CLONE));
    must(syscall(SYS_move_mount, tree, "", AT_FDCWD, at, MOVE_MOUNT_F_EMPTY_PATH));
    scribble(must(open(text("%s/file", at), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_tree_with_attributes, "mount", BOTH, NAMESPACES) {
    seal();
    struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};
    int tree = must(syscall(SYS_open_tree_attr, AT_FDCWD, outside(""), OPEN_TREE_CLONE, &attributes, sizeof attributes));
    scribble(must(openat(tree, "file", O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(mount_file_system_opened, "mount", BOTH, NAMESPACES) {
    own_mounts();
    int context = must(syscall(SYS_fsopen, "tmpfs", 0));
    must(syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
    int made = must(syscall(SYS_fsmount, context, 0, 0));
    must(openat(made, "file", O_CREAT | O_WRONLY, 0644));
    escaped("made a file system");
}
ATTEMPT(mount_picked, "mount", BOTH, ROOT) {
    own_mounts();
    must(syscall(SYS_fspick, AT_FDCWD, "/", 0));
    escaped("may configure the file system under it");
}
ATTEMPT(mount_over_hooks, "mount", BOTH, NAMESPACES) {
    own_mounts();
    char *hooks = text("%s/.git/hooks", given("WORK"));
    must(mount("none", hooks, "tmpfs", 0, NULL));
    if_kind(hooks, TMPFS);
}
ATTEMPT(mount_moved_away, "mount", BOTH, NAMESPACES) {
    char *at = point();
    if (bare()) must(mount(outside(""), outside(""), NULL, MS_BIND, NULL));
    must(mount(bare() ? outside("") : given("OUTSIDE"), at, NULL, MS_MOVE, NULL));
    escaped("moved a mount");
}
ATTEMPT(mount_made_shared, "mount", BOTH, NAMESPACES) {
    own_mounts();
    must(mount(NULL, "/", NULL, MS_SHARED, NULL));
    escaped("changed how mounts spread");
}
ATTEMPT(root_pivoted, "mount", BOTH, NAMESPACES) {
    char *at = point();
    must(mount("none", at, "tmpfs", 0, NULL));
    must(mkdir(text("%s/old", at), 0755));
    must(syscall(SYS_pivot_root, at, text("%s/old", at)));
    if_there("/old");
}
ATTEMPT(root_changed, "mount", BOTH, NAMESPACES) {
    own_mounts();
    must(chroot(given("OUTSIDE")));
    if_there(text("/%s/file", attempt_name()));
}
ATTEMPT(root_changed_and_left, "mount", BOTH, NAMESPACES) {
    own_mounts();
    int up = must(open("/", O_PATH));
    must(mkdir(prepared("jail"), 0755));
    must(chroot(prepared("jail")));
    must(fchdir(up));
    for (int i = 0; i < 30; i++) must(chdir(".."));
    must(chroot("."));
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(root_of_first_process, "mount", BOTH, ROOT) {
    must(chroot("/proc/1/root"));
    scribble(must(open(outside("file"), O_WRONLY)));
    if_changed(outside("file"));
}
ATTEMPT(cgroup_made, "mount", BOTH, ROOT) {
    const char *place = access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    if (access(place, F_OK) < 0 && bare()) untried("no groups are mounted");
    char *group = text("%s/windlass-attack-%d", place, getpid());
    must(mkdir(group, 0755));
    rmdir(group);
    escaped("made a group outside of its own");
}
ATTEMPT(cgroup_left, "mount", BOTH, ROOT) {
    if (access("/sys/fs/cgroup/cgroup.procs", F_OK) < 0 && bare()) untried("no groups are mounted");
    char *own = content_of(must(open("/proc/self/cgroup", O_RDONLY)));
    char *path = strstr(own, "0::");
    if (!path) untried("we are in no group");
    path += 3, path[strcspn(path, "\n")] = 0;
    int file = must(open(text("/sys/fs/cgroup%s/cgroup.procs", path), O_WRONLY));
    must(dprintf(file, "%d", getpid()));
    escaped("may move processes between groups");
}
