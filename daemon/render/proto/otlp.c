/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format `otlp`: a ProfilesData of OpenTelemetry. A process is a resource with a profile for each
 * event; a sample is a stack in a thread, with its times or values; tables are shared in the
 * dictionary. Further facts are attributes named flamed.*.
 */
#include "base/cleanup.h"
#include "base/url.h"
#include "render/proto/otlp.pb-c.h"
#include "render/proto/otlp_dictionary.h"
#include "render/proto/protobuf.h"

#define OTLP_ATTRIBUTES_MAX 16 /* limit of attributes of a resource */
#define OTLP_LINK_BYTES ((size_t)8192)
/* limit of times; a sample has as many times as its count */
#define OTLP_TIMES_MAX UINT64_C(8000000)

/* Numbers of fields that are packed separately. */
enum {
    FIELD_DATA_RESOURCE = 1,
    FIELD_DATA_DICTIONARY = 2,
    FIELD_RESOURCE_SCOPES = 2,
    FIELD_SCOPE_PROFILES = 2
};

struct otlp {
    const struct view *v;
    struct otlp_dictionary d;
    uint32_t *observed;    /* samples of the profile by key, in order of time */
    uint32_t *observed_at; /* [key_count + 1]: first place of each key in observed */
    uint64_t *times;       /* buffer for the times of one sample, sized for the longest list */
    int64_t *values;
    bool timeless; /* samples have only sums: their times are not known, or too many */
    int error;     /* the first error, sticky */
};

static void otlp_fail(struct otlp *x, int r)
{
    if (x->error == 0 && r < 0)
        x->error = r;
}

/* Strings of the profile: a NUL follows each. */
static const char *text_of(const struct otlp *x, uint32_t string)
{
    return intern_get(x->v->profile->strings, string).p;
}

/* ---- samples ---- */

/* Sorts the profile's samples by key. Without keys of samples in the view, there is nothing to
 * do. */
static int otlp_observe(struct otlp *x)
{
    const uint32_t *keys = x->d.stacks.key_of_sample;
    uint64_t all = 0;
    size_t n = keys ? x->v->profile->sample_count : 0, longest = 1;
    _cleanup_free_ uint64_t *times = calloc((size_t)x->d.stacks.key_count + 1, sizeof(*times));

    x->observed = calloc(n + 1, sizeof(*x->observed));
    x->observed_at = calloc((size_t)x->d.stacks.key_count + 2, sizeof(*x->observed_at));
    if (!x->observed || !x->observed_at || !times)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (keys[i] == STACKS_NONE)
            continue;
        x->observed_at[keys[i] + 2]++;
        times[keys[i]] += x->v->profile->samples[i].count;
        all += x->v->profile->samples[i].count;
    }
    x->timeless = x->timeless || !keys || all > OTLP_TIMES_MAX;
    for (uint32_t k = 0; k < x->d.stacks.key_count; k++) {
        longest = MAX(longest, (size_t)(x->timeless ? x->observed_at[k + 2] : times[k]));
        x->observed_at[k + 2] += x->observed_at[k + 1];
    }
    for (size_t i = 0; i < n; i++) /* [k + 1]: the start of k before the loop, the end of k after
                                    * it */
        if (keys[i] != STACKS_NONE)
            x->observed[x->observed_at[keys[i] + 1]++] = (uint32_t)i;
    x->times = calloc(longest, sizeof(*x->times));
    x->values = calloc(longest, sizeof(*x->values));
    return x->times && x->values ? 0 : -ENOMEM;
}

/* The form of a profile's samples. Pyroscope accepts a period only if each sample has at most one
 * value, and not if values are time off the processor. */
enum otlp_shape {
    SHAPE_TIMES, /* a time for each sample, none has a value; period */
    SHAPE_VALUE, /* one value, no time; period */
    SHAPE_BOTH,  /* a time and a value for each sample; no period */
};

static enum otlp_shape shape_of(const struct otlp *x, const struct profile_event *event)
{
    if (!view_weighs_by_value(&x->v->opts, event))
        return x->timeless ? SHAPE_VALUE : SHAPE_TIMES;
    return strcmp(event->name, "offcpu") == 0 ? SHAPE_BOTH : SHAPE_VALUE;
}

