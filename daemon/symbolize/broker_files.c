/* SPDX-License-Identifier: Apache-2.0 */
/* The broker as the source of a target's files. */
#include "symbolize/broker_files.h"

static int from_maps(void *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_maps(b, id, ret_fd, err);
}

static int from_mapped(void *b, const struct proc_id *id, uint64_t start, uint64_t end, int *ret_fd,
                       struct error *err)
{
    return broker_mapped(b, id, start, end, ret_fd, err);
}

static int from_debug(void *b, const struct proc_id *id, const uint8_t *build_id, size_t n,
                      int *ret_fd, struct error *err)
{
    return broker_debug(b, id, build_id, n, ret_fd, err);
}

static int from_debug_shared(void *b, const struct proc_id *id, struct span name, int *ret_fd,
                             struct error *err)
{
    return broker_debug_shared(b, id, name, ret_fd, err);
}

static int from_debuglink(void *b, const struct proc_id *id, uint64_t start, uint64_t end,
                          const char *basename, int *ret_fd, struct error *err)
{
    return broker_debuglink(b, id, start, end, basename, ret_fd, err);
}

static int from_perfmap(void *b, const struct proc_id *id, int *ret_fd, struct error *err)
{
    return broker_perfmap(b, id, ret_fd, err);
}

static int from_kallsyms(void *b, int *ret_fd, struct error *err)
{
    return broker_kallsyms(b, ret_fd, err);
}

int symbolizer_new(struct broker *b, struct frame_table *frames, const struct symbolizer_opts *opts,
                   struct symbolizer **ret, struct error *err)
{
    const struct symbol_files files = {
        .cookie = b,
        .maps = from_maps,
        .mapped = from_mapped,
        .debug = from_debug,
        .debug_shared = from_debug_shared,
        .debuglink = from_debuglink,
        .perfmap = from_perfmap,
        .kallsyms = from_kallsyms,
    };

    return symbolizer_new_from(&files, frames, opts, ret, err);
}
