/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `otlp`: a ProfilesData of OpenTelemetry. A process is a resource with one profile; a
 * sample is a stack in a thread, with the time and the value of each observation; tables are shared
 * in the dictionary. What flamed knows besides is in attributes named flamed.*.
 */
#include "base/cleanup.h"
#include "render/formats.h"
#include "render/pack.h"
#include "render/proto/otlp.pb-c.h"
#include "render/stacks.h"

#define OTLP_STRING_BYTES_MAX ((size_t)256 << 20)
#define OTLP_ATTRIBUTES_MAX 5 /* of a resource */
#define OTLP_FACTS 6          /* attributes of a profile, besides warnings */

/* Fields that hold what is packed on its own. */
enum {
    FIELD_DATA_RESOURCE = 1,
    FIELD_DATA_DICTIONARY = 2,
    FIELD_RESOURCE_SCOPES = 2,
    FIELD_SCOPE_PROFILES = 2
};

struct otlp {
    const struct view *v;
    struct stacks stacks;
    struct intern *strings;    /* the string table so far */
    struct buf dictionary;     /* packed: all tables but the strings */
    struct intern *attributes; /* the attribute table so far: "key\0type value" of each */
    int32_t facts[OTLP_FACTS + PROFILE_WARNINGS_MAX]; /* attributes of every profile */
    size_t fact_count;
    int32_t origins[STACKS_ORIGINS]; /* attributes, by enum stacks_origin */
    int32_t (*threads)[2];           /* [thread_count + 1]: attributes of name and id, 0: none */
    uint32_t *observed;              /* profile samples by their key, in the order of time */
    uint32_t *observed_at;           /* [keys.count + 1]: where a key's samples begin */
    uint64_t *times;                 /* of one sample at a time, as many as the longest has */
    int64_t *values;
    int error; /* the first one, sticky */
};

static void otlp_fail(struct otlp *x, int r)
{
    if (x->error == 0 && r < 0)
        x->error = r;
}

static int32_t otlp_string(struct otlp *x, struct span s)
{
    uint32_t id = 0;

    otlp_fail(x, intern_add(x->strings, s, &id) < 0 ? -ENOMEM : 0);
    return (int32_t)id;
}

static void put_entry(struct otlp *x, const Otlp__ProfilesDictionary *part)
{
    pack_message(&x->dictionary, &part->base);
}

/* ---- attributes ---- */

/* Adds an attribute once; @text is its value, to tell it from others. */
static int32_t put_attribute(struct otlp *x, const char *key, const Otlp__AnyValue *value,
                             const char *text)
{
    Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *ref = &attribute;
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    uint32_t before = intern_count(x->attributes), id = 0;
    _cleanup_buf_ struct buf name = BUF_NULL;

    buf_init(&name, OTLP_STRING_BYTES_MAX);
    buf_add(&name, key, strlen(key) + 1);
    buf_printf(&name, "%d ", (int)value->value_case);
    buf_add_str(&name, text);
    if (name.error || intern_add(x->attributes, buf_span(&name), &id) < 0)
        otlp_fail(x, -ENOMEM);
    if (id != before) /* an old one, or none */
        return (int32_t)id;
    attribute.key_strindex = otlp_string(x, span_of(key));
    attribute.value = (Otlp__AnyValue *)value;
    part.attribute_table = &ref;
    part.n_attribute_table = 1;
    put_entry(x, &part);
    return (int32_t)id;
}

static int32_t put_text(struct otlp *x, const char *key, const char *text)
{
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

    value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    value.string_value = (char *)text;
    return put_attribute(x, key, &value, text);
}

static int32_t put_number(struct otlp *x, const char *key, int64_t number)
{
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
    char text[24];

    value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
    value.int_value = number;
    snprintf(text, sizeof(text), "%lld", (long long)number);
    return put_attribute(x, key, &value, text);
}

/* Strings of the profile: a NUL follows each. */
static const char *text_of(const struct otlp *x, uint32_t string)
{
    return intern_get(x->v->profile->strings, string).p;
}

/* ---- dictionary ---- */