static uint64_t time_of(const struct profile *p, const struct profile_sample *s)
{
    return p->start_realtime_ns + s->time_ns - p->start_ns;
}

/* Sets the times and values of one key's samples, according to @shape. */
static void observe(struct otlp *x, uint32_t id, enum otlp_shape shape, Otlp__Sample *sample)
{
    const struct profile *p = x->v->profile;
    const struct view_sum *sum = &x->d.stacks.sums[id];
    uint32_t from = x->observed_at[id], n = x->observed_at[id + 1] - from;
    bool total = view_weighs_by_value(&x->v->opts, &p->events[x->d.stacks.keys[id].event]);
    size_t times = 0;

    sample->values = x->values;
    sample->timestamps_unix_nano = x->times;
    if (shape == SHAPE_VALUE || !n) {
        x->values[0] = (int64_t)(total ? sum->value : sum->samples);
        sample->n_values = 1;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct profile_sample *s = &p->samples[x->observed[from + i]];
        uint32_t count = shape == SHAPE_TIMES ? s->count : 1;

        x->values[i] = (int64_t)s->value;
        for (uint32_t k = 0; k < count; k++)
            x->times[times++] = time_of(p, s);
    }
    sample->n_timestamps_unix_nano = times;
    sample->n_values = shape == SHAPE_BOTH ? n : 0;
}

/* Adds the link and the attribute of the request in @key to the sample; @attributes: room for one
 * more. */
static void put_request(struct otlp *x, const struct stacks_key *key, int32_t *attributes,
                        Otlp__Sample *sample)
{
    const struct profile_context *c = &x->v->profile->contexts[key->request];
    _cleanup_buf_ struct buf handler = BUF_UPTO(HANDLERS_TEXT_MAX);

    if (key->request)
        sample->link_index = otlp_link(&x->d, c);
    if (key->handler)
        handlers_name(x->d.stacks.handlers, key->handler, &handler);
    x->d.error = x->d.error ?: handler.error;
    if (handler.n || (key->request && c->operation))
        attributes[sample->n_attribute_indices++] = otlp_attribute(
            &x->d, "flamed.operation", handler.n ? handler.p : text_of(x, c->operation));
}

static void put_sample(struct otlp *x, uint32_t id, enum otlp_shape shape, struct buf *profile)
{
    const struct stacks_key *key = &x->d.stacks.keys[id];
    const int32_t *of_thread = x->d.threads[MIN((size_t)key->thread, x->v->profile->thread_count)];
    int32_t attributes[OTLP_THREAD_ATTRIBUTES + 2];
    Otlp__Sample sample = OTLP__SAMPLE__INIT, *ref = &sample;
    Otlp__Profile part = OTLP__PROFILE__INIT;

    observe(x, id, shape, &sample);
    sample.stack_index = (int32_t)key->stack;
    sample.attribute_indices = attributes;
    for (size_t i = 0; i < OTLP_THREAD_ATTRIBUTES && of_thread[i]; i++)
        attributes[sample.n_attribute_indices++] = of_thread[i];
    if (key->request || key->handler)
        put_request(x, key, attributes, &sample);
    if (key->kind != THREAD_PLATFORM)
        attributes[sample.n_attribute_indices++] =
            otlp_attribute(&x->d, "flamed.thread.kind", THREAD_KIND_NAMES[key->kind]);
    part.samples = &ref;
    part.n_samples = 1;
    pack_message(profile, &part.base);
}

/* ---- resources ---- */

/* Returns the name that Pyroscope, Go and OpenTelemetry's profiler have for the values of
 * @event. */
