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

/* Writes @count rows from index @first on. Returns 0, -EINVAL if the rows are outside the table, or
 * another -errno. */
int broker_put_rows(struct broker *b, uint32_t first, const struct unwind_row *rows, uint32_t count,
                    struct error *err);
/* Maps the BPF programs' table of rows for reading. The table is never unmapped, and every call
 * returns the same address. Returns 0 or -errno. */
int broker_rows(struct broker *b, const struct unwind_row **ret, struct error *err);
/* Describes process @host_pid to the unwinder; NULL removes the description. Returns 0 or -errno.
 */
int broker_put_process(struct broker *b, int32_t host_pid, const struct unwind_process *p,
                       struct error *err);
/* Describes where the threads of the JVM @id keep their requests; NULL removes the description.
 * Returns 0, PROC_GONE, -EINVAL if the description is malformed, or another -errno. */
int broker_put_context(struct broker *b, const struct proc_id *id, const struct context_path *path,
                       struct error *err);
/* Stores the address of the JavaThread of thread @host_tid of @host_pid. Returns 0 or -errno. */
int broker_put_thread(struct broker *b, int32_t host_pid, int32_t host_tid, uint64_t java_thread,
                      struct error *err);
