/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the constant pools of a recording: classes, methods, stack traces. A native function is a
 * method of its file, as in async-profiler.
 */
#include "render/jfr/jfr.h"

#define POOLS_TRACE_BYTES_MAX ((size_t)1 << 30)
#define PID_MAX (UINT32_C(1) << 22) /* limit of Linux on 64 bits */

static int add_symbol(struct jfr_pools *p, struct span s, uint32_t *ret)
{
    return intern_add(p->symbols, s, ret) < 0 ? -ENOMEM : 0;
}

/* Adds a class by its name in the spelling of class files. */
static int add_class(struct jfr_pools *p, struct span name, uint32_t *ret)
{
    struct jfr_class c = { 0 };
    size_t slash = span_rfind(name, '/');
    size_t array = name.n && name.p[0] == '[' ? span_find(name, 'L') + 1 : 0;
    int r = add_symbol(p, name, &c.name);

    if (r == 0 && slash < name.n && array < slash) {
        struct span package = { name.p + array, slash - array };
        uint32_t symbol = 0;

        r = add_symbol(p, package, &symbol);
        if (r == 0 && id_table_add(&p->packages, &symbol, &c.package) < 0)
            r = -ENOMEM;
        c.package++;
    }
    return r < 0 || id_table_add(&p->classes, &c, ret) < 0 ? -ENOMEM : 0;
}

int jfr_pools_class(struct jfr_pools *p, struct span name, uint32_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(JFR_STRING_BYTES_MAX);

    jfr_add_class_name(&text, name);
    return text.error ? -ENOMEM : add_class(p, buf_span(&text), ret);
}

/* Adds the class of code other than Java. */
static int add_file(struct jfr_pools *p, const struct view_frame *f, uint32_t *ret)
{
    struct span path = view_string(p->v, f->module);
    struct span unknown = f->kind == FRAME_STUB ? SPAN("code cache") : SPAN("unknown");
    struct span name = path.n ? jfr_file_class(path) : unknown;

    return add_class(p, name.n ? name : unknown, ret);
}

