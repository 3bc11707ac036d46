/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/yield_windows.h"

#include "base/list.h"
#include "base/macros.h"

struct yield_window *yield_window_find(struct yield_windows *w, int32_t host_pid)
{
    return FIRST_OF(i, w->of, w->count, w->of[i].id.host_pid == host_pid);
}

struct yield_window *yield_window_begin(struct yield_windows *w, const struct proc_id *id,
                                        uint64_t from_ns)
{
    struct yield_window *found = yield_window_find(w, id->host_pid);

    if (found)
        return proc_id_equal(&found->id, id) ? found : NULL;
    if (w->count == YIELDS_MAX)
        return NULL;
    found = &w->of[w->count++];
    *found = (struct yield_window){
        .id = *id, .from_ns = from_ns, .until_ns = UINT64_MAX, .cutoff_ns = UINT64_MAX
    };
    return found;
}

bool yield_window_replace(struct yield_windows *w, const struct proc_id *id, uint64_t at_ns)
{
    struct yield_window *found = yield_window_find(w, id->host_pid);

    if (!found || found->until_ns != UINT64_MAX || proc_id_equal(&found->id, id))
        return false;
    found->until_ns = found->cutoff_ns = at_ns;
    return true;
}

uint64_t yield_window_part(const struct yield_window *window, bool probed, uint64_t from_ns,
                           uint64_t to_ns)
{
    uint64_t all = to_ns > from_ns ? to_ns - from_ns : 0, from, to, within;

    if (!window)
        return probed ? 0 : all;
    from = MAX(from_ns, window->from_ns);
    to = MIN(to_ns, window->until_ns);
    within = to > from ? to - from : 0;
    return probed ? within : all - MIN(within, all);
}

bool yield_window_takes(const struct yield_window *window, const struct sample_record *rec)
{
    if (!window)
        return false;
    return rec->flush ? rec->flush == window->closing_no : rec->time_ns <= window->cutoff_ns;
}
