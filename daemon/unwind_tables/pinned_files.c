/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/pinned_files.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static void unpin(struct pinned_files *p, size_t i)
{
    close_fd(p->files[i].fd);
    p->files[i] = p->files[--p->count];
}

void pinned_files_deinit(struct pinned_files *p)
{
    while (p->count)
        unpin(p, p->count - 1);
}

/* Returns whether only root can change the file. Other users could have any number of their own
 * files kept open. */
static bool is_root_alone(const struct stat *st)
{
    return st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool has_numbers(const struct stat *st, const struct mapping *m)
{
    return st->st_ino == m->inode && major(st->st_dev) == m->dev_major &&
           minor(st->st_dev) == m->dev_minor;
}

static void unpin_oldest(struct pinned_files *p)
{
    size_t oldest = 0;

    for (size_t i = 1; i < p->count; i++) {
        if (p->files[i].used_ns < p->files[oldest].used_ns)
            oldest = i;
    }
    unpin(p, oldest);
}

void pinned_files_add(struct pinned_files *p, int fd, const struct mapping *m,
                      const struct file_identity *identity, uint64_t now_ns)
{
    struct stat st;
    int own;

    if (!identity->inode || fstat(fd, &st) < 0 || !is_root_alone(&st) || !has_numbers(&st, m))
        return;
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return;
    if (p->count == PINNED_FILES_MAX)
        unpin_oldest(p);
    p->files[p->count++] = (struct pinned_file){
        .fd = own,
        .inode = m->inode,
        .dev_major = m->dev_major,
        .dev_minor = m->dev_minor,
        .identity = *identity,
        .used_ns = now_ns,
    };
}

bool pinned_files_find(struct pinned_files *p, const struct mapping *m, uint64_t now_ns,
                       struct file_identity *ret)
{
    struct file_identity now;

    for (size_t i = 0; i < p->count; i++) {
        struct pinned_file *f = &p->files[i];

        if (f->inode != m->inode || f->dev_major != m->dev_major || f->dev_minor != m->dev_minor)
            continue;
        file_identity_of(f->fd, &now);
        if (!file_identity_equal(&now, &f->identity)) {
            unpin(p, i);
            return false;
        }
        f->used_ns = now_ns;
        *ret = now;
        return true;
    }
    return false;
}

void pinned_files_release(struct pinned_files *p, uint64_t now_ns)
{
    for (size_t i = p->count; i > 0; i--) {
        if (now_ns - p->files[i - 1].used_ns >= PINNED_FILES_NS)
            unpin(p, i - 1);
    }
}