static struct span type_of(const struct profile_event *event)
{
    static const struct {
        const char *event, *type;
    } NAMES[] = {
        { "offcpu", "off_cpu" },
        { "alloc", "alloc_space" },
        { "live", "inuse_space" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        if (strcmp(event->name, NAMES[i].event) == 0)
            return span_of(NAMES[i].type);
    }
    return span_of(event->name);
}

/* Adds the attribute flamed.url: the address that shows the profile of @service at that time. */
static int32_t put_link(struct otlp *x, const char *link, const char *service)
{
    _cleanup_buf_ struct buf url = BUF_UPTO(OTLP_LINK_BYTES);

    buf_printf(&url, "%s&service=", link);
    url_add_escaped(&url, span_of(service));
    otlp_fail(x, url.error);
    return url.error ? 0 : otlp_attribute(&x->d, "flamed.url", url.p);
}

static void put_facts(struct otlp *x, const struct profile_event *event, enum otlp_shape shape,
                      int32_t link, struct buf *profile)
{
    const struct profile *p = x->v->profile;
    int32_t facts[ARRAY_SIZE(x->d.facts) + 1];
    bool total = view_weighs_by_value(&x->v->opts, event);
    Otlp__ValueType type = OTLP__VALUE_TYPE__INIT, period = OTLP__VALUE_TYPE__INIT;
    Otlp__Profile part = OTLP__PROFILE__INIT;

    period.type_strindex = otlp_string(&x->d, type_of(event));
    period.unit_strindex = otlp_string(&x->d, span_of(event->unit));
    type.type_strindex = total ? period.type_strindex : otlp_string(&x->d, SPAN("samples"));
    type.unit_strindex = total ? period.unit_strindex : otlp_string(&x->d, SPAN("count"));
    part.sample_type = &type;
    if (shape != SHAPE_BOTH) {
        part.period_type = &period;
        part.period = (int64_t)event->period;
    }
    part.time_unix_nano = p->start_realtime_ns;
    part.duration_nano = p->end_ns > p->start_ns ? p->end_ns - p->start_ns : 0;
    memcpy(facts, x->d.facts, x->d.fact_count * sizeof(*facts));
    part.attribute_indices = facts;
    part.n_attribute_indices = x->d.fact_count;
    if (link)
        facts[part.n_attribute_indices++] = link;
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

/* Adds the lines "key=value" of @text, in which it replaces line ends by NULs. Also adds a pod by
 * its name, unless only its uid is known. */
static void resource_add_lines(struct otlp_resource *r, char *text, const char *pod)
{
    bool named = true;

    for (char *line = text, *end; *line && r->n < OTLP_ATTRIBUTES_MAX - 1; line = end + 1) {
        char *equals = strchr(line, '=');

        end = strchr(line, '\n');
        if (!end || !equals || equals > end)
            break;
        *equals = *end = '\0';
        resource_add_text(r, line, equals + 1);
        if (strcmp(line, "k8s.pod.uid") == 0 && strcmp(equals + 1, pod) == 0)
            named = false;
    }
    if (named)
        resource_add_text(r, "k8s.pod.name", pod);
}

/* Adds the resource of a process. Pid and container id are attributes of samples instead: as part
 * of the resource, they would begin a new series at each restart. */
static void put_resource(const struct otlp *x, const struct render_opts *o, uint32_t process,
                         struct buf *out)
{
    const struct profile *p = x->v->profile;
    Otlp__Resource resource = OTLP__RESOURCE__INIT;
    Otlp__ResourceProfiles part = OTLP__RESOURCE_PROFILES__INIT;
    struct otlp_resource r = { 0 };
    _cleanup_free_ char *lines = NULL;

    if (process < p->process_count) {
        const struct profile_process *q = &p->processes[process];

        lines = strdup(text_of(x, q->attributes));
        resource_add_text(&r, "service.name", text_of(x, q->service ? q->service : q->name));
        resource_add_text(&r, "service.version", text_of(x, q->version));
        resource_add_text(&r, "k8s.namespace.name", text_of(x, q->pod_namespace));
        if (lines)
            resource_add_lines(&r, lines, text_of(x, q->pod));
    }
    if (o && o->host)
        resource_add_text(&r, "host.name", o->host);
    resource.attributes = r.refs;
    resource.n_attributes = r.n;
    part.resource = &resource;
    pack_message(out, &part.base);
}

static uint32_t process_of(const struct otlp *x, uint32_t key)
{
    const struct profile *p = x->v->profile;
    uint32_t thread = x->d.stacks.keys[key].thread;

    return thread < p->thread_count ? p->threads[thread].process : STACKS_NONE;
}

static uint32_t event_of_key(const struct otlp *x, uint32_t key)
{
    return x->d.stacks.keys[key].event;
}

static int by_process(const void *a, const void *b, void *ctx)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t p = process_of(ctx, x), q = process_of(ctx, y);

    if (p != q)
        return p < q ? -1 : 1;
    p = event_of_key(ctx, x);
    q = event_of_key(ctx, y);
    return p != q ? (p < q ? -1 : 1) : (x > y) - (x < y);
}

/* Writes the profile of keys[0 .. n), all of one process and event. */
static void put_profile(struct otlp *x, const struct profile_event *event, int32_t link,
                        const uint32_t *keys, size_t n, struct buf *scopes)
{
    _cleanup_buf_ struct buf profile = BUF_NULL;
    enum otlp_shape shape = shape_of(x, event);

    buf_init(&profile, scopes->max);
    put_facts(x, event, shape, link, &profile);
    for (size_t i = 0; i < n && !x->error && !profile.error; i++)
        put_sample(x, keys[i], shape, &profile);
    pack_nested(scopes, FIELD_SCOPE_PROFILES, buf_span(&profile));
    otlp_fail(x, profile.error);
}

/* Writes the resource of keys[0 .. n), all of one process. */
static void put_process(struct otlp *x, const struct render_opts *o, const uint32_t *keys, size_t n,
                        struct buf *out)
{
    _cleanup_buf_ struct buf scopes = BUF_NULL, resource = BUF_NULL;
    Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
    Otlp__ScopeProfiles part = OTLP__SCOPE_PROFILES__INIT;
    uint32_t process = n ? process_of(x, keys[0]) : 0;
    int32_t link = 0;