/* Entry 0 of every table is what nothing is. */
static void put_zero_entries(struct otlp *x)
{
    Otlp__Mapping mapping = OTLP__MAPPING__INIT, *mapping_ref = &mapping;
    Otlp__Location location = OTLP__LOCATION__INIT, *location_ref = &location;
    Otlp__Function function = OTLP__FUNCTION__INIT, *function_ref = &function;
    Otlp__Link link = OTLP__LINK__INIT, *link_ref = &link;
    Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *attribute_ref = &attribute;
    Otlp__Stack stack = OTLP__STACK__INIT, *stack_ref = &stack;
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

    part.mapping_table = &mapping_ref;
    part.location_table = &location_ref;
    part.function_table = &function_ref;
    part.link_table = &link_ref;
    part.attribute_table = &attribute_ref;
    part.stack_table = &stack_ref;
    part.n_mapping_table = part.n_location_table = part.n_function_table = part.n_link_table =
        part.n_attribute_table = part.n_stack_table = 1;
    put_entry(x, &part); /* x->attributes has its entry 0 from the beginning */
}

static void put_mappings(struct otlp *x)
{
    for (uint32_t i = 0; i < x->stacks.mappings.count && !x->error; i++) {
        struct span build_id = stacks_mapping_build_id(&x->stacks, i);
        Otlp__Mapping mapping = OTLP__MAPPING__INIT, *ref = &mapping;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
        int32_t attribute;

        mapping.filename_strindex = otlp_string(x, stacks_mapping_path(&x->stacks, i));
        if (build_id.n) {
            attribute = put_text(x, "process.executable.build_id.gnu", build_id.p);
            mapping.attribute_indices = &attribute;
            mapping.n_attribute_indices = 1;
        }
        part.mapping_table = &ref;
        part.n_mapping_table = 1;
        put_entry(x, &part);
    }
}

static void put_functions(struct otlp *x)
{
    for (uint32_t i = 0; i < x->stacks.functions.count && !x->error; i++) {
        const struct stacks_function *f = stacks_function(&x->stacks, i);
        Otlp__Function function = OTLP__FUNCTION__INIT, *ref = &function;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

        function.name_strindex = otlp_string(x, view_string(x->v, f->name));
        function.filename_strindex = otlp_string(x, view_string(x->v, f->file));
        part.function_table = &ref;
        part.n_function_table = 1;
        put_entry(x, &part);
    }
}

static void put_location(struct otlp *x, uint32_t id)
{
    const struct stacks *s = &x->stacks;
    const struct stacks_place *place = stacks_location_place(s, id);
    uint32_t n = 0, i = 0;
    Otlp__Location location = OTLP__LOCATION__INIT, *ref = &location;
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    _cleanup_free_ Otlp__Line *lines = NULL;
    _cleanup_free_ Otlp__Line **refs = NULL;

    for (uint32_t at = stacks_innermost(s, id); at != STACKS_NONE; at = stacks_node(s, at)->caller)
        n++;
    lines = calloc(n, sizeof(*lines));
    refs = calloc(n, sizeof(struct Otlp__Line *));
    if (!lines || !refs) {
        otlp_fail(x, -ENOMEM);
        return;
    }
    for (uint32_t at = stacks_innermost(s, id); i < n; at = stacks_node(s, at)->caller, i++) {
        otlp__line__init(&lines[i]);
        lines[i].function_index = (int32_t)stacks_node_place(s, at)->function + 1;
        lines[i].line = stacks_node_place(s, at)->line;
        refs[i] = &lines[i];
    }
    if (place->mapping != STACKS_NONE)
        location.mapping_index = (int32_t)place->mapping + 1;
    location.lines = refs;
    location.n_lines = n;
    location.attribute_indices = &x->origins[place->origin];
    location.n_attribute_indices = place->origin != STACKS_NO_CODE;
    part.location_table = &ref;
    part.n_location_table = 1;
    put_entry(x, &part);
}

static void put_stacks(struct otlp *x)
{
    const struct stacks *s = &x->stacks;
    _cleanup_free_ uint32_t *locations = calloc(s->longest, sizeof(*locations));
    _cleanup_free_ int32_t *indices = calloc(s->longest, sizeof(*indices));

    if (!locations || !indices)
        otlp_fail(x, -ENOMEM);
    for (uint32_t i = 1; i < intern_count(s->texts) && !x->error; i++) {
        Otlp__Stack stack = OTLP__STACK__INIT, *ref = &stack;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

        stack.n_location_indices = stacks_get(s, i, locations);
        stack.location_indices = indices;
        for (size_t k = 0; k < stack.n_location_indices; k++)
            indices[k] = (int32_t)locations[k] + 1;
        part.stack_table = &ref;
        part.n_stack_table = 1;
        put_entry(x, &part);
    }
}

