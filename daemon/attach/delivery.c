/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/delivery.h"

#include "proc/proc.h"

#include <errno.h>

/* Returns whether a copy in /tmp may work if the memfd does not. */
static bool copy_helps(const struct attach_way *w, const struct attach_places *places)
{
    return !w->tmp && !(places->known && (places->no_proc || places->noexec_tmp));
}

bool attach_way_next(struct attach_way *w, int result, const struct attach_places *places,
                     bool may_mount)
{
    if (may_mount && result == -EROFS && !w->tmp) { /* the JVM has no place for its socket */
        w->tmp = true;
        return true;
    }
    if (w->mode == ATTACH_LOAD && result == -ENOEXEC) {
        w->mode = may_mount && !copy_helps(w, places) ? ATTACH_MOUNT : ATTACH_COPY;
        return true;
    }
    /* The agent was loaded but could not open the memory file, or the agent could not be copied or
     * loaded. */
    if (may_mount && (w->mode == ATTACH_COPY || w->mode == ATTACH_LOAD) &&
        (result == -ENOEXEC || result == -EACCES || result == -EPERM || result == -EEXIST ||
         result == -ENOSPC)) {
        w->mode = ATTACH_MOUNT;
        return true;
    }
    return false;
}

const char *attach_way_text(const struct attach_way *w)
{
    if (w->mode == ATTACH_MOUNT)
        return w->tmp ? " with an agent and a /tmp that were mounted in its container for a while"
                      : " with an agent that was mounted in its container for a while";
    if (w->tmp)
        return " with a /tmp that was mounted in its container for a while";
    return w->mode == ATTACH_COPY ? " with a copy of the agent in its /tmp" : "";
}

struct attach_places attach_places_read(struct span mountinfo)
{
    struct mountinfo m, root = { 0 }, tmp = { 0 };
    bool proc = false, has_tmp = false;

    /* A later mount covers an earlier mount at the same place. */
    while (mountinfo_take(&mountinfo, &m)) {
        if (span_eq_str(m.point, "/")) {
            root = m;
        } else if (span_eq_str(m.point, "/tmp")) {
            tmp = m;
            has_tmp = true;
        } else if (span_eq_str(m.point, "/proc")) {
            proc = span_eq_str(m.type, "proc");
        }
    }
    if (!has_tmp)
        tmp = root;
    return (struct attach_places){
        .known = root.point.n > 0,
        .no_proc = !proc,
        .read_only_tmp = tmp.read_only,
        .noexec_tmp = tmp.noexec,
    };
}
