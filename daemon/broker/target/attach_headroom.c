/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/attach_headroom_impl.h"

int attach_headroom_check(const struct server *s, const struct target *t, uint32_t host_uid,
                          uint64_t mappings, struct error *err)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL, limits = BUF_NULL, status = BUF_NULL;
    struct attach_headroom_facts f;
    int r = target_read_proc(t, "cgroup", &cgroup, err) ?:
            target_read_proc(t, "limits", &limits, err) ?:
            target_read_proc(t, "status", &status, err);

    f = (struct attach_headroom_facts){ buf_span(&cgroup), buf_span(&limits), buf_span(&status),
                                        mappings };
    if (r == 0)
        r = attach_headroom_check_threads(s, t, &f, host_uid, err);
    return r ? r : attach_headroom_check_memory(s, t, &f, err);
}
