/* SPDX-License-Identifier: Apache-2.0 */
/* The symbolizer: its creation, its processes, names of threads. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "proc/looking.h"
#include "symbolize/symbolizer_impl.h"

#include <fcntl.h>

#define PERF_MAPS_MAX 8 /* perf maps that wait or are being read; owners share them */

/* ---- creating and freeing ---- */

static void use_table(struct symbolizer *s, struct frame_table *frames)
{
    s->frames = s->env.frames = frames;
    s->gap = frame_table_text(frames, SPAN("[...]"), FRAME_TRUNCATED);
    s->vsyscall = frame_table_text(frames, SPAN("[vsyscall]"), FRAME_NATIVE);
    s->runnable = frame_table_text(frames, SPAN("[runnable]"), FRAME_WAIT_RUNNABLE);
    s->throttled = frame_table_text(frames, SPAN("[throttled]"), FRAME_WAIT_RUNNABLE);
}

int symbolizer_new_from(const struct symbol_files *files, struct frame_table *frames,
                        const struct symbolizer_opts *opts, struct symbolizer **ret,
                        struct error *err)
{
    struct symbolizer *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return error_code(err, -ENOMEM, "cannot start naming frames");
    s->files = *files;
    s->wake_fd = opts->wake_fd;
    s->background = opts->background;
    s->namer = opts->namer;
    s->own_proc_fd = opts->proc_fd <= 0;
    s->proc_fd = opts->proc_fd;
    if (s->own_proc_fd)
        s->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    use_table(s, frames);
    r = elf_cache_new(opts->elf_files_max, opts->background, opts->wake_fd, opts->memory, &s->elf);
    if (r == 0 && s->background)
        r = worker_new("flamed-perfmaps", PERF_MAPS_MAX, s->wake_fd, &s->perf_maps);
    if (r == 0)
        r = kernel_names_new(&s->files, frames, s->namer, &s->kernel);
    if (r < 0) {
        symbolizer_free(s);
        return error_code(err, r, "cannot start naming frames");
    }
    s->env = (struct resolver_env){ .files = &s->files,
                                    .frames = frames,
                                    .elf = s->elf,
                                    .namer = s->namer,
                                    .memory = opts->memory,
                                    .perf_maps = &s->perf_maps,
                                    .perf_map_max_bytes = opts->perf_map_max_bytes,
                                    .maps_bytes = &s->maps_bytes };
    *ret = s;
    return 0;
}

void symbolizer_use_table(struct symbolizer *s, struct frame_table *frames)
{
    use_table(s, frames);
    elf_cache_forget_strings(s->elf);
    kernel_names_use_table(s->kernel, frames);
    for (struct resolver_entry *e = s->resolvers; e; e = e->hh.next) {
        s->java_methods += resolver_java_methods(e->resolver);
        resolver_use_table(e->resolver);
    }
}

static void entry_free(struct symbolizer *s, struct resolver_entry *e)
{
    HASH_DEL(s->resolvers, e);
    resolver_free(e->resolver);
    process_unpin(e->process);
    free(e);
}

struct symbolizer *symbolizer_free(struct symbolizer *s)
{
    if (!s)
        return NULL;
    while (s->resolvers)
        entry_free(s, s->resolvers);
    worker_free(s->perf_maps, perf_map_end); /* frees the maps that resolvers have closed */
    kernel_names_free(s->kernel);
    elf_cache_free(s->elf);
    inlines_free(s->env.inlines);
    free(s->code);
    if (s->own_proc_fd)
        close_fd(s->proc_fd);
    free(s);
    return NULL;
}

const char *symbolizer_kernel_problem(const struct symbolizer *s)
{
    return kernel_names_problem(s->kernel);
}

static struct resolver_entry *find_entry(const struct symbolizer *s, const struct proc_id *id)
{
    struct resolver_entry *e;

    HASH_FIND(hh, s->resolvers, id, sizeof(*id), e);
    return e;
}

struct resolver *symbolizer_resolver(struct symbolizer *s, struct process *p)
{
    struct resolver_entry *e = find_entry(s, &p->id);

    if (e)
        return e->resolver;
    e = calloc(1, sizeof(*e));
    if (!e || resolver_new(&s->env, &p->id, p->exec_time_ns, &e->resolver) < 0) {
        free(e);
        return NULL;
    }
    e->id = p->id;
    HASH_ADD(hh, s->resolvers, id, sizeof(e->id), e);
    e->process = p;
    process_pin(p);
    return e->resolver;
}

void symbolizer_forget(struct symbolizer *s, struct process *p)
{
    struct resolver_entry *e = find_entry(s, &p->id);

    if (!e)
        return;
    s->java_methods += resolver_java_methods(e->resolver);
    entry_free(s, e);
}

const struct naming_gaps *symbolizer_gaps(const struct symbolizer *s, const struct proc_id *id)
{
    static const struct naming_gaps NONE;
    const struct resolver_entry *e = find_entry(s, id);

    return e ? resolver_gaps(e->resolver) : &NONE;
}

/* Returns the resolver of @p. Returns NULL if @p has ended, is a kernel thread, or memory is short.
 */
static struct resolver *running_resolver(struct symbolizer *s, struct process *p)
{
    return p->exited || p->kernel_thread ? NULL : symbolizer_resolver(s, p);
}

