/* SPDX-License-Identifier: Apache-2.0 */
#include "standstill.h"

#include "base/fds.h"
#include "base/log.h"
#include "broker/left_alone.h"

#include <unistd.h>

#define GIVE_UP_SECONDS (TOUCH_STANDS_LOOKS + 5) /* those who wait have had their answer */
#define ENDING_SECONDS 2

/* The thread that is held keeps the process, and what it has open, until the kernel lets go of it:
 * connections, the store and the way to the broker are closed for that reason. */
static _Noreturn void leave_behind(void)
{
    fds_close(0, ~0U);
    _exit(1);
}

void standstill_held(void *cookie, const struct touch_stand *s)
{
    struct standstill *st = cookie;
    int r;

    if (s->seconds == TOUCH_STANDS_LOOKS)
        log_err("flamed stands still: the %s of process %d lies on a file system that does not "
                "answer host_pid=%d",
                touch_name(s->what), s->id.host_pid, s->id.host_pid);
    if (atomic_load(&st->ending) ? s->seconds < ENDING_SECONDS
                                 : !st->supervised || s->seconds < GIVE_UP_SECONDS)
        return;
    if (s->seconds < TOUCH_STANDS_LOOKS) { /* perhaps it is only slow: the next one sees */
        log_warn("flamed ends in the middle of a reading of process %d, which takes %u s already "
                 "host_pid=%d",
                 s->id.host_pid, s->seconds, s->id.host_pid);
        leave_behind();
    }
    r = left_alone_add(st->notes_fd, s->owner, &s->id, s->what == TOUCH_MEMORY);
    if (r < 0)
        log_err_errno(r, "cannot note that process %d is to be left alone", s->id.host_pid);
    log_err("flamed ends, because a reading of process %d holds it%s host_pid=%d", s->id.host_pid,
            r < 0 ? "" : "; the next one leaves its container alone for an hour", s->id.host_pid);
    leave_behind();
}
