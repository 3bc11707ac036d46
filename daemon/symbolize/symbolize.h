/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of symbolize/: converts raw frames of a sample to ids of named frames
 * (profile/frame.h). One resolver per process image; Processes share ELF files with equal contents,
 * and the kernel's symbols. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "broker_client/broker.h"
#include "discover/discover.h"
#include "profile/frame.h"
#include "sample/sample_abi.h"

struct symbolizer;
struct memory_budget;
struct resolver;
struct inlines;
struct namer;

struct symbolizer_opts {
    size_t elf_files_max;         /* ELF files in the cache, such as 256 */
    struct memory_budget *memory; /* borrowed */
    size_t perf_map_max_bytes;    /* limit of one perf map, such as 64 MiB */
    bool background;              /* a separate thread reads symbol files: see symbolizer_reads() */
    int wake_fd; /* borrowed eventfd, written when symbolizer_poll() has work; <= 0: none */
    int proc_fd; /* of /proc, borrowed, for thread ids in containers; <= 0: opened by the symbolizer
                  */
    struct namer *namer; /* borrowed; NULL: mangled symbols stay raw */
};

int symbolizer_new(struct broker *b, struct frame_table *frames, const struct symbolizer_opts *opts,
                   struct symbolizer **ret, struct error *err);
struct symbolizer *symbolizer_free(struct symbolizer *s);
/* Switches to @frames: later samples are named in it, and the old table is not used any more. No
 * file is read again for that. */
void symbolizer_use_table(struct symbolizer *s, struct frame_table *frames);
/* Returns "" if kernel frames have names, else a sentence with the reason and the remedy. */
const char *symbolizer_kernel_problem(const struct symbolizer *s);

/* Returns the resolver of @p. The first call makes it and pins @p. It is valid until
 * symbolizer_forget(@p) or symbolizer_free(), which unpin @p. Returns NULL if memory is short. */
struct resolver *symbolizer_resolver(struct symbolizer *s, struct process *p);
void symbolizer_forget(struct symbolizer *s, struct process *p);
/* Returns the reasons for missing names of the process @id. Borrowed, valid until the next call. */
const struct naming_gaps *symbolizer_gaps(const struct symbolizer *s, const struct proc_id *id);
/* Begins to read the symbols of the files of @p. Call it before @p is sampled for the first time.
 * Waits for the readings, at most until CLOCK_MONOTONIC @until_ns. */
void symbolizer_prepare(struct symbolizer *s, struct process *p, uint64_t until_ns);
/* Does the same as resolver_functions() for @p. */
int symbolizer_functions(struct symbolizer *s, struct process *p, uint64_t from,
                         const char *const *prefixes, size_t count, uint64_t *ret_offsets,
                         uint64_t *ret_start, uint64_t *ret_end);
struct function_found;
/* Does the same as resolver_function() for @p. */
int symbolizer_function(struct symbolizer *s, struct process *p, struct span file, struct span name,
                        struct function_found *ret);
/* Does the same as resolver_libjvm() for @p. */
int symbolizer_libjvm(struct symbolizer *s, struct process *p, uint64_t from, struct mapping *ret,
                      uint64_t *ret_end);
/* Reads the mappings of @p again, because the broker found no mapping at the expected place.
 * Profilers that write to the code of libjvm.so, such as async-profiler, cut its mappings in
 * pieces. */
void symbolizer_read_maps(struct symbolizer *s, struct process *p);
/* Does the same as resolver_library() for @p. */
int symbolizer_library(struct symbolizer *s, struct process *p, uint64_t from,
                       const char *const *names, size_t count, uint64_t *ret_offsets,
                       uint64_t *ret_start, uint64_t *ret_end);
/* Stores files and names that became ready since the last call. Returns true if there were any.
 * Does not block. */
bool symbolizer_poll(struct symbolizer *s);

#define STACK_FRAMES_MAX 8192 /* frames of one sample, with inlined ones */

struct named_stack {
    uint32_t frames[STACK_FRAMES_MAX]; /* ids, leaf first: kernel, then user */
    size_t count;
    size_t unknown; /* frames without a name */
    bool truncated; /* the root was not reached */
    bool frozen;    /* callers of a virtual thread's frames lie in the heap, and are not read */
    bool left_out;  /* the sample does not belong to its event: for nativelock, a wait of Java's */
    bool generated; /* has code, in a process that is no JVM, without a file and without a name in a
                     * perf map */
    bool reads;     /* has code with symbols that are still being read, or with readable names that
                     * are not ready */
};

/* A callback that defers the naming of generated code (RECORD_LATER of profile/profile.h). @add
 * gets the code at the address in @word (unwind/unwind.h). @frames: its current name, innermost
 * frame first; @count 0: unknown. Returns an id from RECORD_LATER on, or 0 if @frames are final. */
struct code_later {
    uint32_t (*add)(void *cookie, uint64_t word, bool is_return_address, const uint32_t *frames,
                    size_t count);
    void *cookie;
};

/* Names a sample. @java: false leaves Java code unnamed ("symbols=none"). @p may be NULL: only
 * kernel frames get names then. Never fails: a frame without a name is unknown. A user stack
 * without its root counts as truncated, unless it ends where Go's stacks begin. */
void symbolizer_stack(struct symbolizer *s, struct process *p, const struct sample_record *rec,
                      const uint64_t *frames, bool java, struct named_stack *ret);
/* Does the same with Java names; @later defers some of them. */
void symbolizer_stack_later(struct symbolizer *s, struct process *p,
                            const struct sample_record *rec, const uint64_t *frames,
                            const struct code_later *later, struct named_stack *ret);
/* Names the Java code of @words (unwind/unwind.h), return addresses of a stack that was read at
 * @at_ns. Leaves out the VM's code that is no method. */
void symbolizer_java_stack(struct symbolizer *s, struct process *p, const uint64_t *words,
                           size_t count, uint64_t at_ns, struct named_stack *ret);
/* Returns whether @function, which a named stack of @p contains, is a native method. */
bool symbolizer_is_native(struct symbolizer *s, struct process *p, uint32_t function);
/* Returns true while symbols or names for the stack of @rec are not ready. The result is like
 * named_stack.reads, but the stack is not named again. */
bool symbolizer_reads(struct symbolizer *s, struct process *p, const struct sample_record *rec,
                      const uint64_t *frames, bool java);
/* Returns the Java name of thread @host_tid of @p, or @comm if there is none, as an interned clean
 * string. */
uint32_t symbolizer_thread_name(struct symbolizer *s, struct process *p, int32_t host_tid,
                                const char *comm);

/* Returns the inlined functions and lines of native code; the first call makes them. Returns NULL
 * if memory is short. */
struct inlines *symbolizer_inlines(struct symbolizer *s);
/* Returns the address of each native frame of the stack that was named last, 0 for other frames.
 * Valid after symbolizer_inlines(). */
const uint64_t *symbolizer_code(const struct symbolizer *s);
/* Returns the place of code of symbolizer_code() in @p, like resolver_place(). */
uint32_t symbolizer_place(struct symbolizer *s, struct process *p, uint64_t address, uint64_t *ret);

struct symbolizer_stats {
    uint64_t elf_files, elf_bytes, elf_reading, elf_unanswered, elf_nameless, elf_left_out,
        inlines_refused, java_methods, resolvers;
};
/* Returns counters and sizes. */
void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *ret);