    if (o && o->link && process < x->v->profile->process_count)
        link = put_link(x, o->link, text_of(x, x->v->profile->processes[process].service));
    buf_init(&scopes, out->max);
    buf_init(&resource, out->max);
    scope.name = (char *)"flamed";
    if (o && o->version)
        scope.version = (char *)o->version;
    part.scope = &scope;
    pack_message(&scopes, &part.base);
    if (!n)
        put_profile(x, view_event(x->v), /* link= */ 0, keys, 0, &scopes);
    for (size_t from = 0, to; from < n && !x->error; from = to) {
        uint32_t event = event_of_key(x, keys[from]);

        for (to = from + 1; to < n && event_of_key(x, keys[to]) == event;)
            to++;
        put_profile(x, &x->v->profile->events[event], link, keys + from, to - from, &scopes);
    }
    put_resource(x, o, process, &resource);
    pack_nested(&resource, FIELD_RESOURCE_SCOPES, buf_span(&scopes));
    pack_nested(out, FIELD_DATA_RESOURCE, buf_span(&resource));
    otlp_fail(x, scopes.error ? scopes.error : resource.error);
}

static void put_processes(struct otlp *x, const struct render_opts *o, struct buf *out)
{
    size_t n = x->d.stacks.key_count;
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

static void otlp_deinit(struct otlp *x)
{
    otlp_dictionary_deinit(&x->d);
    free(x->observed);
    free(x->observed_at);
    free(x->times);
    free(x->values);
}

int render_otlp(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err)
{
    _cleanup_(otlp_deinit) struct otlp x = { .v = v, .timeless = o && o->untimed };

    otlp_fail(&x, otlp_dictionary_init(&x.d, v, out->max));
    if (!x.error)
        otlp_fail(&x, otlp_observe(&x));
    if (!x.error) {
        put_processes(&x, o, out);
        pack_nested(out, FIELD_DATA_DICTIONARY, otlp_dictionary_finish(&x.d));
        otlp_fail(&x, x.d.error);
        otlp_fail(&x, x.d.packed.error);
    }
    if (x.error == -EFBIG && !out->error)
        out->error = -EFBIG;
    if (x.error && !out->error)
        return error_code(err, x.error, "cannot render the profile");
    return render_result(out, err);
}
