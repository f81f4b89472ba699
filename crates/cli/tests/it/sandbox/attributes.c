// Changing what is known about a file outside: mode, owner, times, attributes, flags. Landlock alone stops none of these.
#include "attacks.h"
#include <linux/fs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#define FILE_ outside("file")
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

static struct stat before(void) {
    struct stat about;
    must(stat(FILE_, &about));
    return about;
}

// Every change of an inode sets this time, even one to the same value.
static void if_touched(struct stat before) {
    struct stat after;
    must(stat(FILE_, &after));
    if (before.st_ctim.tv_sec != after.st_ctim.tv_sec || before.st_ctim.tv_nsec != after.st_ctim.tv_nsec)
        escaped("the inode changed");
}
static void if_mode(mode_t mode) {
    if ((before().st_mode & 07777) == mode) escaped("the mode is %o", mode);
}
static void if_old(void) {
    if (before().st_mtime == 1000) escaped("the time is another");
}
static void if_attribute(const char *name) {
    char value[8];
    if (getxattr(FILE_, name, value, sizeof value) > 0) escaped("the file has %s", name);
}

ATTEMPT(mode_chmod, "mode", BOTH, ANYONE) { must(chmod(FILE_, 0601)); if_mode(0601); }
ATTEMPT(mode_fchmod, "mode", BOTH, ANYONE) { must(fchmod(must(open(FILE_, O_RDONLY)), 0602)); if_mode(0602); }
ATTEMPT(mode_fchmodat, "mode", BOTH, ANYONE) { must(fchmodat(must(open(outside(""), O_PATH)), "file", 0603, 0)); if_mode(0603); }
ATTEMPT(mode_fchmodat2, "mode", BOTH, ANYONE) { must(syscall(SYS_fchmodat2, must(open(FILE_, O_PATH)), "", 0604, AT_EMPTY_PATH)); if_mode(0604); }
ATTEMPT(mode_through_proc_fd, "mode", BOTH, ANYONE) { must(chmod(text("/proc/self/fd/%ld", must(open(FILE_, O_PATH))), 0605)); if_mode(0605); }
ATTEMPT(mode_setuid, "mode", BOTH, ANYONE) { must(chmod(FILE_, 04711)); if_mode(04711); }
ATTEMPT(mode_through_symlink, "mode", BOTH, ANYONE) {
    must(symlink(FILE_, prepared("link")));
    must(chmod(prepared("link"), 0606));
    if_mode(0606);
}
ATTEMPT(mode_of_directory, "mode", BOTH, ANYONE) {
    struct stat about;
    must(chmod(outside("dir"), 0700));
    if (stat(outside("dir"), &about) == 0 && (about.st_mode & 0777) == 0700) escaped("the directory's mode is 700");
}

ATTEMPT(owner_chown, "owner", BOTH, ANYONE) { struct stat was = before(); must(chown(FILE_, getuid(), getgid())); if_touched(was); }
ATTEMPT(owner_lchown, "owner", BOTH, ANYONE) { struct stat was = before(); must(lchown(FILE_, getuid(), -1)); if_touched(was); }
ATTEMPT(owner_fchown, "owner", BOTH, ANYONE) { struct stat was = before(); must(fchown(must(open(FILE_, O_RDONLY)), -1, getgid())); if_touched(was); }
ATTEMPT(owner_fchownat, "owner", BOTH, ANYONE) {
    struct stat was = before();
    must(fchownat(must(open(FILE_, O_PATH)), "", getuid(), getgid(), AT_EMPTY_PATH));
    if_touched(was);
}
ATTEMPT(owner_to_another_user, "owner", BOTH, ROOT) { must(chown(FILE_, 12345, 12345)); if (before().st_uid == 12345) escaped("it belongs to another"); }

ATTEMPT(times_utimensat, "times", BOTH, ANYONE) {
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    must(utimensat(AT_FDCWD, FILE_, times, 0));
    if_old();
}
ATTEMPT(times_futimens, "times", BOTH, ANYONE) {
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    must(futimens(must(open(FILE_, O_RDONLY)), times));
    if_old();
}
#ifdef SYS_utimes
ATTEMPT(times_utimes, "times", BOTH, ANYONE) { struct timeval times[2] = {{1000, 0}, {1000, 0}}; must(syscall(SYS_utimes, FILE_, times)); if_old(); }
ATTEMPT(times_utime, "times", BOTH, ANYONE) { struct utimbuf times = {1000, 1000}; must(syscall(SYS_utime, FILE_, &times)); if_old(); }
ATTEMPT(times_futimesat, "times", BOTH, ANYONE) { struct timeval times[2] = {{1000, 0}, {1000, 0}}; must(syscall(SYS_futimesat, AT_FDCWD, FILE_, times)); if_old(); }
#endif
ATTEMPT(times_by_touch, "times", BOTH, ANYONE) { run("touch", "-d", "@1000", FILE_, NULL); if_old(); }

