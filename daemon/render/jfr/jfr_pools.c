/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constant pools of a recording: threads, their groups, classes, methods, stack traces. A
 * native function is a method of its module, as in async-profiler.
 */
#include "base/cleanup.h"
#include "render/jfr/jfr.h"

#define POOLS_STRING_BYTES_MAX ((size_t)256 << 20)
#define POOLS_TRACE_BYTES_MAX ((size_t)1 << 30)

static const char *const FRAME_TYPES[] = { "Interpreted", "JIT compiled", "Inlined", "Native" };
enum { TYPE_INTERPRETED = 1, TYPE_JIT, TYPE_INLINED, TYPE_NATIVE }; /* keys in that pool */

static unsigned frame_type(uint32_t kind)
{
    switch (kind) {
    case FRAME_INTERPRETED:
        return TYPE_INTERPRETED;
    case FRAME_C1:
    case FRAME_C2:
        return TYPE_JIT;
    case FRAME_INLINED:
    case FRAME_NATIVE_INLINED:
        return TYPE_INLINED;
    default:
        return TYPE_NATIVE;
    }
}

/* ---- names ---- */

static void add_type_name(struct buf *out, struct span type)
{
    static const struct {
        const char *name;
        char letter;
    } PRIMITIVES[] = {
        { "boolean", 'Z' }, { "byte", 'B' }, { "char", 'C' }, { "double", 'D' },
        { "float", 'F' },   { "int", 'I' },  { "long", 'J' }, { "short", 'S' },
    };
    unsigned dimensions = 0;

    while (span_ends_with(type, "[]")) {
        type.n -= 2;
        if (dimensions++ < 255) /* as many as the JVM allows */
            buf_add_char(out, '[');
    }
    for (size_t i = 0; i < ARRAY_SIZE(PRIMITIVES); i++) {
        if (span_eq_str(type, PRIMITIVES[i].name)) {
            buf_add_char(out, PRIMITIVES[i].letter);
            return;
        }
    }
    buf_add_char(out, 'L');
    if (!type.n)
        buf_add_char(out, '_');
    for (size_t i = 0; i < type.n; i++) {
        char c = type.p[i];

        buf_add_char(out, c == '.' ? '/' : strchr(";[()", c) ? '_' : c);
    }
    buf_add_char(out, ';');
}

void jfr_add_descriptor(struct buf *out, struct span signature)
{
    struct span types = span_trim(signature), type;

    if (span_starts_with(types, "("))
        types = span_from(types, 1);
    if (span_ends_with(types, ")"))
        types.n--;
    buf_add_char(out, '(');
    types = span_trim(types);
    while (span_take_until(&types, ',', &type))
        add_type_name(out, span_trim(type));
    buf_add_str(out, ")V");
}

static int add_symbol(struct jfr_pools *p, struct span s, uint32_t *ret)
{
    return intern_add(p->symbols, s, ret) < 0 ? -ENOMEM : 0;
}

/* The class of code that is not Java: the name of its file. */
static struct span module_name(const struct jfr_pools *p, const struct view_frame *f)
{
    struct span path = view_string(p->v, f->module);
    size_t slash = span_rfind(path, '/');

    if (path.n)
        return slash < path.n ? span_from(path, slash + 1) : path;
    return f->kind == FRAME_STUB ? SPAN("[code cache]") : SPAN("[unknown]");
}

int jfr_pools_class(struct jfr_pools *p, struct span name, uint32_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    uint32_t symbol;
    int r;

    buf_init(&text, POOLS_STRING_BYTES_MAX);
    for (size_t i = 0; i < name.n; i++)
        buf_add_char(&text, name.p[i] == '.' ? '/' : name.p[i]);
    r = text.error ? -ENOMEM : add_symbol(p, buf_span(&text), &symbol);
    return r < 0 || id_table_add(&p->classes, &symbol, ret) < 0 ? -ENOMEM : 0;
}