/* Adds the method of a frame of the view. */
static int add_method(struct jfr_pools *p, uint32_t frame)
{
    const struct view_frame *f = &p->v->frames[frame];
    const struct profile *profile = p->v->profile;
    const struct function *fn = &profile->functions[f->frame < profile->frame_count && f->frame
                                                        ? profile->frames[f->frame].function
                                                        : 0];
    bool java = f->frame && fn->class_name && profile->frames[f->frame].leaf != FRAME_LEAF_UNSURE;
    _cleanup_buf_ struct buf descriptor = BUF_UPTO(JFR_STRING_BYTES_MAX);
    struct jfr_method m = { 0 };
    int r;

    jfr_add_descriptor(&descriptor, java ? intern_get(profile->strings, fn->signature) : SPAN_NULL);
    r = descriptor.error ? -ENOMEM : add_symbol(p, buf_span(&descriptor), &m.descriptor);
    if (r == 0 && java)
        r = jfr_pools_class(p, intern_get(profile->strings, fn->class_name), &m.class_id);
    else if (r == 0)
        r = add_file(p, f, &m.class_id);
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

/* Returns whether @frame is shown: processes, threads and groups are not. A missing root sets
 * *truncated. */
static bool is_shown(const struct view *v, uint32_t frame, bool *truncated)
{
    const struct view_frame *f = &v->frames[frame];

    if (f->kind == FRAME_TRUNCATED && span_eq_str(view_string(v, f->name), "[truncated]")) {
        *truncated = true;
        return false;
    }
    return f->kind != FRAME_PROCESS && f->kind != FRAME_THREAD && f->kind != FRAME_REQUEST;
}

/* Returns the number of frames at the leaf of @row that are not code: an allocated class, or a kind
 * of wait and the class or futex that it is for. The type and fields of the event show these. */
static uint32_t objects_of(const struct view *v, const struct view_row *row)
{
    const uint32_t *stack = v->stack + row->first;
    uint32_t n = row->n;

    if (n && v->frames[stack[n - 1]].kind == FRAME_CLASS)
        return 1;
    if (n > 1 && frame_kind_is_wait(v->frames[stack[n - 1]].kind) &&
        frame_kind_is_wait(v->frames[stack[n - 2]].kind))
        return 2;
    return 0;
}

static bool is_futex(struct span object)
{
    return span_starts_with(object, "0x");
}

/* Returns the number of frames of @row that its events show. For a wait for a Java lock, the
 * innermost Java method is the last frame: otherwise views of contention would show only code of
 * the VM and the C library. */
static uint32_t code_of(const struct view *v, const struct view_row *row)
{
    const uint32_t *stack = v->stack + row->first;
    uint32_t objects = objects_of(v, row), n = row->n - objects, java = n;

    if (objects < 2 || is_futex(view_string(v, v->frames[stack[row->n - 1]].name)))
        return n;
    while (java && !frame_kind_is_java((enum frame_kind)v->frames[stack[java - 1]].kind))
        java--;
    return java ? java : n;
}

static int add_object(struct jfr_pools *p, size_t r)
{
    const struct view_row *row = &p->v->rows[r];
    struct span name = view_string(p->v, p->v->frames[p->v->stack[row->first + row->n - 1]].name);
    uint32_t id;
    int error;

    if (!name.n || name.p[0] == '[' || is_futex(name)) /* "[lock of unknown class]" */
        return 0;
    error = jfr_pools_class(p, name, &id);
    if (error == 0)
        p->object_of_row[r] = id + 1;
    return error;
}

static int add_trace(struct jfr_pools *p, size_t r, struct buf *text)
{
    const struct view *v = p->v;
    const struct view_row *row = &v->rows[r];
    bool truncated = false;

    buf_clear(text);
    buf_add_char(text, 0);
    for (uint32_t i = code_of(v, row); i > 0; i--) {
        uint32_t frame = v->stack[row->first + i - 1];

        if (is_shown(v, frame, &truncated))
            buf_add(text, &frame, sizeof(frame));
    }
    if (text->error)
        return -ENOMEM;
    text->p[0] = truncated;
    if (intern_add(p->traces, buf_span(text), &p->trace_of_row[r]) < 0)
        return -ENOMEM;
    return objects_of(v, row) ? add_object(p, r) : 0;
}

/* Sets the keys of threads. async-profiler's converter shows the key as the thread's id. If two
 * threads have the same id, from different times or processes, the second gets a key above all
 * ids. */
static int add_threads(struct jfr_pools *p)
{
    const struct profile *profile = p->v->profile;
    struct id_table seen;
    int r = 0;

    p->key_of_thread = calloc(profile->thread_count + 1, sizeof(*p->key_of_thread));
    if (!p->key_of_thread)
        return -ENOMEM;
    id_table_init(&seen, sizeof(int32_t), UINT32_MAX / 2);
    for (size_t i = 0; i < profile->thread_count && r >= 0; i++) {
        int32_t tid = profile->threads[i].host_tid;
        uint32_t id;

        r = id_table_add(&seen, &tid, &id);
        p->key_of_thread[i] = r == 1 && tid > 0 ? (uint32_t)tid : PID_MAX + 1 + (uint32_t)i;
    }
    id_table_deinit(&seen);
    return r < 0 ? -ENOMEM : 0;
}

int jfr_pools_init(struct jfr_pools *p, const struct view *v)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(JFR_STRING_BYTES_MAX);
    int r;

    *p = (struct jfr_pools){ .v = v };
    id_table_init(&p->packages, sizeof(uint32_t), UINT32_MAX / 2);
    id_table_init(&p->classes, sizeof(struct jfr_class), UINT32_MAX / 2);
    id_table_init(&p->methods, sizeof(struct jfr_method), UINT32_MAX / 2);
    p->method_of_frame = calloc(v->frame_count + 1, sizeof(*p->method_of_frame));
    p->trace_of_row = calloc(v->row_count + 1, sizeof(*p->trace_of_row));
    p->object_of_row = calloc(v->row_count + 1, sizeof(*p->object_of_row));
    if (!p->method_of_frame || !p->trace_of_row || !p->object_of_row)
        return -ENOMEM;
    r = intern_new(JFR_STRING_BYTES_MAX, &p->symbols) ?:
        intern_new(POOLS_TRACE_BYTES_MAX, &p->traces) ?:
        add_threads(p);
    for (size_t i = 0; i < v->frame_count && r == 0; i++)
        r = add_method(p, (uint32_t)i);
    for (size_t i = 0; i < v->row_count && r == 0; i++)
        r = add_trace(p, i, &text);
    return r;
}

void jfr_pools_deinit(struct jfr_pools *p)
{
    intern_free(p->symbols);
    id_table_deinit(&p->packages);
    id_table_deinit(&p->classes);
    id_table_deinit(&p->methods);
    intern_free(p->traces);
    free(p->trace_of_row);
    free(p->object_of_row);
    free(p->key_of_thread);
    free(p->method_of_frame);
}
