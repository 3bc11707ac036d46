/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/attach_headroom_impl.h"

int room_check(const struct server *s, const struct target *t, uint32_t host_uid, struct error *err)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL, limits = BUF_NULL, status = BUF_NULL;
    struct room_facts f;
    int r = target_read_proc(t, "cgroup", &cgroup, err);

    if (r == 0)
        r = target_read_proc(t, "limits", &limits, err);
    if (r == 0)
        r = target_read_proc(t, "status", &status, err);
    f = (struct room_facts){ buf_span(&cgroup), buf_span(&limits), buf_span(&status) };
    if (r == 0)
        r = room_check_threads(s, t, &f, host_uid, err);
    return r ? r : room_check_memory(s, t, &f, err);
}