/* The method of a frame of the view. */
static int add_method(struct jfr_pools *p, uint32_t frame)
{
    const struct view_frame *f = &p->v->frames[frame];
    const struct profile *profile = p->v->profile;
    const struct function *fn = &profile->functions[f->frame < profile->frame_count && f->frame
                                                        ? profile->frames[f->frame].function
                                                        : 0];
    bool java = f->frame && fn->class_name;
    _cleanup_buf_ struct buf descriptor = BUF_NULL;
    struct jfr_method m = { 0 };
    uint32_t symbol;
    int r;

    buf_init(&descriptor, POOLS_STRING_BYTES_MAX);
    jfr_add_descriptor(&descriptor, java ? intern_get(profile->strings, fn->signature) : SPAN_NULL);
    r = descriptor.error ? -ENOMEM : add_symbol(p, buf_span(&descriptor), &m.descriptor);
    if (r == 0 && java)
        r = jfr_pools_class(p, intern_get(profile->strings, fn->class_name), &m.class_id);
    else if (r == 0) { /* the name of a file keeps its dots */
        r = add_symbol(p, module_name(p, f), &symbol);
        if (r == 0 && id_table_add(&p->classes, &symbol, &m.class_id) < 0)
            r = -ENOMEM;
    }
    if (r == 0)
        r = add_symbol(
            p, java ? intern_get(profile->strings, fn->name) : view_string(p->v, f->name), &m.name);
    if (r == 0 && id_table_add(&p->methods, &m, &p->method_of_frame[frame]) < 0)
        r = -ENOMEM;
    return r;
}

int jfr_pools_method(struct jfr_pools *p, struct span name, uint32_t *ret)
{
    size_t dot = span_ends_with(name, "...") ? span_rfind((struct span){ name.p, name.n - 3 }, '.')
                                             : span_rfind(name, '.');
    struct jfr_method m = { 0 };
    int r =
        jfr_pools_class(p, dot < name.n ? (struct span){ name.p, dot } : SPAN_NULL, &m.class_id);

    if (r == 0)
        r = add_symbol(p, dot < name.n ? span_from(name, dot + 1) : name, &m.name);
    if (r == 0)
        r = add_symbol(p, SPAN("()V"), &m.descriptor);
    return r < 0 || id_table_add(&p->methods, &m, ret) < 0 ? -ENOMEM : 0;
}

/* ---- stacks ---- */

/* Processes and threads are no frames here, and a missing root is a flag of the trace. */
static bool is_shown(const struct view *v, uint32_t frame, bool *truncated)
{
    const struct view_frame *f = &v->frames[frame];

    if (f->kind == FRAME_TRUNCATED && span_eq_str(view_string(v, f->name), "[truncated]")) {
        *truncated = true;
        return false;
    }
    return f->kind != FRAME_PROCESS && f->kind != FRAME_THREAD;
}

static int add_trace(struct jfr_pools *p, size_t r, struct buf *text)
{
    const struct view *v = p->v;
    const struct view_row *row = &v->rows[r];
    bool truncated = false;

    buf_clear(text);
    buf_add_char(text, 0);
    for (uint32_t i = row->n; i > 0; i--) {
        uint32_t frame = v->stack[row->first + i - 1];

        if (is_shown(v, frame, &truncated))
            buf_add(text, &frame, sizeof(frame));
    }
    if (text->error)
        return -ENOMEM;
    text->p[0] = truncated;
    return intern_add(p->traces, buf_span(text), &p->trace_of_row[r]) < 0 ? -ENOMEM : 0;
}

int jfr_pools_init(struct jfr_pools *p, const struct view *v)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    int r;

    *p = (struct jfr_pools){ .v = v };
    id_table_init(&p->classes, sizeof(uint32_t), UINT32_MAX / 2);
    id_table_init(&p->methods, sizeof(struct jfr_method), UINT32_MAX / 2);
    p->method_of_frame = calloc(v->frame_count + 1, sizeof(*p->method_of_frame));
    p->trace_of_row = calloc(v->row_count + 1, sizeof(*p->trace_of_row));
    if (!p->method_of_frame || !p->trace_of_row)
        return -ENOMEM;
    buf_init(&text, POOLS_STRING_BYTES_MAX);
    r = intern_new(POOLS_STRING_BYTES_MAX, &p->symbols);
    if (r == 0)
        r = intern_new(POOLS_TRACE_BYTES_MAX, &p->traces);
    for (size_t i = 0; i < v->frame_count && r == 0; i++)
        r = add_method(p, (uint32_t)i);
    for (size_t i = 0; i < v->row_count && r == 0; i++)
        r = add_trace(p, i, &text);
    return r;
}

