/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoint event of a recording: the constant pools, written after all events.
 */
#include "render/jfr/jfr.h"

/* The keys of frame types are those of async-profiler, because its converter identifies types by
 * key. */
static const char *const FRAME_TYPES[] = { "Interpreted", "JIT compiled", "Inlined",    "Native",
                                           "C++",         "Kernel",       "C1 compiled" };
enum { TYPE_INTERPRETED, TYPE_JIT, TYPE_INLINED, TYPE_NATIVE, TYPE_CPP, TYPE_KERNEL, TYPE_C1 };

static unsigned frame_type(uint32_t kind)
{
    switch (kind) {
    case FRAME_INTERPRETED:
        return TYPE_INTERPRETED;
    case FRAME_C1:
        return TYPE_C1;
    case FRAME_C2:
    case FRAME_JVMCI:
        return TYPE_JIT;
    case FRAME_INLINED:
        return TYPE_INLINED;
    case FRAME_JVM:
        return TYPE_CPP;
    case FRAME_KERNEL:
        return TYPE_KERNEL;
    default:
        return TYPE_NATIVE;
    }
}

static void begin_pool(struct buf *out, enum jfr_type type, size_t count)
{
    jfr_add_number(out, type);
    jfr_add_number(out, count);
}

/* Adds a pool of texts with keys from @first on. */
static void add_texts(struct buf *out, enum jfr_type type, const char *const *texts, size_t n,
                      size_t first)
{
    begin_pool(out, type, n);
    for (size_t i = 0; i < n; i++) {
        jfr_add_number(out, first + i);
        jfr_add_string(out, span_of(texts[i]));
    }
}

static void add_threads(const struct jfr_pools *pools, struct buf *out)
{
    const struct profile *p = pools->v->profile;

    begin_pool(out, JFR_THREAD, p->thread_count);
    for (size_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];

        jfr_add_number(out, pools->key_of_thread[i]);
        jfr_add_string(out, intern_get(p->strings, t->name));
        jfr_add_number(out, (uint64_t)t->host_tid);
        buf_add_char(out, 0);   /* no Java name, because the JVM's id of the thread is unknown */
        jfr_add_number(out, 0); /* readers then show the name and id above */
        jfr_add_number(out, t->process < p->process_count ? (uint64_t)t->process + 1 : 0);
    }
}

/* A group of threads for each process. */
static void add_groups(const struct profile *p, struct buf *out)
{
    _cleanup_buf_ struct buf name = BUF_UPTO(JFR_STRING_BYTES_MAX);

    begin_pool(out, JFR_THREAD_GROUP, p->process_count);
    for (size_t i = 0; i < p->process_count; i++) {
        buf_clear(&name);
        buf_add_char(&name, '[');
        buf_add_span(&name, intern_get(p->strings, p->processes[i].name));
        buf_printf(&name, " pid=%d]", p->processes[i].host_pid);
        jfr_add_number(out, i + 1);
        jfr_add_number(out, 0); /* no parent */
        jfr_add_string(out, buf_span(&name));
    }
}

static void add_packages(const struct jfr_pools *p, struct buf *out)
{
    begin_pool(out, JFR_PACKAGE, p->packages.count);
    for (uint32_t i = 0; i < p->packages.count; i++) {
        jfr_add_number(out, (uint64_t)i + 1);
        jfr_add_number(out, (uint64_t) * (const uint32_t *)id_table_get(&p->packages, i) + 1);
    }
}

static void add_classes(const struct jfr_pools *p, struct buf *out)
{
    begin_pool(out, JFR_CLASS, p->classes.count);
    for (uint32_t i = 0; i < p->classes.count; i++) {
        const struct jfr_class *c = id_table_get(&p->classes, i);

        jfr_add_number(out, (uint64_t)i + 1);
        jfr_add_number(out, 0); /* class loader */
        jfr_add_number(out, (uint64_t)c->name + 1);
        jfr_add_number(out, c->package);
        jfr_add_number(out, 0); /* modifiers */
        buf_add_char(out, 0);   /* not hidden */
    }
}

static void add_methods(const struct jfr_pools *p, struct buf *out)
{
    begin_pool(out, JFR_METHOD, p->methods.count);
    for (uint32_t i = 0; i < p->methods.count; i++) {
        const struct jfr_method *m = id_table_get(&p->methods, i);

        jfr_add_number(out, (uint64_t)i + 1);
        jfr_add_number(out, (uint64_t)m->class_id + 1);
        jfr_add_number(out, (uint64_t)m->name + 1);
        jfr_add_number(out, (uint64_t)m->descriptor + 1);
        jfr_add_number(out, 0); /* modifiers */
        buf_add_char(out, 0);   /* not hidden */
    }
}

static void add_symbols(const struct jfr_pools *p, struct buf *out)
{
    uint32_t n = intern_count(p->symbols);

    begin_pool(out, JFR_SYMBOL, n);
    for (uint32_t i = 0; i < n; i++) {
        jfr_add_number(out, (uint64_t)i + 1);
        jfr_add_symbol(out, intern_get(p->symbols, i));
    }
}

static void add_traces(const struct jfr_pools *p, struct buf *out)
{
    uint32_t n = intern_count(p->traces);

    begin_pool(out, JFR_STACK_TRACE, n - 1);
    for (uint32_t i = 1; i < n; i++) {
        struct span text = intern_get(p->traces, i);

        jfr_add_number(out, i);
        buf_add_char(out, text.p[0]);
        text = span_from(text, 1);
        jfr_add_number(out, text.n / sizeof(uint32_t));
        for (; text.n; text = span_from(text, sizeof(uint32_t))) {
            const struct view_frame *f;
            uint32_t frame;

            memcpy(&frame, text.p, sizeof(frame));
            f = &p->v->frames[frame];
            jfr_add_number(out, (uint64_t)p->method_of_frame[frame] + 1);
            jfr_add_number(out, f->line ? f->line : UINT32_MAX); /* -1: not known */
            jfr_add_number(out, UINT32_MAX);
            jfr_add_number(out, frame_type(f->kind));
        }
    }
}

void jfr_add_pools(const struct jfr_pools *p, uint64_t ticks, struct buf *out)
{
    static const char *const STATES[] = { "STATE_DEFAULT", "STATE_RUNNABLE", "STATE_SLEEPING" };
    const struct profile *profile = p->v->profile;
    size_t begin = jfr_begin(out, JFR_CHECKPOINT);
    unsigned pools = 3 + (profile->thread_count != 0) + (profile->process_count != 0) +
                     (p->packages.count != 0) + (p->classes.count != 0) + (p->methods.count != 0) +
                     (p->v->row_count != 0);

    jfr_add_number(out, ticks);
    jfr_add_number(out, 0); /* duration */
    jfr_add_number(out, 0); /* no checkpoint before this one */
    buf_add_char(out, 0);   /* not a flush */
    jfr_add_number(out, pools);
    add_texts(out, JFR_FRAME_TYPE, FRAME_TYPES, ARRAY_SIZE(FRAME_TYPES), TYPE_INTERPRETED);
    add_texts(out, JFR_THREAD_STATE, STATES, ARRAY_SIZE(STATES), JFR_STATE_DEFAULT);
    add_symbols(p, out);
    if (profile->thread_count) /* a pool without an entry is an error */
        add_threads(p, out);
    if (profile->process_count)
        add_groups(profile, out);
    if (p->packages.count)
        add_packages(p, out);
    if (p->classes.count)
        add_classes(p, out);
    if (p->methods.count)
        add_methods(p, out);
    if (p->v->row_count)
        add_traces(p, out);
    jfr_end(out, begin);
}