static void put_threads(struct otlp *x)
{
    const struct profile *p = x->v->profile;

    for (size_t i = 0; i < p->thread_count && !x->error; i++) {
        x->threads[i][0] = put_number(x, "thread.id", p->threads[i].host_tid);
        if (p->threads[i].name)
            x->threads[i][1] = put_text(x, "thread.name", text_of(x, p->threads[i].name));
    }
}

static void put_strings(struct otlp *x)
{
    for (uint32_t i = 0; i < intern_count(x->strings) && !x->error; i++) {
        char *s = (char *)intern_get(x->strings, i).p;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

        part.string_table = &s;
        part.n_string_table = 1;
        put_entry(x, &part);
    }
}

/* ---- samples ---- */

/* Sorts the profile's samples by key; where the view knows none, nothing is observed. */
static int otlp_observe(struct otlp *x)
{
    const struct view *v = x->v;
    const struct profile *p = v->profile;
    size_t n = v->sample_rows ? p->sample_count : 0, longest = 1;
    _cleanup_free_ uint32_t *keys = calloc(n + 1, sizeof(*keys));

    x->observed = calloc(n + 1, sizeof(*x->observed));
    x->observed_at = calloc((size_t)x->stacks.keys.count + 2, sizeof(*x->observed_at));
    if (!keys || !x->observed || !x->observed_at)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct profile_sample *s = &p->samples[i];
        uint32_t row = v->sample_rows[i];
        struct stacks_key key = { .stack = row == VIEW_NO_ROW ? STACKS_NONE
                                                              : x->stacks.stack_of_row[row],
                                  .thread = s->thread < p->thread_count ? s->thread : STACKS_NONE };

        if (!id_table_find(&x->stacks.keys, &key, &keys[i]))
            keys[i] = STACKS_NONE;
        else
            x->observed_at[keys[i] + 2]++;
    }
    for (uint32_t k = 0; k < x->stacks.keys.count; k++) {
        longest = MAX(longest, (size_t)x->observed_at[k + 2]);
        x->observed_at[k + 2] += x->observed_at[k + 1];
    }
    for (size_t i = 0; i < n; i++) /* now [k + 1] is where k begins; then it is where k ends */
        if (keys[i] != STACKS_NONE)
            x->observed[x->observed_at[keys[i] + 1]++] = (uint32_t)i;
    x->times = calloc(longest, sizeof(*x->times));
    x->values = calloc(longest, sizeof(*x->values));
    return x->times && x->values ? 0 : -ENOMEM;
}

static int64_t value_of(const struct otlp *x, uint64_t samples)
{
    return (int64_t)render_weight(x->v, samples, samples * x->v->profile->period);
}

static void put_sample(struct otlp *x, uint32_t id, struct buf *profile)
{
    const struct profile *p = x->v->profile;
    const struct stacks_key *key = stacks_key(&x->stacks, id);
    int32_t *attributes = x->threads[MIN((size_t)key->thread, p->thread_count)];
    uint32_t from = x->observed_at[id], n = x->observed_at[id + 1] - from;
    Otlp__Sample sample = OTLP__SAMPLE__INIT, *ref = &sample;
    Otlp__Profile part = OTLP__PROFILE__INIT;

    for (uint32_t i = 0; i < n; i++) {
        const struct profile_sample *s = &p->samples[x->observed[from + i]];

        x->times[i] = p->start_realtime_ns + s->time_ns - p->start_ns;
        x->values[i] = value_of(x, s->count);
    }
    if (!n)
        x->values[0] = value_of(x, x->stacks.counts[id]);
    sample.stack_index = (int32_t)key->stack;
    sample.attribute_indices = attributes;
    sample.n_attribute_indices = (attributes[0] != 0) + (attributes[1] != 0);
    sample.values = x->values;
    sample.n_values = n ? n : 1;
    sample.timestamps_unix_nano = x->times;
    sample.n_timestamps_unix_nano = n;
    part.samples = &ref;
    part.n_samples = 1;
    pack_message(profile, &part.base);
}

