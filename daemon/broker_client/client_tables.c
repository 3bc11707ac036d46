/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that fill the unwinder's tables, through memory shared with the broker. */
#include "broker_client/client.h"

#include "base/cleanup.h"
#include "base/lock.h"

#include <sys/mman.h>
#include <sys/stat.h>

static int map_tables(struct broker *b, struct error *err)
{
    struct broker_request q = { .kind = BROKER_TABLES };
    _cleanup_close_ int fd = -1;
    struct broker_answer a;
    struct stat st;
    size_t count = 0;
    void *p;
    int r;

    if (b->tables)
        return 0;
    r = client_call_locked(b, &q, &a, &fd, 1, &count, err);
    if (r < 0)
        return r;
    if (fstat(fd, &st) < 0 || (size_t)st.st_size != BROKER_TABLES_BYTES)
        return error_set(err, -EPROTO, "flamed-broker's tables are of another size");
    p = mmap(NULL, BROKER_TABLES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return error_errno(err, "cannot map the unwinder's tables");
    b->tables = p;
    return 0;
}

/* Writes @n bytes into the shared memory and calls @q, under one lock. */
static int call_with_table(struct broker *b, struct broker_request *q, const void *p, size_t n,
                           struct error *err)
{
    struct broker_answer a;
    size_t count = 0;
    int r;
    LOCK_SCOPE(&b->lock);

    r = map_tables(b, err);
    if (r != 0)
        return r;
    memcpy(b->tables, p, n);
    return client_call_locked(b, q, &a, NULL, 0, &count, err);
}

int broker_put_rows(struct broker *b, uint32_t first, const struct unwind_row *rows, uint32_t count,
                    struct error *err)
{
    int r = 0;

    if (first > BROKER_ROWS_MAX || count > BROKER_ROWS_MAX - first)
        return error_set(err, -EINVAL, "the rows do not lie in the table");
    for (uint32_t done = 0; r == 0 && done < count;) {
        struct broker_request q = { .kind = BROKER_PUT_ROWS };
        uint32_t n = MIN(count - done, BROKER_TABLES_ROWS);

        q.fields.put_rows = (struct rows_fields){ first + done, first + done + n };
        r = call_with_table(b, &q, rows + done, n * sizeof(*rows), err);
        done += n;
    }
    return r;
}

int broker_rows(struct broker *b, const struct unwind_row **ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    void *p;
    int r;

    if (!b->rows) {
        r = client_open(b, (struct broker_request){ .kind = BROKER_ROWS }, &fd, err);
        if (r < 0)
            return r;
        p = mmap(NULL, BROKER_ROWS_MAX * sizeof(**ret), PROT_READ, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            return error_errno(err, "cannot map the table of rows");
        b->rows = p;
    }
    *ret = b->rows;
    return 0;
}

int broker_put_process(struct broker *b, int32_t host_pid, const struct unwind_process *p,
                       struct error *err)
{
    struct broker_request put = { .kind = BROKER_PUT_PROCESS,
                                  .fields.put_process.host_pid = host_pid };

    if (p)
        return call_with_table(b, &put, p, sizeof(*p), err);
    return client_do(b,
                     (struct broker_request){ .kind = BROKER_FORGET_PROCESS,
                                              .fields.forget_process.host_pid = host_pid },
                     err);
}

int broker_put_context(struct broker *b, const struct proc_id *id, const struct context_path *path,
                       struct error *err)
{
    struct broker_request put = { .kind = BROKER_PUT_CONTEXT,
                                  .fields.put_context.host_pid = id->host_pid,
                                  .fields.put_context.start_ticks = id->start_ticks };

    if (path)
        return call_with_table(b, &put, path, sizeof(*path), err);
    return client_do(b,
                     (struct broker_request){ .kind = BROKER_FORGET_CONTEXT,
                                              .fields.forget_context.host_pid = id->host_pid },
                     err);
}

int broker_put_thread(struct broker *b, int32_t host_pid, int32_t host_tid, uint64_t java_thread,
                      struct error *err)
{
    struct broker_request q = { .kind = BROKER_PUT_THREAD };

    q.fields.put_thread = (struct thread_fields){ host_pid, host_tid, java_thread };
    return client_do(b, q, err);
}
