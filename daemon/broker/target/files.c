/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files that a container may have made (rules in target.h), and makes memfds.
 */
#include "base/cleanup.h"
#include "broker/target/target.h"
#include "broker/target/trusted_fs.h"
#include "privileged/memfd.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOLDER_MAX 512 /* bytes of a path without its last part; the broker makes all paths */

static int open_how(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = flags | O_CLOEXEC,
        .resolve = resolve | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
}

static int open_below(int root_fd, const char *path, uint64_t flags)
{
    return open_how(root_fd, path, flags, RESOLVE_IN_ROOT);
}

/* Does the same as open_below(), but refuses a file with a mount over it. The owner of the root may
 * mount any visible file over a name, also one that this owner cannot read. The mounted file keeps
 * its own owner. */
static int open_unbound(int root_fd, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    struct span whole = span_of(path);
    size_t slash = span_rfind(whole, '/');
    char folder[FOLDER_MAX];
    _cleanup_close_ int dir_fd = -1;

    if (slash == whole.n)
        return (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    if (slash >= sizeof(folder)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    span_copy((struct span){ path, slash }, folder, sizeof(folder));
    dir_fd = open_below(root_fd, folder, O_PATH | O_DIRECTORY);
    return dir_fd < 0 ? -1 : (int)syscall(SYS_openat2, dir_fd, path + slash + 1, &how, sizeof(how));
}

static bool is_absence(int e)
{
    return e == ENOENT || e == ENOTDIR || e == ELOOP || e == ENAMETOOLONG;
}

/* Returns the latest time at which the file may have been last written. Timestamps of files are
 * coarse: a second or two in file systems without fractions. */
static uint64_t written_ns(const struct stat *st)
{
    uint64_t step_ns = st->st_mtim.tv_nsec ? 50 * NSEC_PER_MSEC : 2 * NSEC_PER_SEC;

    return st->st_mtim.tv_sec < 0 ? 0
                                  : (uint64_t)st->st_mtim.tv_sec * NSEC_PER_SEC +
                                        (uint64_t)st->st_mtim.tv_nsec + step_ns;
}

static int rule_check(const struct stat *st, const char *what, const struct file_rule *rule,
                      struct error *err)
{
    if (!S_ISREG(st->st_mode))
        return error_set(err, -EPERM, "%s is not a regular file", what);
    if (rule->owned && st->st_uid != rule->uid && st->st_uid != 0)
        return error_set(err, -EPERM, "%s belongs to uid %u, not to uid %u or root", what,
                         st->st_uid, rule->uid);
    if (rule->own && st->st_uid != rule->uid)
        return error_set(err, -EPERM, "%s belongs to uid %u, not to uid %u", what, st->st_uid,
                         rule->uid);
    if (rule->readable && rule->uid != 0 && st->st_uid != rule->uid && !(st->st_mode & S_IROTH))
        return error_set(err, -EPERM, "uid %u may not read %s", rule->uid, what);
    if (rule->nameless && st->st_nlink != 0)
        return error_set(err, -EPERM, "%s is not in memory", what);
    if (rule->beside && st->st_uid != rule->beside_uid)
        return error_set(err, -EPERM, "%s belongs to uid %u, the file beside it to uid %u", what,
                         st->st_uid, rule->beside_uid);
    if ((rule->owned || rule->beside) && st->st_nlink != 1)
        return error_set(err, -EPERM, "%s has %ju links, so it may be another file", what,
                         (uintmax_t)st->st_nlink);
    if (rule->inode && (st->st_ino != rule->ino || major(st->st_dev) != rule->dev_major ||
                        minor(st->st_dev) != rule->dev_minor))
        return error_set(err, -ESTALE, "%s is not the file that is mapped", what);
    /* Files of /proc have no size. Reading some has effects: kmsg consumes the log. A container's
     * link may lead to such a file. */
    if (rule->written_since_ns && written_ns(st) < rule->written_since_ns)
        return error_set(err, -ESTALE, "%s was last written before the process began", what);
    if (rule->elf && st->st_size < EI_NIDENT + 2)
        return error_set(err, -EPERM, "%s is not an ELF object", what);
    if (st->st_size < 0 || (uint64_t)st->st_size > rule->max_bytes)
        return error_set(err, -EFBIG, "%s is larger than %ju bytes", what,
                         (uintmax_t)rule->max_bytes);
    return 0;
}

/* Returns true for an ELF file that is no core file, which holds the memory of a crashed
 * process. */
static bool is_elf_object(int fd)
{
    unsigned char head[EI_NIDENT + 2];
    unsigned type;

    if (pread(fd, head, sizeof(head), 0) != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) != 0)
        return false;
    type = head[EI_DATA] == ELFDATA2MSB ? head[EI_NIDENT] * 256u + head[EI_NIDENT + 1]
                                        : head[EI_NIDENT + 1] * 256u + head[EI_NIDENT];
    return type == ET_REL || type == ET_EXEC || type == ET_DYN;
}

int file_open(int path_fd, const char *what, const struct file_rule *rule, int *ret_fd,
              struct error *err)
{
    _cleanup_close_ int fd = -1;
    char link[40];
    struct stat st;
    int r;

    if (fstat(path_fd, &st) < 0)
        return error_errno(err, "cannot look at %s", what);
    r = rule_check(&st, what, rule, err);
    if (r < 0)
        return r;
    if (rule->beside && (!rule->mount || file_mount(path_fd) != rule->mount))
        return error_set(err, -EPERM, "%s is in another mount than the file beside it", what);
    /* The descriptor pins the inode: the opened file is the inspected one. O_NONBLOCK: the open of
     * a file with a lease fails instead of waiting for the lease's holder. */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
    fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "cannot open %s", what);
    if (rule->elf && !is_elf_object(fd))
        return error_set(err, -EPERM, "%s is not an ELF object", what);
    return dependable_file(take_fd(&fd), what, rule->target, ret_fd, err);
}