ATTEMPT(attribute_set, "attribute", BOTH, ANYONE) { must(setxattr(FILE_, "user.windlass", "x", 1, 0)); if_attribute("user.windlass"); }
ATTEMPT(attribute_set_on_link, "attribute", BOTH, ANYONE) { must(lsetxattr(FILE_, "user.windlass", "x", 1, 0)); if_attribute("user.windlass"); }
ATTEMPT(attribute_set_on_descriptor, "attribute", BOTH, ANYONE) { must(fsetxattr(must(open(FILE_, O_RDONLY)), "user.windlass", "x", 1, 0)); if_attribute("user.windlass"); }
ATTEMPT(attribute_set_at, "attribute", BOTH, ANYONE) {
    struct { unsigned long value; unsigned size, flags; } arguments = {(unsigned long)"x", 1, 0};
    must(syscall(SYS_setxattrat, AT_FDCWD, FILE_, 0, "user.windlass", &arguments, sizeof arguments));
    if_attribute("user.windlass");
}
ATTEMPT(attribute_access_list, "attribute", BOTH, ANYONE) {
    // An access list as the kernel stores it: version 2, and entries of tag, permission, identity.
    struct { unsigned version; struct { unsigned short tag, permission; unsigned who; } entries[5]; } list = {
        2, {{1, 6, -1}, {2, 7, 12345}, {4, 4, -1}, {16, 7, -1}, {32, 4, -1}}};
    must(setxattr(FILE_, "system.posix_acl_access", &list, sizeof list, 0));
    char value[256];
    if (getxattr(FILE_, "system.posix_acl_access", value, sizeof value) > 0) escaped("another user may write to it");
}
ATTEMPT(attribute_capability, "attribute", BOTH, ROOT) {
    struct { unsigned magic, permitted, inheritable, permitted2, inheritable2; } value = {0x02000001, 1 << 13, 0, 0, 0};
    must(setxattr(FILE_, "security.capability", &value, sizeof value, 0));
    if_attribute("security.capability");
    escaped("the file has a capability");
}
ATTEMPT(attribute_trusted, "attribute", BOTH, ROOT) { must(setxattr(FILE_, "trusted.windlass", "x", 1, 0)); if_attribute("trusted.windlass"); }

ATTEMPT(flags_set, "flags", BOTH, ANYONE) {
    int file = must(open(FILE_, O_RDONLY)), flags = 0, now = 0;
    must(ioctl(file, FS_IOC_GETFLAGS, &flags));
    flags |= FS_NODUMP_FL;
    must(ioctl(file, FS_IOC_SETFLAGS, &flags));
    ioctl(file, FS_IOC_GETFLAGS, &now);
    if (now & FS_NODUMP_FL) escaped("the file has another flag");
}
ATTEMPT(flags_set_extended, "flags", BOTH, ANYONE) {
    struct fsxattr about;
    int file = must(open(FILE_, O_RDONLY));
    must(ioctl(file, FS_IOC_FSGETXATTR, &about));
    about.fsx_xflags |= FS_XFLAG_NODUMP;
    must(ioctl(file, FS_IOC_FSSETXATTR, &about));
    must(ioctl(file, FS_IOC_FSGETXATTR, &about));
    if (about.fsx_xflags & FS_XFLAG_NODUMP) escaped("the file has another flag");
}
ATTEMPT(flags_set_by_path, "flags", BOTH, ANYONE) {
    struct { unsigned long flags; unsigned extent, files, project, cow; } about = {FS_XFLAG_NODUMP, 0, 0, 0, 0};
    must(syscall(SYS_file_setattr, AT_FDCWD, FILE_, &about, sizeof about, 0));
    int flags = 0;
    must(ioctl(must(open(FILE_, O_RDONLY)), FS_IOC_GETFLAGS, &flags));
    if (flags & FS_NODUMP_FL) escaped("the file has another flag");
}
ATTEMPT(flags_immutable, "flags", BOTH, ROOT) {
    int file = must(open(FILE_, O_RDONLY)), flags = 0;
    must(ioctl(file, FS_IOC_GETFLAGS, &flags));
    int with = flags | FS_IMMUTABLE_FL;
    must(ioctl(file, FS_IOC_SETFLAGS, &with));
    must(ioctl(file, FS_IOC_SETFLAGS, &flags));
    escaped("the file could be made immutable");
}
// A number that network file systems tell a file from its successor by.
ATTEMPT(flags_version_of_file, "flags", BOTH, ANYONE) {
    int file = must(open(FILE_, O_RDONLY));
    long before = 0, after = 0;
    must(ioctl(file, FS_IOC_GETVERSION, &before));
    after = before + 1;
    must(ioctl(file, FS_IOC_SETVERSION, &after));
    must(ioctl(file, FS_IOC_GETVERSION, &after));
    if ((int)after == (int)before + 1) escaped("the file has another version");
}
