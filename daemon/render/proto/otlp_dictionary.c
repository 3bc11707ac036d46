/* SPDX-License-Identifier: Apache-2.0 */
#include "render/proto/otlp_dictionary.h"

#include "base/cleanup.h"
#include "render/proto/otlp.pb-c.h"
#include "render/proto/protobuf.h"

#include <endian.h>

#define OTLP_STRING_BYTES_MAX ((size_t)256 << 20)

static void dictionary_fail(struct otlp_dictionary *d, int r)
{
    if (d->error == 0 && r < 0)
        d->error = r;
}

int32_t otlp_string(struct otlp_dictionary *d, struct span s)
{
    uint32_t id = 0;

    dictionary_fail(d, intern_add(d->strings, s, &id) < 0 ? -ENOMEM : 0);
    return (int32_t)id;
}

static void put_entry(struct otlp_dictionary *d, const Otlp__ProfilesDictionary *part)
{
    pack_message(&d->packed, &part->base);
}

/* ---- attributes ---- */

/* Adds an attribute unless it exists. @text: the value as a text, which is part of the key. */
static int32_t put_attribute(struct otlp_dictionary *d, const char *key,
                             const Otlp__AnyValue *value, const char *text)
{
    Otlp__KeyValueAndUnit attribute = OTLP__KEY_VALUE_AND_UNIT__INIT, *ref = &attribute;
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    uint32_t before = intern_count(d->attributes), id = 0;
    _cleanup_buf_ struct buf name = BUF_UPTO(OTLP_STRING_BYTES_MAX);

    buf_add(&name, key, strlen(key) + 1);
    buf_printf(&name, "%d ", (int)value->value_case);
    buf_add_str(&name, text);
    if (name.error || intern_add(d->attributes, buf_span(&name), &id) < 0)
        dictionary_fail(d, -ENOMEM);
    if (id != before) /* the attribute exists, or there was an error */
        return (int32_t)id;
    attribute.key_strindex = otlp_string(d, span_of(key));
    attribute.value = (Otlp__AnyValue *)value;
    part.attribute_table = &ref;
    part.n_attribute_table = 1;
    put_entry(d, &part);
    return (int32_t)id;
}

int32_t otlp_attribute(struct otlp_dictionary *d, const char *key, const char *text)
{
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;

    value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
    value.string_value = (char *)text;
    return put_attribute(d, key, &value, text);
}

static int32_t put_number(struct otlp_dictionary *d, const char *key, int64_t number)
{
    Otlp__AnyValue value = OTLP__ANY_VALUE__INIT;
    char text[24];

    value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
    value.int_value = number;
    snprintf(text, sizeof(text), "%lld", (long long)number);
    return put_attribute(d, key, &value, text);
}

/* ---- links ---- */

int32_t otlp_link(struct otlp_dictionary *d, const struct profile_context *c)
{
    const struct otlp_link key = { c->trace_high, c->trace_low, c->span };
    uint64_t trace[2] = { htobe64(key.trace_high), htobe64(key.trace_low) };
    uint64_t span = htobe64(key.span);
    Otlp__Link link = OTLP__LINK__INIT, *ref = &link;
    Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
    uint32_t id = 0;
    int r;

    if (!profile_context_has_ids(c))
        return 0;
    r = id_table_add(&d->links, &key, &id);
    if (r < 0)
        dictionary_fail(d, -ENOMEM);
    if (r <= 0)
        return r < 0 ? 0 : (int32_t)id + 1;
    link.trace_id = (ProtobufCBinaryData){ sizeof(trace), (uint8_t *)trace };
    link.span_id = (ProtobufCBinaryData){ sizeof(span), (uint8_t *)&span };
    part.link_table = &ref;
    part.n_link_table = 1;
    put_entry(d, &part);
    return (int32_t)id + 1;
}

/* ---- tables ---- */

/* Writes entry 0 of every table, which means "none". */
static void put_zero_entries(struct otlp_dictionary *d)
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
    put_entry(d, &part); /* d->attributes has its entry 0 from the beginning */
}

static void put_mappings(struct otlp_dictionary *d)
{
    for (uint32_t i = 0; i < d->stacks.mappings.count && !d->error; i++) {
        struct span build_id = stacks_mapping_build_id(&d->stacks, i);
        Otlp__Mapping mapping = OTLP__MAPPING__INIT, *ref = &mapping;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;
        int32_t attribute;

        mapping.filename_strindex = otlp_string(d, stacks_mapping_path(&d->stacks, i));
        if (build_id.n) {
            attribute = otlp_attribute(d, "process.executable.build_id.gnu", build_id.p);
            mapping.attribute_indices = &attribute;
            mapping.n_attribute_indices = 1;
        }
        part.mapping_table = &ref;
        part.n_mapping_table = 1;
        put_entry(d, &part);
    }
}

static void put_functions(struct otlp_dictionary *d)
{
    for (uint32_t i = 0; i < d->stacks.functions.count && !d->error; i++) {
        const struct stacks_function *f = stacks_function(&d->stacks, i);
        Otlp__Function function = OTLP__FUNCTION__INIT, *ref = &function;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

        function.name_strindex = otlp_string(d, view_string(d->v, f->name));
        function.filename_strindex = otlp_string(d, view_string(d->v, f->file));
        part.function_table = &ref;
        part.n_function_table = 1;
        put_entry(d, &part);
    }
}

