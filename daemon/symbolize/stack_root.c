/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/stack_root.h"

#include "base/list.h"

static const char *const ROOTS[] = {
    "runtime.goexit",      "runtime.goexit.abi0", "runtime.mstart",
    "runtime.mstart.abi0", "runtime.rt0_go",      "runtime.rt0_go.abi0",
};

bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n)
{
    const struct frame *last = n ? frame_table_get(t, frames[n - 1]) : NULL;
    struct span name;

    if (!last || last->unknown || last->kind != FRAME_NATIVE)
        return false;
    name = frame_table_get_string(t, frame_table_get_function(t, last->function)->name);
    return ANY_OF(i, ARRAY_SIZE(ROOTS), span_eq_str(name, ROOTS[i]));
}
