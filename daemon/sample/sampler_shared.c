/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler_shared.h"

#include "base/cleanup.h"
#include "base/macros.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>

/* Shared maps of stack.bpf.h and context.bpf.h. */
static const char *const MAPS[] = { "ring",    "filters", "processes", "threads",     "rows",
                                    "budgets", "losses",  "contexts",  "contexts_put" };
#define FILTERS 1 /* index of a map that allocates as it grows, where the kernel can */
_Static_assert(ARRAY_SIZE(MAPS) == SAMPLER_SHARED_MAPS, "a place for each");

int sampler_shared_copy(const struct bpf_object *from, struct sampler_shared *ret)
{
    struct sampler_shared s = SAMPLER_SHARED_NONE;

    for (size_t i = 0; i < ARRAY_SIZE(MAPS); i++) {
        s.maps[i] = fcntl(bpf_object__find_map_fd_by_name(from, MAPS[i]), F_DUPFD_CLOEXEC, 0);
        if (s.maps[i] < 0) {
            int r = -errno;

            sampler_shared_close(&s);
            *ret = s;
            return r;
        }
    }
    *ret = s;
    return 0;
}

int sampler_shared_use(const struct sampler_shared *s, struct bpf_object *to)
{
    for (size_t i = 0; i < ARRAY_SIZE(MAPS); i++) {
        int r = bpf_map__reuse_fd(bpf_object__find_map_by_name(to, MAPS[i]), s->maps[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

bool sampler_shared_grows(const struct sampler_shared *s)
{
    struct bpf_map_info info = { 0 };
    uint32_t n = sizeof(info);

    return bpf_obj_get_info_by_fd(s->maps[FILTERS], &info, &n) == 0 &&
           info.map_flags & BPF_F_NO_PREALLOC;
}

void sampler_shared_close(struct sampler_shared *s)
{
    for (size_t i = 0; i < ARRAY_SIZE(s->maps); i++)
        close_fd(s->maps[i]);
    *s = SAMPLER_SHARED_NONE;
}

uint64_t sampler_counted(int map_fd, uint32_t counter)
{
    int cpus = libbpf_num_possible_cpus();
    _cleanup_free_ uint64_t *per_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(*per_cpu)) : NULL;
    uint64_t sum = 0;

    if (!per_cpu || bpf_map_lookup_elem(map_fd, &counter, per_cpu) < 0)
        return 0;
    for (int i = 0; i < cpus; i++)
        sum += per_cpu[i];
    return sum;
}

/* A program remembers pcs of stubs and native code without checking that the code still exists. So
 * this memory must be cleared before a slot is used for another process. */
void sampler_forget(struct unwind_known *known)
{
    for (size_t i = 0; i < UNWIND_KNOWN_COUNT; i++)
        known[i] = (struct unwind_known){ 0 };
}
