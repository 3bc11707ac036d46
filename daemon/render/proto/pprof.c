/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `pprof`, for `go tool pprof`, Parca and Pyroscope. A protobuf message is the concatenation
 * of its parts. So the profile is packed and compressed piece by piece, and no tree of a million
 * samples is ever in memory.
 */
#include "base/cleanup.h"
#include "render/deflater.h"
#include "render/formats.h"
#include "render/method_calls_table.h"
#include "render/proto/pprof.pb-c.h"
#include "render/proto/protobuf.h"
#include "render/proto/stacks.h"

#define PPROF_LABELS_MAX 7 /* labels of a thread and of a request */
#define FIELD_PROFILE_SAMPLE 2
#define PPROF_ZLIB_LEVEL 1 /* higher levels take far longer and save 2 % */
#define PPROF_STRING_BYTES_MAX ((size_t)256 << 20)

/* Labels of one thread while they are collected. */
struct pprof_labels {
    Pprof__Label labels[PPROF_LABELS_MAX], *refs[PPROF_LABELS_MAX];
    size_t n;
};

/* Packed fields of a sample, which are concatenated to the sample. */
struct pprof_fields {
    uint32_t first, n; /* range in pprof->fields */
    bool made;
};

struct pprof {
    const struct view *v;
    const struct render_value *values; /* as in struct render_opts */
    bool spans;                        /* as in struct render_opts */
    struct stacks stacks;
    struct intern *strings; /* the string table so far */
    struct buf piece;       /* a packed message on its way to the compressor */
    struct buf *out;
    struct deflater deflater;
    struct buf fields;            /* labels of threads, packed once for all samples of a thread */
    struct pprof_fields *threads; /* [thread_count + 1]; the last entry is for samples without a
                                   * thread */
    int error;                    /* the first error, sticky */
};

static void pprof_fail(struct pprof *x, int r)
{
    if (x->error == 0 && r < 0)
        x->error = r;
}

/* Passes the packed bytes to the compressor if there are enough. */
static void pprof_flush(struct pprof *x)
{
    pprof_fail(x, x->piece.error);
    if (x->piece.n >= (size_t)64 << 10 && !x->error) {
        pprof_fail(x, deflater_add(&x->deflater, buf_span(&x->piece), /* last= */ false, x->out));
        buf_clear(&x->piece);
    }
}

/* Writes a part of the profile. */
static void pprof_put(struct pprof *x, const Pprof__Profile *part)
{
    if (x->error)
        return;
    pack_message(&x->piece, &part->base);
    pprof_flush(x);
}

/* ---- strings ---- */

static int64_t pprof_string(struct pprof *x, struct span s)
{
    uint32_t id = 0;

    pprof_fail(x, intern_add(x->strings, s, &id) < 0 ? -ENOMEM : 0);
    return id;
}

static void pprof_put_strings(struct pprof *x)
{
    uint32_t n = intern_count(x->strings);

    for (uint32_t i = 0; i < n && !x->error; i++) {
        char *s = (char *)intern_get(x->strings, i).p; /* a NUL follows */
        Pprof__Profile part = PPROF__PROFILE__INIT;

        part.string_table = &s;
        part.n_string_table = 1;
        pprof_put(x, &part);
    }
}

static void pprof_comment(struct pprof *x, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void pprof_comment(struct pprof *x, const char *fmt, ...)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(RENDER_MAX_BYTES);
    Pprof__Profile part = PPROF__PROFILE__INIT;
    int64_t comment;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    pprof_fail(x, text.error);
    comment = pprof_string(x, buf_span(&text));
    part.comment = &comment;
    part.n_comment = 1;
    pprof_put(x, &part);
}

/* ---- tables ---- */

static void pprof_put_mappings(struct pprof *x)
{
    for (uint32_t i = 0; i < x->stacks.mappings.count && !x->error; i++) {
        Pprof__Mapping mapping = PPROF__MAPPING__INIT, *ref = &mapping;
        Pprof__Profile part = PPROF__PROFILE__INIT;

        mapping.id = i + 1;
        mapping.filename = pprof_string(x, stacks_mapping_path(&x->stacks, i));
        mapping.build_id = pprof_string(x, stacks_mapping_build_id(&x->stacks, i));
        /* All names are in the profile: readers need not look for the file. */
        mapping.has_functions = mapping.has_filenames = true;
        mapping.has_line_numbers = mapping.has_inline_frames = true;
        part.mapping = &ref;
        part.n_mapping = 1;
        pprof_put(x, &part);
    }
}

