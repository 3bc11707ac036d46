/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/stack_root.h"

static const char *const ROOTS[] = {
    "_start",
    "start_thread", /* glibc: threads */
    "clone",
    "__clone",
    "clone3",
    "__clone3",
    "__GI___clone3",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "_dl_start_user", /* before main */
    "_start_c",       /* musl */
    "libc_start_main_stage2",
    "runtime.goexit", /* Go */
    "runtime.goexit.abi0",
    "runtime.mstart",
    "runtime.mstart.abi0",
    "runtime.rt0_go",
    "runtime.rt0_go.abi0",
};

static bool is_libc(struct span path)
{
    struct span name = span_base_name(path);

    return span_starts_with(name, "libc.so") || span_starts_with(name, "libc-2.") ||
           span_starts_with(name, "libpthread") || span_starts_with(name, "ld-musl-") ||
           span_starts_with(name, "libc.musl-");
}

bool stack_ends_in_go(const struct frame_table *t, const uint32_t *frames, size_t n)
{
    const struct function *f;

    if (!n)
        return false;
    f = frame_table_get_function(t, frame_table_get(t, frames[n - 1])->function);
    return span_starts_with(frame_table_get_string(t, f->name), "runtime.") &&
           stack_is_whole(t, frames, n);
}

bool stack_is_whole(const struct frame_table *t, const uint32_t *frames, size_t n)
{
    const struct frame *last;
    const struct function *f;
    const struct module *m;
    struct span name;

    if (!n)
        return false;
    last = frame_table_get(t, frames[n - 1]);
    f = frame_table_get_function(t, last->function);
    if (last->unknown) {
        m = frame_table_get_module(t, f->module);
        return n > 1 && f->module && is_libc(frame_table_get_string(t, m->path)) &&
               frame_table_get_function(t, frame_table_get(t, frames[n - 2])->function)->module !=
                   f->module;
    }
    if (last->kind != FRAME_NATIVE)
        return false;
    name = frame_table_get_string(t, f->name);
    for (size_t i = 0; i < ARRAY_SIZE(ROOTS); i++) {
        if (span_eq_str(name, ROOTS[i]))
            return true;
    }
    return false;
}