void jfr_pools_deinit(struct jfr_pools *p)
{
    intern_free(p->symbols);
    id_table_deinit(&p->classes);
    id_table_deinit(&p->methods);
    intern_free(p->traces);
    free(p->trace_of_row);
    free(p->method_of_frame);
}

/* ---- writing ---- */

static void begin_pool(struct buf *out, enum jfr_type type, size_t count)
{
    jfr_add_number(out, type);
    jfr_add_number(out, count);
}

static void add_texts(struct buf *out, enum jfr_type type, const char *const *texts, size_t n)
{
    begin_pool(out, type, n);
    for (size_t i = 0; i < n; i++) {
        jfr_add_number(out, i + 1);
        jfr_add_string(out, span_of(texts[i]));
    }
}

static void add_threads(const struct profile *p, struct buf *out)
{
    begin_pool(out, JFR_THREAD, p->thread_count);
    for (size_t i = 0; i < p->thread_count; i++) {
        const struct profile_thread *t = &p->threads[i];

        jfr_add_number(out, i + 1);
        jfr_add_string(out, intern_get(p->strings, t->name));
        jfr_add_number(out, (uint64_t)t->host_tid);
        buf_add_char(out, 0);   /* no Java name, as the JVM's own id is not known: */
        jfr_add_number(out, 0); /* readers then show the two above */
        jfr_add_number(out, t->process < p->process_count ? (uint64_t)t->process + 1 : 0);
        buf_add_char(out, 0); /* not virtual */
    }
}

/* A group of threads for each process. */
static void add_groups(const struct profile *p, struct buf *out)
{
    _cleanup_buf_ struct buf name = BUF_NULL;

    buf_init(&name, POOLS_STRING_BYTES_MAX);
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

static void add_classes(const struct jfr_pools *p, struct buf *out)
{
    begin_pool(out, JFR_CLASS, p->classes.count);
    for (uint32_t i = 0; i < p->classes.count; i++) {
        jfr_add_number(out, (uint64_t)i + 1);
        jfr_add_number(out, 0); /* class loader */
        jfr_add_number(out, (uint64_t) * (const uint32_t *)id_table_get(&p->classes, i) + 1);
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
        jfr_add_string(out, intern_get(p->symbols, i));
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
    static const char *const STATES[] = { "STATE_RUNNABLE", "STATE_SLEEPING" };
    const struct profile *profile = p->v->profile;
    size_t begin = jfr_begin(out, JFR_CHECKPOINT);
    unsigned pools = 3 + (profile->thread_count != 0) + (profile->process_count != 0) +
                     (p->classes.count != 0) + (p->methods.count != 0) + (p->v->row_count != 0);

    jfr_add_number(out, ticks);
    jfr_add_number(out, 0); /* duration */
    jfr_add_number(out, 0); /* no checkpoint before this one */
    buf_add_char(out, 0);   /* not a flush */
    jfr_add_number(out, pools);
    add_texts(out, JFR_FRAME_TYPE, FRAME_TYPES, ARRAY_SIZE(FRAME_TYPES));
    add_texts(out, JFR_THREAD_STATE, STATES, ARRAY_SIZE(STATES));
    add_symbols(p, out);
    if (profile->thread_count) /* a pool without an entry is an error */
        add_threads(profile, out);
    if (profile->process_count)
        add_groups(profile, out);
    if (p->classes.count)
        add_classes(p, out);
    if (p->methods.count)
        add_methods(p, out);
    if (p->v->row_count)
        add_traces(p, out);
    jfr_end(out, begin);
}
