/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_exit.h"

#include "base/fds.h"
#include "base/log.h"
#include "notify.h"
#include "proc/looking.h"
#include "proc/stall_readers.h"
#include "quarantine/quarantine.h"

#include <unistd.h>

/* Checks, one per second, without a sign of life from the engine. Time during which the whole
 * machine was stopped does not count. flamed gives up a silent broker sooner. */
#define GIVE_UP_LOOKS 30

/* Closes connections, the store and the way to the broker, then ends. A thread stuck in the kernel
 * keeps the process, and its open files, until the kernel releases it. */
static _Noreturn void leave_behind(int status)
{
    fds_close(0, ~0U);
    _exit(status);
}

static void note(const struct stall_exit *st, const struct readers_stats *readers)
{
    for (size_t i = 0; i < readers->held; i++) {
        int r = quarantine_add(st->notes_fd, readers->who[i].owner, &readers->who[i].id,
                               readers->who[i].jvm);

        if (r < 0)
            log_err_errno(r, "cannot note that process %d is to be quarantined",
                          readers->who[i].id.host_pid);
    }
}

/* Adds the process that the engine is stalled at to the quarantine's notes. */
static void note_stall(const struct stall_exit *st, unsigned stands_s)
{
    struct looking at;
    int r;

    looking_get(&at);
    if (at.at == LOOKING_NOWHERE) {
        log_err("flamed ends: its engine made no progress for %u s, while %s", stands_s,
                looking_text(at.at));
        return;
    }
    r = quarantine_add(st->notes_fd, at.owner, &at.id, at.jvm);
    log_err("flamed ends: its engine made no progress for %u s, while %s of process %d; the next "
            "flamed quarantines its owner for an hour",
            stands_s, looking_text(at.at), at.id.host_pid);
    if (r < 0)
        log_err_errno(r, "cannot note that process %d is to be quarantined", at.id.host_pid);
}

void stall_exit_look(void *cookie, unsigned stands_s)
{
    struct stall_exit *st = cookie;
    struct readers_stats readers;

    readers_stats(&readers);
    if (readers.held == READERS_MAX) {
        note(st, &readers);
        log_err("flamed ends, because %d readings of processes do not come back: file systems do "
                "not answer; the next flamed quarantines them for an hour",
                READERS_MAX);
        leave_behind(1);
    }
    st->looks = stands_s ? st->looks + 1 : 0;
    if (st->looks >= GIVE_UP_LOOKS) {
        note_stall(st, stands_s);
        leave_behind(1);
    }
    if (!stands_s)
        notify_send(st->notify_fd, "WATCHDOG=1");
}

void stall_exit_end(int status)
{
    struct readers_stats readers;

    readers_stats(&readers);
    if (readers.held)
        leave_behind(status);
}
