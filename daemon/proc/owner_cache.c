/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/owner_cache.h"

#include "base/clock.h"
#include "base/shares.h"

uint64_t owner_cache_get(struct owner_cache *c, int proc_fd, const struct proc_id *id,
                         uint64_t max_age_ns)
{
    size_t i = (uint32_t)id->host_pid % OWNER_CACHE_SLOTS;
    uint64_t now_ns = clock_monotonic_ns();
    bool unread = c->slots[i].owner == OWNER_FOREIGN;

    if (!id->start_ticks)
        return proc_owner_now(proc_fd, id);
    if (!c->slots[i].owner || !proc_id_equal(&c->slots[i].id, id) ||
        now_ns - c->slots[i].at_ns > (unread ? MIN(max_age_ns, OWNER_UNREAD_NS) : max_age_ns)) {
        c->slots[i].id = *id;
        c->slots[i].owner = proc_owner_now(proc_fd, id);
        c->slots[i].at_ns = now_ns;
    }
    return c->slots[i].owner;
}