static void pprof_put_functions(struct pprof *x)
{
    for (uint32_t i = 0; i < x->stacks.functions.count && !x->error; i++) {
        const struct stacks_function *f = stacks_function(&x->stacks, i);
        Pprof__Function function = PPROF__FUNCTION__INIT, *ref = &function;
        Pprof__Profile part = PPROF__PROFILE__INIT;

        function.id = i + 1;
        /* no system name is set, so that readers do not try to demangle */
        function.name = pprof_string(x, view_string(x->v, f->name));
        function.filename = pprof_string(x, view_string(x->v, f->file));
        part.function = &ref;
        part.n_function = 1;
        pprof_put(x, &part);
    }
}

static void pprof_put_location(struct pprof *x, uint32_t id)
{
    const struct stacks *s = &x->stacks;
    uint32_t mapping = stacks_location_place(s, id)->mapping, n = 0, i = 0;
    Pprof__Location location = PPROF__LOCATION__INIT, *ref = &location;
    Pprof__Profile part = PPROF__PROFILE__INIT;
    _cleanup_free_ Pprof__Line *lines = NULL;
    _cleanup_free_ Pprof__Line **refs = NULL;

    for (uint32_t at = stacks_innermost(s, id); at != STACKS_NONE; at = stacks_node(s, at)->caller)
        n++;
    lines = calloc(n, sizeof(*lines));
    refs = calloc(n, sizeof(struct Pprof__Line *));
    if (!lines || !refs) {
        pprof_fail(x, -ENOMEM);
        return;
    }
    for (uint32_t at = stacks_innermost(s, id); i < n; at = stacks_node(s, at)->caller, i++) {
        pprof__line__init(&lines[i]);
        lines[i].function_id = (uint64_t)stacks_node_place(s, at)->function + 1;
        lines[i].line = stacks_node_place(s, at)->line;
        refs[i] = &lines[i];
    }
    location.id = id + 1;
    location.mapping_id = mapping == STACKS_NONE ? 0 : mapping + 1;
    location.line = refs;
    location.n_line = n;
    part.location = &ref;
    part.n_location = 1;
    pprof_put(x, &part);
}

/* ---- samples ---- */

static void labels_add_span(struct pprof *x, struct pprof_labels *l, const char *key, struct span s)
{
    Pprof__Label *label = &l->labels[l->n];

    if (!s.n)
        return;
    pprof__label__init(label);
    label->key = pprof_string(x, span_of(key));
    label->str = pprof_string(x, s);
    l->refs[l->n++] = label;
}

static void labels_add_text(struct pprof *x, struct pprof_labels *l, const char *key, uint32_t text)
{
    labels_add_span(x, l, key, intern_get(x->v->profile->strings, text));
}

static void labels_add_number(struct pprof *x, struct pprof_labels *l, const char *key, int64_t n)
{
    Pprof__Label *label = &l->labels[l->n];

    pprof__label__init(label);
    label->key = pprof_string(x, span_of(key));
    label->num = n;
    l->refs[l->n++] = label;
}

static void labels_pack(struct pprof_labels *l, struct buf *to)
{
    Pprof__Sample sample = PPROF__SAMPLE__INIT;

    sample.label = l->refs;
    sample.n_label = l->n;
    pack_message(to, &sample.base);
}

