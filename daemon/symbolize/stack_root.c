/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/stack_root.h"

#include "base/list.h"

static const char *const ROOTS[] = {
    "runtime.goexit",      "runtime.goexit.abi0", "runtime.mstart",
    "runtime.mstart.abi0", "runtime.rt0_go",      "runtime.rt0_go.abi0",
};

#define GLIBC "libc.so.6+0x"

static const char *const THREAD_START[] = { "clone3", "start_thread" }; /* root first */

bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n)
{
    const struct frame *last = n ? frame_table_get(t, frames[n - 1]) : NULL;
    struct span name;

    if (!last || last->unknown || last->kind != FRAME_NATIVE)
        return false;
    name = frame_table_get_string(t, frame_table_get_function(t, last->function)->name);
    return ANY_OF(i, ARRAY_SIZE(ROOTS), span_eq_str(name, ROOTS[i]));
}

/* Returns the module of @frame if it is code of glibc without a name, else 0. */
static uint32_t nameless_glibc(const struct frame_table *t, uint32_t frame)
{
    const struct frame *f = frame_table_get(t, frame);
    const struct function *function = frame_table_get_function(t, f->function);

    return f->unknown && span_starts_with(frame_table_get_string(t, function->name), GLIBC)
               ? function->module
               : 0;
}

size_t stack_name_thread_start(struct frame_table *t, uint32_t *frames, size_t n)
{
    uint32_t named[ARRAY_SIZE(THREAD_START)], module;

    if (n < ARRAY_SIZE(named))
        return 0;
    module = nameless_glibc(t, frames[n - 1]);
    if (!module || nameless_glibc(t, frames[n - 2]) != module)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
        struct function function = { .module = module };
        struct frame frame = { .kind = FRAME_NATIVE };

        if (frame_table_string(t, span_of(THREAD_START[i]), &function.name) < 0 ||
            frame_table_function(t, &function, &frame.function) < 0 ||
            frame_table_frame(t, &frame, &named[i]) < 0)
            return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(named); i++)
        frames[n - 1 - i] = named[i];
    return ARRAY_SIZE(named);
}