/* ---- resources ---- */

static void add_facts(struct otlp *x)
{
    const struct profile *p = x->v->profile;
    size_t n = 0;

    x->facts[n++] = put_text(x, "flamed.target", p->target);
    x->facts[n++] = put_text(x, "flamed.symbols", p->symbols);
    x->facts[n++] = put_number(x, "flamed.samples", (int64_t)x->v->samples);
    x->facts[n++] = put_number(x, "flamed.unknown", (int64_t)x->v->unknown);
    x->facts[n++] = put_number(x, "flamed.truncated", (int64_t)x->v->truncated);
    x->facts[n++] = put_number(x, "flamed.lost", (int64_t)p->lost);
    for (size_t i = 0; i < p->warning_count; i++) {
        char key[48];

        snprintf(key, sizeof(key), "flamed.warning.%zu", i + 1); /* keys are unique */
        x->facts[n++] = put_text(x, key, p->warnings[i]);
    }
    x->fact_count = n;
}

static void put_facts(struct otlp *x, struct buf *profile)
{
    const struct profile *p = x->v->profile;
    Otlp__ValueType type = OTLP__VALUE_TYPE__INIT, period = OTLP__VALUE_TYPE__INIT;
    Otlp__Profile part = OTLP__PROFILE__INIT;

    period.type_strindex = otlp_string(x, span_of(p->event));
    period.unit_strindex = otlp_string(x, span_of(p->unit));
    type.type_strindex = x->v->opts.total ? period.type_strindex : otlp_string(x, SPAN("samples"));
    type.unit_strindex = x->v->opts.total ? period.unit_strindex : otlp_string(x, SPAN("count"));
    part.sample_type = &type;
    part.period_type = &period;
    part.period = (int64_t)p->period;
    part.time_unix_nano = p->start_realtime_ns;
    part.duration_nano = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    part.attribute_indices = x->facts;
    part.n_attribute_indices = x->fact_count;
    pack_message(profile, &part.base);
}

/* A resource's attributes while they are collected. */
struct otlp_resource {
    Otlp__KeyValue pairs[OTLP_ATTRIBUTES_MAX], *refs[OTLP_ATTRIBUTES_MAX];
    Otlp__AnyValue values[OTLP_ATTRIBUTES_MAX];
    size_t n;
};

static Otlp__AnyValue *resource_add(struct otlp_resource *r, const char *key)
{
    Otlp__KeyValue *pair = &r->pairs[r->n];

    otlp__key_value__init(pair);
    otlp__any_value__init(&r->values[r->n]);
    pair->key = (char *)key;
    pair->value = &r->values[r->n];
    r->refs[r->n] = pair;
    return &r->values[r->n++];
}

static void resource_add_text(struct otlp_resource *r, const char *key, const char *text)
{
    Otlp__AnyValue *value;

    if (!text[0])
        return;
    value = resource_add(r, key);
    value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    value->string_value = (char *)text;
}

static void put_resource(const struct otlp *x, uint32_t process, struct buf *out)
{
    const struct profile *p = x->v->profile;
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    Otlp__ResourceProfiles part = OTLP__RESOURCE_PROFILES__INIT;
    struct otlp_resource r = { 0 };

    if (process < p->process_count) {
        const struct profile_process *q = &p->processes[process];
        Otlp__AnyValue *pid;

        resource_add_text(&r, "service.name", text_of(x, q->name));
        pid = resource_add(&r, "process.pid");
        pid->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
        pid->int_value = q->host_pid;
        resource_add_text(&r, "container.id", text_of(x, q->container));
        resource_add_text(&r, "k8s.pod.name", text_of(x, q->pod));
        resource_add_text(&r, "k8s.namespace.name", text_of(x, q->pod_namespace));
    }
    resource.attributes = r.refs;
    resource.n_attributes = r.n;
    part.resource = &resource;
    pack_message(out, &part.base);
}

static uint32_t process_of(const struct otlp *x, uint32_t key)
{
    const struct profile *p = x->v->profile;
    uint32_t thread = stacks_key(&x->stacks, key)->thread;

    return thread < p->thread_count ? p->threads[thread].process : STACKS_NONE;
}