static void pprof_add_labels(struct pprof *x, uint32_t thread)
{
    const struct profile *p = x->v->profile;
    struct pprof_labels l = { .n = 0 };
    const struct profile_process *process;

    labels_add_text(x, &l, "thread", p->threads[thread].name);
    if (p->threads[thread].host_tid > 0)
        labels_add_number(x, &l, "tid", p->threads[thread].host_tid);
    if (p->threads[thread].process < p->process_count) {
        process = &p->processes[p->threads[thread].process];
        labels_add_number(x, &l, "pid", process->host_pid);
        labels_add_text(x, &l, "container", process->container);
        labels_add_text(x, &l, "pod", process->pod);
        labels_add_text(x, &l, "namespace", process->pod_namespace);
    }
    labels_pack(&l, &x->fields);
    pprof_fail(x, x->fields.error);
}

/* Returns the labels of a thread as fields of a sample, valid until the next call. */
static struct span pprof_labels_of(struct pprof *x, uint32_t thread)
{
    const struct profile *p = x->v->profile;
    struct pprof_fields *f = &x->threads[MIN((size_t)thread, p->thread_count)];

    if (!f->made && thread < p->thread_count) {
        f->first = (uint32_t)x->fields.n;
        pprof_add_labels(x, thread);
        f->n = (uint32_t)x->fields.n - f->first;
    }
    f->made = true;
    return f->n ? (struct span){ x->fields.p + f->first, f->n } : SPAN_NULL;
}

/* Appends to @to the label of the thread that held a lock, or of the age of an object. */
static void pprof_add_owner(struct pprof *x, uint32_t event, uint32_t owner, struct buf *to)
{
    const struct profile *p = x->v->profile;
    struct pprof_labels l = { .n = 0 };
    uint64_t age;

    if (!owner)
        return;
    if (profile_age(p, event, owner, &age))
        labels_add_number(x, &l, "age", (int64_t)age);
    else
        labels_add_text(x, &l, "lock_owner", p->functions[p->frames[owner].function].name);
    labels_pack(&l, to);
}

/* Appends the label of the thread's kind to @to, unless it is a platform thread. */
static void pprof_add_kind(struct pprof *x, uint32_t kind, struct buf *to)
{
    struct pprof_labels l = { .n = 0 };

    if (kind == THREAD_PLATFORM)
        return;
    labels_add_span(x, &l, "thread_kind", span_of(THREAD_KIND_NAMES[kind]));
    labels_pack(&l, to);
}

/* Adds the labels of @c for Pyroscope and Datadog. For Pyroscope, span_id is the first span of the
 * process. For Datadog, ids are numbers. */
static void labels_add_ids(struct pprof *x, struct pprof_labels *l, const struct profile_context *c)
{
    char trace[33], root[17];

    snprintf(trace, sizeof(trace), "%016llx%016llx", (unsigned long long)c->trace_high,
             (unsigned long long)c->trace_low);
    snprintf(root, sizeof(root), "%016llx", (unsigned long long)c->root);
    labels_add_span(x, l, "trace_id", span_of(trace));
    labels_add_text(x, l, "span_name", c->operation);
    labels_add_text(x, l, "trace endpoint", c->operation);
    if (!c->root)
        return;
    labels_add_span(x, l, "span_id", span_of(root));
    labels_add_number(x, l, "span id", (int64_t)c->span);
    labels_add_number(x, l, "local root span id", (int64_t)c->root);
}

/* Appends the labels of the request in @key to @to. */
static void pprof_add_request(struct pprof *x, const struct stacks_key *key, struct buf *to)
{
    const struct profile_context *c =
        x->spans && key->request ? &x->v->profile->contexts[key->request] : NULL;
    _cleanup_buf_ struct buf handler = BUF_UPTO(HANDLERS_TEXT_MAX);
    struct pprof_labels l = { .n = 0 };

    if (!key->request && !key->handler)
        return;
    if (key->handler)
        handlers_name(x->stacks.handlers, key->handler, &handler);
    pprof_fail(x, handler.error);
    if (handler.n)
        labels_add_span(x, &l, "operation", buf_span(&handler));
    else
        labels_add_text(x, &l, "operation", c ? c->operation : key->request);
    if (c && profile_context_has_ids(c))
        labels_add_ids(x, &l, c);
    labels_pack(&l, to);
}

/* Packs the locations of a stack, as fields of a sample, into @ret. @locations, @ids: room for
 * them. */
