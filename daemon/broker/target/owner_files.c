/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/owner_files.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/shares.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

struct owner_files {
    struct owner {
        uint64_t owner; /* 0: free */
        uint64_t used_ns;
        int fd[OWNER_FILES_MAX];     /* [count] in use; -1: the file is spoiled */
        bool whole[OWNER_FILES_MAX]; /* no container has had the file yet, and all its pages
                                      * exist */
        unsigned count, last;        /* last: index of the last file taken */
        bool last_paid;
    } owners[OWNERS_KEPT];
    struct shares paid; /* files with pages charged to us */
};

static void drop_files(struct owner *o)
{
    for (unsigned i = 0; i < o->count; i++)
        close_fd(o->fd[i]);
    *o = (struct owner){ 0 };
}

/* Finds the entry of @owner, or replaces the least recently used one. NULL: no memory. */
static struct owner *find_owner(struct owner_files **files, uint64_t owner)
{
    struct owner *found;

    if (!*files) {
        *files = calloc(1, sizeof(**files));
        if (*files)
            shares_init(&(*files)->paid, OWNER_FILES_PAID_MAX);
        signal(SIGIO, SIG_IGN); /* the kernel sends it for broken leases; these are held only
                                 * briefly */
    }
    if (!*files)
        return NULL;
    found = (*files)->owners;
    for (size_t i = 0; i < OWNERS_KEPT; i++) {
        struct owner *o = &(*files)->owners[i];

        if (o->owner == owner) {
            found = o;
            break;
        }
        if (o->used_ns < found->used_ns)
            found = o;
    }
    if (found->owner != owner)
        drop_files(found);
    found->owner = owner;
    found->used_ns = clock_monotonic_ns();
    return found;
}

/* Makes a file; with @paid, all its pages. */
static int make_file(const struct stream_header *h, bool paid, int *ret_fd, struct error *err)
{
    _cleanup_close_ int made = memfd_open("flamed-stream", MEMFD_DATA), fd = -1;
    int r = made < 0 ? made : 0;

    if (r == 0 && (ftruncate(made, (off_t)STREAM_BYTES) < 0 ||
                   (paid && fallocate(made, 0, 0, (off_t)STREAM_BYTES) < 0)))
        r = -errno;
    if (r == 0 && pwrite(made, h, sizeof(*h), 0) != (ssize_t)sizeof(*h))
        r = -EIO;
    if (r == 0 && fcntl(made, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        r = -errno;
    if (r == 0) {
        fd = memfd_open_again(made, O_RDWR);
        r = fd < 0 ? fd : 0;
    }
    if (r < 0)
        return error_code(err, r, "cannot make a memory file for the JVM");
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Writes a new header into a file that no other process has, and empties the file unless it is
 * @whole. The first page stays: a new one would be charged to us. 0; -ESTALE: a process has taken
 * that page out. */
static int clear_file(int fd, bool whole, const struct stream_header *h)
{
    if (lseek(fd, 0, SEEK_DATA) != 0)
        return -ESTALE;
    if (!whole && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)STREAM_TABLE_AT,
                            (off_t)(STREAM_BYTES - STREAM_TABLE_AT)) < 0)
        return -errno;
    return pwrite(fd, h, sizeof(*h), 0) == (ssize_t)sizeof(*h) ? 0 : -EIO;
}

/* Takes one of @o's files that no process has, among those that are @whole or not. Return: 0 and
 * its index in @o->last, or -EDQUOT. */
static int use_again(struct owner *o, bool whole, const struct stream_header *h)
{
    for (unsigned i = 0; i < o->count; i++) {
        int r;

        if (o->fd[i] < 0 || o->whole[i] != whole || fcntl(o->fd[i], F_SETLEASE, F_WRLCK) < 0)
            continue;
        r = clear_file(o->fd[i], whole, h);
        fcntl(o->fd[i], F_SETLEASE, F_UNLCK);
        if (r == 0) {
            o->last = i;
            return 0;
        }
        o->fd[i] = close_fd(o->fd[i]);
    }
    return -EDQUOT;
}

static int refuse(const struct owner *o, struct error *err)
{
    error_set(
        err, -EDQUOT,
        "processes of this JVM's container or user still hold all %u memory files that flamed "
        "has for them",
        o->count);
    error_remedy(err, "wait until its other JVMs close them, which they do when they next compile "
                      "a method; symbols=memory needs no attach");
    return -EDQUOT;
}

static int add_file(struct owner *o, const struct stream_header *h, bool paid, struct error *err)
{
    int r = make_file(h, paid, &o->fd[o->count], err);

    if (r == 0)
        o->last = o->count++;
    return r;
}

/* Takes a file with all its pages: a file that no container has had yet, or a new file. */
static int take_paid(struct owner *o, struct shares *paid, const struct stream_header *h,
                     struct error *err)
{
    int r = use_again(o, /* whole= */ true, h);

    if (r == 0 || o->count == OWNER_FILES_MAX || !shares_take(paid, o->owner, 1))
        return r;
    r = add_file(o, h, /* paid= */ true, err);
    if (r < 0)
        shares_give(paid, o->owner, 1);
    return r;
}

/* Takes a file without pages: the container is charged for those that its JVM writes. */
static int take_unpaid(struct owner *o, const struct stream_header *h, struct error *err)
{
    int r = use_again(o, /* whole= */ false, h);

    return r == 0 || o->count == OWNER_FILES_MAX ? r : add_file(o, h, /* paid= */ false, err);
}

int owner_files_take(struct owner_files **files, uint64_t owner, const struct stream_header *h,
                     int *ret_fd, bool *ret_paid, struct error *err)
{
    struct owner *o = find_owner(files, owner);
    int r;

    if (!o)
        return -ENOMEM;
    r = take_paid(o, &(*files)->paid, h, err);
    o->last_paid = r == 0;
    if (r == -EDQUOT)
        r = take_unpaid(o, h, err);
    if (r < 0)
        return r == -EDQUOT ? refuse(o, err) : r;
    o->whole[o->last] = o->last_paid;
    r = memfd_open_again(o->fd[o->last], O_RDWR);
    if (r < 0)
        return error_code(err, r, "cannot open the JVM's memory file");
    o->whole[o->last] = false;
    *ret_fd = r;
    *ret_paid = o->last_paid;
    return 0;
}

bool owner_files_pay(struct owner_files **files, uint64_t owner)
{
    struct owner *o = find_owner(files, owner);

    return o && shares_take(&(*files)->paid, owner, 1);
}

void owner_files_untouched(struct owner_files **files, uint64_t owner, bool mounted)
{
    struct owner *o = find_owner(files, owner);

    if (!o)
        return;
    if (mounted)
        shares_give(&(*files)->paid, owner, 1);
    else
        o->whole[o->last] = o->last_paid;
}

struct owner_files *owner_files_free(struct owner_files *files)
{
    for (size_t i = 0; files && i < OWNERS_KEPT; i++)
        drop_files(&files->owners[i]);
    free(files);
    return NULL;
}
