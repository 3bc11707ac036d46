/* SPDX-License-Identifier: Apache-2.0 */
#include "store/folder.h"

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/list.h"
#include "base/span.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MODE 0700
#define FILE_MODE 0600
#define OF_OTHERS 0077

/* ---- what is in it ---- */

struct content {
    bool store;          /* a file of the store */
    char foreign[64];    /* name of a file that is not the store's; "": none */
    uid_t foreign_owner; /* owner of that file */
};

static bool is_store_file(const char *name)
{
    return strncmp(name, STORE_FILE, strlen(STORE_FILE)) == 0 ||
           strncmp(name, STORE_FILE_HISTORY, strlen(STORE_FILE_HISTORY)) == 0;
}

/* Returns true for lost+found, which a file system makes in its topmost folder. */
static bool is_of_the_file_system(const char *name, const struct stat *st)
{
    return strcmp(name, "lost+found") == 0 && S_ISDIR(st->st_mode) && st->st_uid == 0;
}

static void content_add(struct content *c, int folder_fd, const char *name, uid_t uid)
{
    struct stat st = { 0 };

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || is_of_the_file_system(name, &st))
        return;
    if (is_store_file(name) && S_ISREG(st.st_mode) && st.st_uid == uid) {
        c->store = true;
        return;
    }
    span_copy(span_of(name), c->foreign, sizeof(c->foreign));
    c->foreign_owner = st.st_uid;
}

/* Looks for files of the store and for other files. Returns 0 or -errno with @err. */
static int content_read(int folder_fd, const char *path, uid_t uid, struct content *ret,
                        struct error *err)
{
    _cleanup_closedir_ DIR *dir = dir_open(folder_fd, ".");
    const struct dirent *entry;

    *ret = (struct content){ 0 };
    if (!dir)
        return error_errno(err, "cannot read the store's folder '%s'", path);
    while (!ret->foreign[0] && (entry = readdir(dir)))
        content_add(ret, folder_fd, entry->d_name, uid);
    return 0;
}

/* ---- its owner ---- */

/* Returns true for a system folder that users share, although it may be empty now. */
static bool is_shared(const struct stat *st)
{
    static const char *const SHARED[] = {
        "/",     "/tmp", "/var/tmp", "/dev", "/dev/shm", "/run", "/run/lock", "/var",  "/var/lib",
        "/home", "/mnt", "/media",   "/srv", "/opt",     "/etc", "/usr",      "/root",
    };
    struct stat shared;

    return ANY_OF(i, ARRAY_SIZE(SHARED),
                  stat(SHARED[i], &shared) == 0 && shared.st_dev == st->st_dev &&
                      shared.st_ino == st->st_ino);
}

static int refuse(struct error *err, const char *remedy)
{
    error_remedy(err, "%s", remedy);
    return -EPERM;
}

#define REMEDY_EMPTY "name an empty folder, or one that is not there yet, with --store"

static int refuse_shared(const char *path, struct error *err)
{
    error_set(err, -EPERM, "the store's folder cannot be '%s', which other programs use too", path);
    return refuse(err, "name a folder below it with --store, such as DIR/flamed");
}

static int refuse_content(const char *path, const struct content *c, struct error *err)
{
    error_set(err, -EPERM,
              "the store's folder '%s' is root's and holds '%s', which is no file of the store (it "
              "belongs to user %u): flamed would take it from its users",
              path, c->foreign, c->foreign_owner);
    return refuse(err, REMEDY_EMPTY);
}

static int refuse_owner(const char *path, uid_t owner, uid_t uid, gid_t gid, struct error *err)
{
    error_set(err, -EPERM, "the store's folder '%s' belongs to user %u, not to flamed's user %u",
              path, owner, uid);
    error_remedy(err,
                 "name another with --store, or give flamed this one with all its files: chown -R "
                 "%u:%u '%s'",
                 uid, gid, path);
    return -EPERM;
}

/* Gives root's folder to @uid. First closes the folder to others and checks its content again, as
 * others could add files before. */
static int hand_over(int fd, const char *path, const struct stat *st, uid_t uid, gid_t gid,
                     struct error *err)
{
    struct content c;
    int r = content_read(fd, path, uid, &c, err);

    if (r < 0)
        return r;
    if (c.foreign[0])
        return refuse_content(path, &c, err);
    if (fchmod(fd, FOLDER_MODE) < 0)
        return errno == EROFS
                   ? 0 /* /readyz reports the failure; all else works */
                   : error_errno(err, "cannot close the store's folder '%s' to others", path);
    r = content_read(fd, path, uid, &c, err);
    if (r == 0 && c.foreign[0])
        r = refuse_content(path, &c, err);
    if (r == 0 && fchown(fd, uid, gid) < 0)
        r = error_errno(err, "cannot give the store's folder '%s' to user %u", path, uid);
    if (r < 0 && fchmod(fd, st->st_mode & 07777) < 0)
        error_remedy(err, "its mode was %04o, and could not be set again", st->st_mode & 07777);
    return r;
}

int store_folder_open(const char *path, uid_t uid, gid_t gid, int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = -1;
    struct stat st;
    int r = 0;

    if (mkdir(path, FOLDER_MODE) < 0 && errno != EEXIST) {
        r = error_errno(err, "cannot make the store's folder '%s'", path);
        error_remedy(err, "make its parent, or name another with --store");
        return r;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "cannot open the store's folder '%s'", path);
    if (is_shared(&st))
        return refuse_shared(path, err);
    if (st.st_uid != uid) {
        if (st.st_uid != 0 || geteuid() != 0)
            return refuse_owner(path, st.st_uid, uid, gid, err);
        r = hand_over(fd, path, &st, uid, gid, err);
    }
    if (r < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* ---- who may look into it ---- */

static int narrow(int fd, mode_t mode, const char *path, const char *name, struct error *err)
{
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "cannot look at '%s/%s'", path, name);
    if (st.st_uid != geteuid() || (st.st_mode & OF_OTHERS) == 0)
        return 0;
    if (fchmod(fd, mode) < 0 && errno == EROFS)
        return 0;
    if (fstat(fd, &st) == 0 && (st.st_mode & OF_OTHERS) == 0)
        return 0;
    r = error_set(
        err, -EPERM,
        "the store '%s/%s' can be read by others, and its mode cannot be changed from %04o", path,
        name, st.st_mode & 07777);
    error_remedy(err, "name a folder with --store whose file system keeps rights");
    return r;
}

int store_folder_narrow(int folder_fd, const char *path, struct error *err)
{
    _cleanup_closedir_ DIR *dir = dir_open(folder_fd, ".");
    int r = narrow(folder_fd, FOLDER_MODE, path, ".", err);
    const struct dirent *entry;

    while (dir && r == 0 && (entry = readdir(dir))) {
        _cleanup_close_ int fd = -1;
        struct stat st;

        if (!is_store_file(entry->d_name))
            continue;
        fd = openat(folder_fd, entry->d_name,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            r = narrow(fd, FILE_MODE, path, entry->d_name, err);
    }
    return r;
}
