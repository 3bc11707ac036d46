/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory files that JVMs write, by owner. A process of the JVM's user may put a file's pages
 * into pipes. Such pages stay charged to us until the pipes end, even if the file is truncated or
 * closed, and we cannot detect that. So we allocate the pages of only a fixed number of files.
 * All owners share that number, and one owner alone gets half of it. We never forget such a file,
 * even if its owner is forgotten. Later, files of the owner are reused as they are, and new ones
 * are made without pages. Missing pages are then allocated when the JVM writes, and charged to its
 * own container.
 *
 * No owner is given another's file. A file is reused when no other process holds it open or mapped,
 * which a lease proves. Thread: the broker's.
 */
#pragma once

#include "agent/stream.h"
#include "base/error.h"

#include <stdbool.h>

#define OWNER_FILES_MAX 8      /* files per owner */
#define OWNER_FILES_PAID_MAX 8 /* files of all owners with pages charged to us: 144 MiB */
#define OWNERS_KEPT 128        /* owners with files: the most recently attached */

struct owner_files;

/* Gets a file of @owner (of proc_owner()) that begins with @h and is sealed against a change of
 * size. Makes the table at the first call. Return: 0, the caller's own descriptor in *ret_fd, and
 * in *ret_paid whether its pages are allocated. -EDQUOT with a sentence: all of the owner's files
 * are in use or spoiled. -errno. */
int owner_files_take(struct owner_files **files, uint64_t owner, const struct stream_header *h,
                     int *ret_fd, bool *ret_paid, struct error *err);
/* Counts a file that is made elsewhere. Returns true if its pages may be charged to us. */
bool owner_files_pay(struct owner_files **files, uint64_t owner);
/* Records that no container got the file that @owner took last, so that it can be used again.
 * @mounted: the file was counted by owner_files_pay(). */
void owner_files_untouched(struct owner_files **files, uint64_t owner, bool mounted);
struct owner_files *owner_files_free(struct owner_files *files);
