/* SPDX-License-Identifier: Apache-2.0 */
/* The broker as the source of a target's files. */
#include "symbolize/broker_files.h"

int symbolizer_new(struct broker *b, struct frame_table *frames, const struct symbolizer_opts *opts,
                   struct symbolizer **ret, struct error *err)
{
    const struct symbol_files files = {
        .cookie = b,
        .maps = broker_maps,
        .mapped = broker_mapped,
        .debug = broker_debug,
        .debug_shared = broker_debug_shared,
        .debuglink = broker_debuglink,
        .perfmap = broker_perfmap,
        .kallsyms = broker_kallsyms,
    };

    return symbolizer_new_from(&files, frames, opts, ret, err);
}