static int by_process(const void *a, const void *b, void *ctx)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t p = process_of(ctx, x), q = process_of(ctx, y);

    return p != q ? (p < q ? -1 : 1) : (x > y) - (x < y);
}

/* The resource of keys[0 .. n), all of one process. */
static void put_process(struct otlp *x, const struct render_opts *o, const uint32_t *keys, size_t n,
                        struct buf *out)
{
    _cleanup_buf_ struct buf profile = BUF_NULL, scopes = BUF_NULL, resource = BUF_NULL;
    Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
    Otlp__ScopeProfiles part = OTLP__SCOPE_PROFILES__INIT;

    buf_init(&profile, out->max);
    buf_init(&scopes, out->max);
    buf_init(&resource, out->max);
    put_facts(x, &profile);
    for (size_t i = 0; i < n && !x->error && !profile.error; i++)
        put_sample(x, keys[i], &profile);
    scope.name = (char *)"flamed";
    if (o && o->version)
        scope.version = (char *)o->version;
    part.scope = &scope;
    pack_message(&scopes, &part.base);
    pack_nested(&scopes, FIELD_SCOPE_PROFILES, buf_span(&profile));
    put_resource(x, n ? process_of(x, keys[0]) : 0, &resource);
    pack_nested(&resource, FIELD_RESOURCE_SCOPES, buf_span(&scopes));
    pack_nested(out, FIELD_DATA_RESOURCE, buf_span(&resource));
    otlp_fail(x, profile.error ? profile.error : scopes.error ? scopes.error : resource.error);
}

static void put_processes(struct otlp *x, const struct render_opts *o, struct buf *out)
{
    size_t n = x->stacks.keys.count;
    _cleanup_free_ uint32_t *keys = calloc(n + 1, sizeof(*keys));

    if (!keys) {
        otlp_fail(x, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++)
        keys[i] = (uint32_t)i;
    qsort_r(keys, n, sizeof(*keys), by_process, x);
    if (!n)
        put_process(x, o, keys, 0, out);
    for (size_t from = 0, to; from < n && !x->error; from = to) {
        for (to = from + 1; to < n && process_of(x, keys[to]) == process_of(x, keys[from]);)
            to++;
        put_process(x, o, keys + from, to - from, out);
    }
}

static int otlp_init(struct otlp *x, size_t max_bytes)
{
    int r = stacks_init(&x->stacks, x->v);

    buf_init(&x->dictionary, max_bytes);
    if (r == 0)
        r = intern_new(OTLP_STRING_BYTES_MAX, &x->strings);
    if (r == 0)
        r = intern_new(OTLP_STRING_BYTES_MAX, &x->attributes);
    if (r == 0)
        r = otlp_observe(x);
    x->threads = calloc(x->v->profile->thread_count + 1, sizeof(*x->threads));
    return r == 0 && !x->threads ? -ENOMEM : r;
}

static void otlp_deinit(struct otlp *x)
{
    stacks_deinit(&x->stacks);
    intern_free(x->strings);
    intern_free(x->attributes);
    buf_deinit(&x->dictionary);
    free(x->threads);
    free(x->observed);
    free(x->observed_at);
    free(x->times);
    free(x->values);
}

int render_otlp(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_(otlp_deinit) struct otlp x = { .v = v };

    otlp_fail(&x, otlp_init(&x, out->max));
    if (!x.error) {
        put_zero_entries(&x);
        x.origins[STACKS_JAVA] = put_text(&x, "profile.frame.type", "jvm");
        x.origins[STACKS_NATIVE] = put_text(&x, "profile.frame.type", "native");
        x.origins[STACKS_KERNEL] = put_text(&x, "profile.frame.type", "kernel");
        add_facts(&x);
        put_threads(&x);
        put_mappings(&x);
        put_functions(&x);
        for (uint32_t i = 0; i < x.stacks.locations.count && !x.error; i++)
            put_location(&x, i);
        put_stacks(&x);
        put_processes(&x, o, out);
        put_strings(&x);
        pack_nested(out, FIELD_DATA_DICTIONARY, buf_span(&x.dictionary));
    }
    if (!x.error && x.dictionary.error)
        return render_result(&x.dictionary, err);
    if (x.error == -EFBIG && !out->error)
        out->error = -EFBIG;
    if (x.error && !out->error)
        return error_code(err, x.error, "cannot render the profile");
    return render_result(out, err);
}