static void put_location(struct otlp_dictionary *d, uint32_t id)
{
    const struct stacks *s = &d->stacks;
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
        dictionary_fail(d, -ENOMEM);
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
    location.attribute_indices = &d->origins[place->origin];
    location.n_attribute_indices = place->origin != STACKS_NO_CODE;
    part.location_table = &ref;
    part.n_location_table = 1;
    put_entry(d, &part);
}

static void put_stacks(struct otlp_dictionary *d)
{
    const struct stacks *s = &d->stacks;
    _cleanup_free_ uint32_t *locations = calloc(s->longest, sizeof(*locations));
    _cleanup_free_ int32_t *indices = calloc(s->longest, sizeof(*indices));

    if (!locations || !indices)
        dictionary_fail(d, -ENOMEM);
    for (uint32_t i = 1; i < intern_count(s->texts) && !d->error; i++) {
        Otlp__Stack stack = OTLP__STACK__INIT, *ref = &stack;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

        stack.n_location_indices = stacks_get(s, i, locations);
        stack.location_indices = indices;
        for (size_t k = 0; k < stack.n_location_indices; k++)
            indices[k] = (int32_t)locations[k] + 1;
        part.stack_table = &ref;
        part.n_stack_table = 1;
        put_entry(d, &part);
    }
}

static void put_threads(struct otlp_dictionary *d)
{
    const struct profile *p = d->v->profile;

    for (size_t i = 0; i < p->thread_count && !d->error; i++) {
        const struct profile_thread *t = &p->threads[i];
        const struct profile_process *q = &p->processes[t->process];
        int32_t *to = d->threads[i];

        if (t->host_tid > 0)
            *to++ = put_number(d, "thread.id", t->host_tid);
        if (t->name)
            *to++ = otlp_attribute(d, "thread.name", intern_get(p->strings, t->name).p);
        if (q->host_pid)
            *to++ = put_number(d, "process.pid", q->host_pid);
        if (intern_get(p->strings, q->container).n)
            *to++ = otlp_attribute(d, "container.id", intern_get(p->strings, q->container).p);
    }
}

static void put_strings(struct otlp_dictionary *d)
{
    for (uint32_t i = 0; i < intern_count(d->strings) && !d->error; i++) {
        char *s = (char *)intern_get(d->strings, i).p;
        Otlp__ProfilesDictionary part = OTLP__PROFILES_DICTIONARY__INIT;

        part.string_table = &s;
        part.n_string_table = 1;
        put_entry(d, &part);
    }
}

static void add_facts(struct otlp_dictionary *d)
{
    const struct profile *p = d->v->profile;
    size_t n = 0;

    d->facts[n++] = otlp_attribute(d, "flamed.target", p->target);
    d->facts[n++] = otlp_attribute(d, "flamed.symbols", p->symbols);
    d->facts[n++] = put_number(d, "flamed.samples", (int64_t)d->v->samples);
    d->facts[n++] = put_number(d, "flamed.unknown", (int64_t)d->v->unknown);
    d->facts[n++] = put_number(d, "flamed.truncated", (int64_t)d->v->truncated);
    d->facts[n++] = put_number(d, "flamed.lost", (int64_t)p->lost);
    for (size_t i = 0; i < d->v->warning_count; i++) {
        char key[48];

        snprintf(key, sizeof(key), "flamed.warning.%zu", i + 1); /* keys are unique */
        d->facts[n++] = otlp_attribute(d, key, d->v->warnings[i]);
    }
    d->fact_count = n;
}

int otlp_dictionary_init(struct otlp_dictionary *d, const struct view *v, size_t max_bytes)
{
    int r;

    *d = (struct otlp_dictionary){ .v = v };
    buf_init(&d->packed, max_bytes);
    id_table_init(&d->links, sizeof(struct otlp_link), PROFILE_CONTEXTS_MAX);
    r = stacks_init(&d->stacks, v, /* owners= */ false, STACKS_SPANS) ?:
        intern_new(OTLP_STRING_BYTES_MAX, &d->strings) ?:
        intern_new(OTLP_STRING_BYTES_MAX, &d->attributes);
    d->threads = calloc(v->profile->thread_count + 1, sizeof(*d->threads));
    if (r < 0 || !d->threads)
        return -ENOMEM;
    put_zero_entries(d);
    d->origins[STACKS_JAVA] = otlp_attribute(d, "profile.frame.type", "jvm");
    d->origins[STACKS_NATIVE] = otlp_attribute(d, "profile.frame.type", "native");
    d->origins[STACKS_KERNEL] = otlp_attribute(d, "profile.frame.type", "kernel");
    add_facts(d);
    put_threads(d);
    put_mappings(d);
    put_functions(d);
    for (uint32_t i = 0; i < d->stacks.locations.count && !d->error; i++)
        put_location(d, i);
    put_stacks(d);
    return d->error;
}

struct span otlp_dictionary_finish(struct otlp_dictionary *d)
{
    put_strings(d);
    return buf_span(&d->packed);
}

void otlp_dictionary_deinit(struct otlp_dictionary *d)
{
    stacks_deinit(&d->stacks);
    intern_free(d->strings);
    intern_free(d->attributes);
    id_table_deinit(&d->links);
    buf_deinit(&d->packed);
    free(d->threads);
}
