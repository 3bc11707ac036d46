/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose memory flamed does not read: one reading of it did not come back, and flamed had to be
 * started again (proc/touch.h). All of a container, or one process outside of any. Kept for an hour
 * in the store's folder, in a file of a line each, so that the next flamed knows.
 */
#pragma once

#include "proc/proc.h"

#define LEFT_ALONE_MAX 16 /* the oldest goes */
#define LEFT_ALONE_SECONDS 3600

struct left_alone_one {
    uint64_t key;     /* as patience_key() */
    uint64_t until_s; /* wall clock */
    struct proc_id id;
    bool jvm; /* @id is one: memory of it was being read */
};

struct left_alone {
    int proc_fd;  /* borrowed */
    bool lasting; /* holds as long as this flamed runs, which nobody starts again */
    struct left_alone_one list[LEFT_ALONE_MAX];
    size_t count;
};

/* What is noted below @dir_fd and still holds; nothing where it cannot be read. */
void left_alone_load(int dir_fd, int proc_fd, struct left_alone *ret);
/* Notes the process @id there, too. 0; -ESRCH: its pid is another's by now; -errno. */
int left_alone_add(int dir_fd, int proc_fd, const struct proc_id *id, bool jvm);
/* NULL, or the entry that holds for @id at this moment. Points into @l. Thread: any. */
const struct left_alone_one *left_alone_find(const struct left_alone *l, const struct proc_id *id);
/* How many hold at this moment. Thread: any. */
size_t left_alone_count(const struct left_alone *l);