uint64_t file_mount(int fd)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID))
        return 0;
    return st.stx_mnt_id;
}

/* Opens @path with the links and mounts that @rule allows. */
static int open_path(int root_fd, const char *path, const struct file_rule *rule)
{
    if (rule->owned)
        return open_unbound(root_fd, path);
    if (rule->beside)
        return open_how(root_fd, path, O_PATH | O_NOFOLLOW, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
    return open_below(root_fd, path, O_PATH | (rule->follow ? 0 : O_NOFOLLOW));
}

int root_open(int root_fd, const char *path, const struct file_rule *rule, int *ret_fd,
              struct error *err)
{
    _cleanup_close_ int fd = open_path(root_fd, path, rule);

    if (fd < 0 && errno == EXDEV)
        return error_set(err, -EPERM, "%s is covered by a mount, so it may be another user's file",
                         path);
    if (fd < 0)
        return is_absence(errno) ? BROKER_ABSENT : error_errno(err, "cannot open %s", path);
    return file_open(fd, path, rule, ret_fd, err);
}

int root_open_dir(int root_fd, const char *path, int flags, int *ret_fd, struct error *err)
{
    int fd = open_below(root_fd, path, (uint64_t)(unsigned)flags | O_DIRECTORY);

    if (fd < 0)
        return is_absence(errno) ? BROKER_ABSENT : error_errno(err, "cannot open %s", path);
    *ret_fd = fd;
    return 0;
}

int folder_open_own(int dir_fd, const char *name, uint32_t uid, int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = open_how(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW,
                                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return is_absence(errno) ? BROKER_ABSENT
                                 : error_set(err, -EPERM, "%s may not be opened there", name);
    if (st.st_uid != uid || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return error_set(err, -EPERM, "%s is not a folder of uid %u's own", name, uid);
    *ret_fd = take_fd(&fd);
    return 0;
}

int memfd_of(const char *name, const void *p, size_t n, int *ret_fd, struct error *err)
{
    int r = memfd_sealed(name, MEMFD_DATA, p, n, ret_fd);

    return r < 0 ? error_code(err, r, "cannot make a memory file") : 0;
}