void symbolizer_prepare(struct symbolizer *s, struct process *p, uint64_t until_ns)
{
    struct resolver *r = running_resolver(s, p);

    if (!r)
        return;
    if (!resolver_prepare(r))
        return;
    while (elf_cache_wait(s->elf, until_ns))
        s->news |= elf_cache_poll(s->elf);
}

int symbolizer_functions(struct symbolizer *s, struct process *p, uint64_t from,
                         const char *const *prefixes, size_t count, uint64_t *ret_offsets,
                         uint64_t *ret_start, uint64_t *ret_end)
{
    struct resolver *r = running_resolver(s, p);
    int k;

    if (!r)
        return -ENOENT;
    looking_begin(LOOKING_FUNCTION, &p->id, p->jvm == JVM_READY);
    k = resolver_functions(r, from, prefixes, count, ret_offsets, ret_start, ret_end);
    looking_end();
    return k;
}

int symbolizer_function(struct symbolizer *s, struct process *p, struct span file, struct span name,
                        struct function_found *ret)
{
    struct resolver *r = running_resolver(s, p);
    int k;

    if (!r)
        return -ENXIO;
    looking_begin(LOOKING_FUNCTION, &p->id, p->jvm == JVM_READY);
    k = resolver_function(r, file, name, ret);
    looking_end();
    return k;
}

int symbolizer_libjvm(struct symbolizer *s, struct process *p, uint64_t from, struct mapping *ret,
                      uint64_t *ret_end)
{
    struct resolver *r = running_resolver(s, p);

    return r ? resolver_libjvm(r, from, ret, ret_end) : -ENOENT;
}

void symbolizer_read_maps(struct symbolizer *s, struct process *p)
{
    struct resolver *r = running_resolver(s, p);

    if (r)
        resolver_read_maps(r, clock_monotonic_ns());
}

int symbolizer_library(struct symbolizer *s, struct process *p, uint64_t from,
                       const char *const *names, size_t count, uint64_t *ret_offsets,
                       uint64_t *ret_start, uint64_t *ret_end)
{
    struct resolver *r = running_resolver(s, p);
    int k;

    if (!r)
        return -ENOENT;
    looking_begin(LOOKING_FUNCTION, &p->id, p->jvm == JVM_READY);
    k = resolver_library(r, from, names, count, ret_offsets, ret_start, ret_end);
    looking_end();
    return k;
}

bool symbolizer_poll(struct symbolizer *s)
{
    uint64_t answers = namer_answers(s->namer);
    struct work *work;
    bool news = s->news | elf_cache_poll(s->elf) | (answers != s->answers);

    s->answers = answers;
    while (s->perf_maps && (work = worker_take(s->perf_maps))) {
        perf_map_end(work);
        news = true;
    }
    if (s->env.inlines)
        inlines_poll(s->env.inlines, clock_monotonic_ns());
    s->news = false;
    return news;
}

struct inlines *symbolizer_inlines(struct symbolizer *s)
{
    if (!s->code)
        s->code = calloc(STACK_FRAMES_MAX, sizeof(*s->code));
    if (!s->env.inlines && s->code &&
        inlines_new(&s->files, s->namer, s->background, s->wake_fd, s->env.memory,
                    &s->env.inlines) < 0)
        s->env.inlines = NULL;
    return s->env.inlines;
}

const uint64_t *symbolizer_code(const struct symbolizer *s)
{
    return s->code;
}

uint32_t symbolizer_place(struct symbolizer *s, struct process *p, uint64_t address, uint64_t *ret)
{
    const struct resolver_entry *e = find_entry(s, &p->id);

    return e ? resolver_place(e->resolver, address, clock_monotonic_ns(), ret) : 0;
}

/* ---- threads ---- */

uint32_t symbolizer_thread_name(struct symbolizer *s, struct process *p, int32_t host_tid,
                                const char *comm)
{
    struct resolver *r = p ? symbolizer_resolver(s, p) : NULL;
    struct thread_names *t = r && p->jvm == JVM_READY ? resolver_threads(r) : NULL;
    uint32_t id = 0;

    symbolizer_charge(s, r);
    if (t)
        id = thread_names_get(t, p->vm, s->proc_fd, p->id.host_pid, p->ns_depth, host_tid, comm,
                              clock_monotonic_ns());
    if (!id)
        id = frame_table_clean(s->frames, (struct span){ comm, strnlen(comm, SAMPLE_COMM_BYTES) },
                               TEXT_UTF8);
    symbolizer_charge(s, NULL);
    return id;
}

void symbolizer_stats(const struct symbolizer *s, struct symbolizer_stats *ret)
{
    struct elf_cache_stats elf;

    elf_cache_stats(s->elf, &elf);
    *ret = (struct symbolizer_stats){ .elf_files = elf.files,
                                      .elf_bytes = elf.bytes,
                                      .elf_reading = elf.reading,
                                      .elf_unanswered = elf.unanswered,
                                      .elf_nameless = elf.nameless,
                                      .elf_left_out = elf.left_out,
                                      .inlines_refused = s->env.memory->inlines.refused,
                                      .java_methods = s->java_methods,
                                      .resolvers = HASH_COUNT(s->resolvers) };
    for (const struct resolver_entry *e = s->resolvers; e; e = e->hh.next)
        ret->java_methods += resolver_java_methods(e->resolver);
}