static void pprof_pack_stack(struct pprof *x, uint32_t stack, uint32_t *locations, uint64_t *ids,
                             struct buf *ret)
{
    Pprof__Sample sample = PPROF__SAMPLE__INIT;

    sample.n_location_id = stacks_get(&x->stacks, stack, locations);
    sample.location_id = ids;
    for (size_t k = 0; k < sample.n_location_id; k++)
        ids[k] = (uint64_t)locations[k] + 1;
    buf_clear(ret);
    pack_message(ret, &sample.base);
}

/* Returns how many values each sample has: two per event, or those that the request names. */
static size_t pprof_types(const struct pprof *x)
{
    size_t n = 0;

    while (x->values && n < RENDER_VALUES_MAX && x->values[n].type)
        n++;
    if (x->values)
        return n;
    return 2 * (x->v->opts.every_event ? x->v->profile->event_count : 1);
}

static void pprof_put_samples(struct pprof *x)
{
    const struct stacks *s = &x->stacks;
    _cleanup_free_ uint32_t *locations = calloc(s->longest, sizeof(*locations));
    _cleanup_free_ uint64_t *ids = calloc(s->longest, sizeof(*ids));
    _cleanup_buf_ struct buf stack = BUF_UPTO(PPROF_STRING_BYTES_MAX),
                             body = BUF_UPTO(PPROF_STRING_BYTES_MAX);

    if (!locations || !ids)
        pprof_fail(x, -ENOMEM);
    for (uint32_t i = 0; i < s->key_count && !x->error; i++) {
        const struct stacks_key *key = &s->keys[i];
        Pprof__Sample sample = PPROF__SAMPLE__INIT;
        int64_t values[2 * PROFILE_EVENTS_MAX] = { 0 };
        size_t at = x->v->opts.every_event && !x->values ? key->event * 2 : 0;

        values[at] = (int64_t)s->sums[i].samples;
        values[at + 1] = (int64_t)s->sums[i].value;

        if (!i || key->stack != key[-1].stack)
            pprof_pack_stack(x, key->stack, locations, ids, &stack);
        sample.value = values;
        sample.n_value = pprof_types(x);
        buf_clear(&body);
        buf_add_span(&body, buf_span(&stack));
        pack_message(&body, &sample.base);
        buf_add_span(&body, pprof_labels_of(x, key->thread));
        pprof_add_owner(x, key->event, key->owner, &body);
        pprof_add_request(x, key, &body);
        pprof_add_kind(x, key->kind, &body);
        pprof_fail(x, stack.error ? stack.error : body.error);
        pack_nested(&x->piece, FIELD_PROFILE_SAMPLE, buf_span(&body));
        pprof_flush(x);
    }
}

/* ---- the rest ---- */

/* Sets the types of both values of @e. With several events, the name for samples contains that of
 * @e. */
static void pprof_name_types(struct pprof *x, const struct profile_event *e,
                             Pprof__ValueType types[2])
{
    char name[sizeof(e->name) + 8];

    snprintf(name, sizeof(name), "%s_samples", e->name);
    pprof__value_type__init(&types[0]);
    pprof__value_type__init(&types[1]);
    types[0].type = pprof_string(x, x->v->opts.every_event ? span_of(name) : SPAN("samples"));
    types[0].unit = pprof_string(x, SPAN("count"));
    types[1].type = pprof_string(x, span_of(e->name));
    types[1].unit = pprof_string(x, span_of(e->unit));
}

static void pprof_use_names(struct pprof *x, Pprof__ValueType types[RENDER_VALUES_MAX])
{
    for (size_t i = 0; i < pprof_types(x); i++) {
        pprof__value_type__init(&types[i]);
        types[i].type = pprof_string(x, span_of(x->values[i].type));
        types[i].unit = pprof_string(x, span_of(x->values[i].unit));
    }
}

