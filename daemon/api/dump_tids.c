/* SPDX-License-Identifier: Apache-2.0 */
#include "api/dump_tids.h"

#include "base/cleanup.h"
#include "base/dir.h"
#include "base/u64_cache.h"
#include "proc/proc.h"

#define TASKS_MAX 65536

void dump_find_host_tids(int proc_fd, int32_t host_pid, struct thread_dump *dump)
{
    _cleanup_closedir_ DIR *dir = NULL;
    struct u64_cache by_ns_tid;
    struct dirent *e;
    char path[32];
    uint32_t tid;
    size_t n = 0;

    snprintf(path, sizeof(path), "%d/task", host_pid);
    dir = dir_open(proc_fd, path);
    if (!dir)
        return;
    u64_cache_init(&by_ns_tid, TASKS_MAX);
    while ((e = readdir(dir)) && n++ < TASKS_MAX) {
        struct span name = span_of(e->d_name);
        uint64_t host_tid;
        int32_t ns_tid;

        if (!span_take_dec(&name, &host_tid) || host_tid > INT32_MAX)
            continue;
        ns_tid = proc_innermost_tid(proc_fd, host_pid, (int32_t)host_tid);
        if (ns_tid > 0)
            u64_cache_put(&by_ns_tid, (uint64_t)ns_tid, (uint32_t)host_tid);
    }
    for (size_t i = 0; i < dump->count; i++) {
        struct dumped_thread *t = &dump->threads[i];

        if (t->ns_tid && u64_cache_get(&by_ns_tid, (uint64_t)t->ns_tid, &tid))
            t->host_tid = (int32_t)tid;
    }
    u64_cache_deinit(&by_ns_tid);
}
