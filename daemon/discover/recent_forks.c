/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/recent_forks.h"

static struct recent_note *note_at(struct recent *r, int32_t host_pid)
{
    return &r->notes[(uint32_t)host_pid & (RECENT_NOTES - 1)];
}

const struct recent_note *recent_find(const struct recent *r, int32_t host_pid)
{
    const struct recent_note *n = &r->notes[(uint32_t)host_pid & (RECENT_NOTES - 1)];

    return n->host_pid == host_pid ? n : NULL;
}

static void queue_due(struct recent *r, struct recent_note *n, uint64_t due_ns)
{
    if (r->head - r->tail == RECENT_NOTES) { /* drop the oldest note */
        r->tail++;
        r->missed++;
    }
    r->queue[r->head++ & (RECENT_NOTES - 1)] = (struct recent_due){ n->host_pid, due_ns };
    n->due_ns = due_ns;
}

void recent_fork(struct recent *r, int32_t host_pid, uint64_t time_ns, uint64_t due_ns)
{
    struct recent_note *n = note_at(r, host_pid);

    if (n->host_pid && n->host_pid != host_pid && n->due_ns != UINT64_MAX)
        r->missed++;
    *n = (struct recent_note){ .host_pid = host_pid, .fork_ns = time_ns };
    queue_due(r, n, due_ns);
}

void recent_exec(struct recent *r, int32_t host_pid, uint64_t time_ns, uint64_t due_ns)
{
    struct recent_note *n = note_at(r, host_pid);

    if (n->host_pid != host_pid) {
        if (n->host_pid && n->due_ns != UINT64_MAX)
            r->missed++;
        *n = (struct recent_note){ .host_pid = host_pid };
    }
    n->execs++;
    n->exec_ns = time_ns;
    queue_due(r, n, due_ns);
}

void recent_forget(struct recent *r, int32_t host_pid)
{
    struct recent_note *n = note_at(r, host_pid);

    if (n->host_pid == host_pid)
        *n = (struct recent_note){ 0 };
}

int32_t recent_take_due(struct recent *r, uint64_t now_ns)
{
    while (r->tail != r->head) {
        struct recent_due due = r->queue[r->tail & (RECENT_NOTES - 1)];
        struct recent_note *n = note_at(r, due.host_pid);

        if (due.due_ns > now_ns)
            return 0;
        r->tail++;
        if (n->host_pid == due.host_pid && n->due_ns == due.due_ns) {
            n->due_ns = UINT64_MAX;
            return n->host_pid;
        }
    }
    return 0;
}