static void pprof_put_facts(struct pprof *x)
{
    const struct profile *p = x->v->profile;
    const struct profile_event *event = view_event(x->v);
    Pprof__ValueType types[2 * PROFILE_EVENTS_MAX] = { 0 }, *refs[2 * PROFILE_EVENTS_MAX];
    Pprof__Profile part = PPROF__PROFILE__INIT;

    if (x->values) {
        pprof_use_names(x, types);
    } else if (x->v->opts.every_event) {
        event = &p->events[0];
        for (uint32_t i = 0; i < p->event_count; i++)
            pprof_name_types(x, &p->events[i], &types[2 * i]);
    } else {
        pprof_name_types(x, event, types);
    }
    part.n_sample_type = pprof_types(x);
    for (size_t i = 0; i < part.n_sample_type; i++)
        refs[i] = &types[i];
    part.sample_type = refs;
    part.default_sample_type = types[1].type; /* time, as in profiles of Go programs */
    part.period_type = &types[1];
    part.period = (int64_t)event->period;
    part.time_nanos = (int64_t)p->start_realtime_ns;
    part.duration_nanos = p->end_ns > p->start_ns ? (int64_t)(p->end_ns - p->start_ns) : 0;
    pprof_put(x, &part);
}

static void pprof_put_comments(struct pprof *x, const struct render_opts *o)
{
    const struct profile *p = x->v->profile;

    if (o && o->version)
        pprof_comment(x, "flamed %s", o->version);
    if (o && o->title && *o->title)
        pprof_comment(x, "title: %s", o->title);
    if (p->target[0])
        pprof_comment(x, "target: %s", p->target);
    if (p->symbols[0])
        pprof_comment(x, "symbols: %s", p->symbols);
    pprof_comment(x, "quality: %llu samples, %llu unknown, %llu truncated, %llu lost",
                  (unsigned long long)x->v->samples, (unsigned long long)x->v->unknown,
                  (unsigned long long)x->v->truncated, (unsigned long long)p->lost);
    for (size_t i = 0; i < x->v->warning_count; i++)
        pprof_comment(x, "warning: %s", x->v->warnings[i]);
    for (size_t i = 0; i < report_call_count(x->v); i++) {
        _cleanup_buf_ struct buf text = BUF_UPTO(RENDER_MAX_BYTES);

        report_add_call(x->v, i, &text);
        pprof_fail(x, text.error);
        if (!text.error)
            pprof_comment(x, "calls: %s", text.p);
    }
}

static int pprof_init(struct pprof *x)
{
    int r = stacks_init(&x->stacks, x->v, /* owners= */ true,
                        x->spans ? STACKS_SPANS : STACKS_OPERATIONS);

    buf_init(&x->piece, PPROF_STRING_BYTES_MAX);
    buf_init(&x->fields, PPROF_STRING_BYTES_MAX);
    if (r == 0)
        r = intern_new(PPROF_STRING_BYTES_MAX, &x->strings);
    if (r == 0)
        r = deflater_open(&x->deflater, PPROF_ZLIB_LEVEL, DEFLATER_GZIP);
    x->threads = calloc(x->v->profile->thread_count + 1, sizeof(*x->threads));
    return r == 0 && !x->threads ? -ENOMEM : r;
}

static void pprof_deinit(struct pprof *x)
{
    stacks_deinit(&x->stacks);
    intern_free(x->strings);
    buf_deinit(&x->piece);
    buf_deinit(&x->fields);
    free(x->threads);
    deflater_close(&x->deflater);
}

int render_pprof(const struct view *v, const struct render_opts *o, struct buf *out,
                 struct error *err)
{
    _cleanup_(pprof_deinit) struct pprof x = { .v = v, .out = out };

    x.values = o ? o->values : NULL;
    x.spans = o && o->spans;
    pprof_fail(&x, pprof_init(&x));
    if (!x.error) {
        pprof_put_facts(&x);
        pprof_put_comments(&x, o);
        pprof_put_mappings(&x);
        pprof_put_functions(&x);
        for (uint32_t i = 0; i < x.stacks.locations.count && !x.error; i++)
            pprof_put_location(&x, i);
        pprof_put_samples(&x);
        pprof_put_strings(&x);
    }
    if (!x.error)
        pprof_fail(&x, deflater_add(&x.deflater, buf_span(&x.piece), /* last= */ true, out));
    if (x.error && !out->error)
        return error_code(err, x.error, "cannot render the profile");
    return render_result(out, err);
}
