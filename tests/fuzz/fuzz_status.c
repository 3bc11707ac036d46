/* SPDX-License-Identifier: Apache-2.0 */
/* The small files of /proc/PID: status, stat, uid_map, timens_offsets. */
#include "proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size };
    struct proc_status status;
    struct proc_stat stat;

    if (proc_status_parse(text, &status) == 0) {
        if ((status.whole && !status.ns_depth) || status.ns_depth > PROC_NS_DEPTH_MAX ||
            status.tgid < 0)
            abort();
        for (size_t i = 0; i < status.ns_depth; i++) {
            if (status.ns_pid[i] < 0)
                abort();
        }
    }
    if (proc_stat_parse(text, &stat) == 0 && strlen(stat.comm) >= sizeof(stat.comm))
        abort();
    if (id_map_inside(text, 1000) > UINT32_MAX)
        abort();
    timens_boottime_ns(text);
    return 0;
}
