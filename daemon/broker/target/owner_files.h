/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory files that JVMs write, by owner. A process of the JVM's user may put a file's pages
 * into pipes. Those stay charged to us, the file cut or closed, until the pipes end; and nobody can
 * tell. So pages are made for a number of files of each owner and never again. After that its files
 * are used again as they are. The pages that they lack are made when the JVM writes, and charged to
 * its own container.
 *
 * No owner is given another's file. A file is used again when no other process holds it open or
 * mapped, which a lease proves. Thread: the broker's.
 */
#pragma once

#include "agent/stream.h"
#include "base/error.h"

#include <stdbool.h>

#define OWNER_FILES_MAX 8 /* with pages that are charged to us, of one owner: 144 MiB */
#define OWNERS_KEPT 128   /* the ones that were attached to last; others begin again */

struct owner_files;

/* Gives a file of @owner (of proc_owner()) that begins with @h and is sealed against a change of
 * size. Makes the table at the first call.
 * Return: 0, the caller's own descriptor in *ret_fd, and whether its pages are there in *ret_paid.
 * -EDQUOT with a sentence: all of the owner's files are in use, or were spoiled. -errno. */
int owner_files_take(struct owner_files **files, uint64_t owner, const struct stream_header *h,
                     int *ret_fd, bool *ret_paid, struct error *err);
/* Counts a file that is made elsewhere. Return: whether its pages may be charged to us. */
bool owner_files_pay(struct owner_files **files, uint64_t owner);
/* Tells that no container was given what @owner took last, if that was paid for; @mounted: by
 * owner_files_pay(). */
void owner_files_untouched(struct owner_files **files, uint64_t owner, bool mounted);
struct owner_files *owner_files_free(struct owner_files *files);
