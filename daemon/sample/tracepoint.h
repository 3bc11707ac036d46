/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's tracepoints, as tracefs lists them. Thread: any. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* Mounts tracefs for this process alone, for the functions below, unless it is mounted already.
 * Before Linux 6.0, a second mount resets the mode of the first one, so an existing mount is used.
 * Needs CAP_SYS_ADMIN and Linux 5.2; without them, tracepoints are found once tracefs is mounted.
 * Call it once, before other threads start. */
void tracepoint_prepare(void);
/* Lists the tracepoints into @ret, GROUP:NAME a line, up to its ceiling. Return: 0. -ENOENT:
 * tracefs is not mounted. -errno. With @err. */
int tracepoint_list(struct buf *ret, struct error *err);
/* Finds the number of the tracepoint @name of @group; event_form_parse() accepted both words.
 * Return: 0. -ENOENT: there is none, or tracefs is not mounted. -errno. With @err. */
int tracepoint_id(struct span group, struct span name, uint64_t *ret_id, struct error *err);
/* Reads the description of its fields into @ret. Return: as above; -EFBIG: it is longer than @ret's
 * ceiling. */
int tracepoint_format(struct span group, struct span name, struct buf *ret, struct error *err);
