/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the unwinder's tables: rows and processes go to the BPF maps through memory
 * that flamed shares with the broker. Blocks for the broker's answers. Thread: any.
 */
#pragma once

#include "base/error.h"
#include "unwind/context.h"
#include "unwind/process.h"

struct broker;
struct proc_id;

#define BROKER_ROWS_MAX (2u << 20) /* size of the table of rows */

/* Writes @count rows from index @first on. 0; -EINVAL: outside the table; -errno. */
int broker_put_rows(struct broker *b, uint32_t first, const struct unwind_row *rows, uint32_t count,
                    struct error *err);
/* Maps the BPF programs' table of rows for reading. It stays mapped for good, and every call
 * returns the same. 0 or -errno. */
int broker_rows(struct broker *b, const struct unwind_row **ret, struct error *err);
/* Describes process @host_pid to the unwinder; NULL forgets it. 0 or -errno. */
int broker_put_process(struct broker *b, int32_t host_pid, const struct unwind_process *p,
                       struct error *err);
/* Describes where the threads of the JVM @id keep their requests; NULL forgets it. 0; PROC_GONE;
 * -EINVAL: the description has a wrong form; -errno. */
int broker_put_context(struct broker *b, const struct proc_id *id, const struct context_path *path,
                       struct error *err);
/* Stores the address of the JavaThread of thread @host_tid of @host_pid. 0 or -errno. */
int broker_put_thread(struct broker *b, int32_t host_pid, int32_t host_tid, uint64_t java_thread,
                      struct error *err);
