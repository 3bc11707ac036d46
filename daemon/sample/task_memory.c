/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/task_memory.h"

#include "base/cleanup.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

bool task_memory_has_instruction(void)
{
#ifdef __x86_64__
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_CMPXCHG16B;
#else
    return true; /* aarch64 needs no such instruction */
#endif
}

int task_memory_check(const struct bpf_map *map, struct error *err)
{
    _cleanup_close_ int task = (int)syscall(SYS_pidfd_open, getpid(), 0);
    _cleanup_free_ void *value = calloc(1, bpf_map__value_size(map));
    int r = task < 0 ? -errno : value ? 0 : -ENOMEM;

    if (r == 0)
        r = bpf_map_update_elem(bpf_map__fd(map), &task, value, BPF_ANY);
    if (r == 0) {
        bpf_map_delete_elem(bpf_map__fd(map), &task);
        return 0;
    }
    if (!task_memory_has_instruction())
        error_remedy(err, "Linux 7 keeps memory for BPF programs beside a thread only on a "
                          "processor with the instruction cmpxchg16b, which an emulated one may "
                          "lack");
    return error_set(err, r == -ENOMEM ? -EOPNOTSUPP : r,
                     "the kernel gives threads no memory that this event needs");
}
