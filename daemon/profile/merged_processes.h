/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of merged profiles: a row for each process image, with its latest facts. Private to
 * profile/.
 */
#pragma once

#include "base/id_table.h"
#include "profile/profile.h"

struct merged_processes {
    struct id_table images;     /* struct merged_image */
    struct merged_facts *facts; /* [facts_cap]: by image */
    size_t facts_cap;
};

void merged_processes_init(struct merged_processes *m);
void merged_processes_deinit(struct merged_processes *m);
/* Finds or adds @process: *ret is its id in @r; its strings are of the table of @r. @known_ns: the
 * time of the profile that has @process. For an image that @r already has, the newest nonempty
 * string of each kind stays. Rows that stand for several processes (host_pid 0) are joined only if
 * all facts are equal. 0, -ENOSPC or -ENOMEM. */
int merged_process_add(struct merged_processes *m, struct record *r,
                       const struct profile_process *process, uint64_t known_ns, uint32_t *ret);
