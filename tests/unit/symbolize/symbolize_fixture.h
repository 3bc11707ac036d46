/* SPDX-License-Identifier: Apache-2.0 */
/* A symbolizer of this process's own files, and of a kernel with two functions. */
#pragma once

#include "suite.h"

#include "symbolize/broker_files.h"

#include "base/clock.h"
#include "base/memory_budget.h"
#include "symbol_files.h"
#include "unwind/unwind.h"

#define KERNEL_DO UINT64_C(0xffffffff81000000)
#define KERNEL_ENTRY UINT64_C(0xffffffff81000100)

static struct memory_budget memory;

static struct local_files files;
static struct symbol_files source;
static struct frame_table *frames;
static struct symbolizer *symbolizer;
static struct process process;
static struct named_stack stack;
static char kallsyms_path[] = "/tmp/flamed-test-kallsyms-XXXXXX";

static inline void write_text(char *path, const char *text)
{
    _cleanup_close_ int fd = mkstemp(path);

    ck_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static inline void setup(void)
{
    static const struct symbolizer_opts OPTS = { .elf_files_max = 256,
                                                 .memory = &memory,
                                                 .perf_map_max_bytes = 1 << 20 };

    memcpy(kallsyms_path, "/tmp/flamed-test-kallsyms-XXXXXX", sizeof(kallsyms_path));
    write_text(kallsyms_path, "ffffffff81000000 T do_work\nffffffff81000100 T entry_work\n"
                              "ffffffff81000200 T _etext\nffffffff81000201 D data\n");
    files = (struct local_files){ .kallsyms = kallsyms_path };
    source = local_symbol_files(&files);
    process = (struct process){ .id = { .host_pid = getpid() }, .ns_depth = 1 };
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &frames), 0);
    memory_budget_init(&memory);
    ck_assert_int_eq(symbolizer_new_from(&source, frames, &OPTS, &symbolizer, NULL), 0);
}

static inline void teardown(void)
{
    symbolizer_forget(symbolizer, &process);
    ck_assert_uint_eq(process.pins, 0);
    symbolizer_resolver(symbolizer, &process);
    ck_assert_uint_eq(process.pins, 1);
    symbolizer = symbolizer_free(symbolizer);
    ck_assert_uint_eq(process.pins, 0);
    frames = frame_table_free(frames);
    unlink(kallsyms_path);
}

static inline struct span frame_name(size_t i)
{
    const struct frame *f = frame_table_get(frames, stack.frames[i]);

    return frame_table_get_string(frames, frame_table_get_function(frames, f->function)->name);
}

static inline struct span frame_path(size_t i)
{
    const struct frame *f = frame_table_get(frames, stack.frames[i]);
    const struct function *fn = frame_table_get_function(frames, f->function);

    return frame_table_get_string(frames, frame_table_get_module(frames, fn->module)->path);
}

static inline const struct frame *frame_at(size_t i)
{
    return frame_table_get(frames, stack.frames[i]);
}

#define ck_assert_name(i, want)                                                                    \
    ck_assert_msg(span_eq_str(frame_name(i), (want)), "frame %zu is %s, not %s", (size_t)(i),      \
                  frame_name(i).p, (want))

/* Names @words. The first @kernel of them are in the kernel. */
static inline void name_words(const uint64_t *words, size_t kernel, size_t user, uint8_t flags,
                              uint8_t end)
{
    struct sample_record rec = { .host_pid = (uint32_t)getpid(),
                                 .kernel_count = (uint16_t)kernel,
                                 .user_count = (uint16_t)user,
                                 .flags = flags,
                                 .user_end = end };

    symbolizer_stack(symbolizer, &process, &rec, words, /* java= */ true, &stack);
}

static inline uint64_t address_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}
