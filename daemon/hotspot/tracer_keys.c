/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a log's context that stand for a request, and the steps that read their values. The
 * option mdc_keys replaces the built-in keys. Other keys are not read.
 */
#include "hotspot/tracer_impl.h"

#include "base/list.h"

#define KEYS_MAX 16
#define KEY_CHARACTERS_MAX (CONTEXT_KEY_BYTES / 2)
#define KEY_VALUE 1 /* register that holds a key's value */

struct log_key {
    enum context_text text; /* text that the value fills */
    char name[KEY_CHARACTERS_MAX + 1];
};

/* The names of the ids in OpenTelemetry, Micrometer and Zipkin. If a text has several keys, the
 * first key with a value counts. */
static struct log_key keys[KEYS_MAX] = {
    { CONTEXT_TRACE, "traceId" }, { CONTEXT_TRACE, "trace_id" }, { CONTEXT_TRACE, "X-B3-TraceId" },
    { CONTEXT_SPAN, "spanId" },   { CONTEXT_SPAN, "span_id" },   { CONTEXT_SPAN, "X-B3-SpanId" },
};
static unsigned key_count = 6;
static bool own; /* the configuration has keys */

/* Parses "trace=requestId". */
static bool take_key(struct span one, struct log_key *ret)
{
    static const struct {
        const char *name;
        enum context_text text;
    } TEXTS[] = { { "trace=", CONTEXT_TRACE },
                  { "span=", CONTEXT_SPAN },
                  { "operation=", CONTEXT_NAME } };

    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        struct span key = one;

        if (!span_take_str(&key, TEXTS[i].name))
            continue;
        for (size_t k = 0; k < key.n; k++) {
            if (key.p[k] <= ' ' || key.p[k] > '~')
                return false;
        }
        *ret = (struct log_key){ .text = TEXTS[i].text };
        span_copy(key, ret->name, sizeof(ret->name));
        return key.n > 0 && key.n <= KEY_CHARACTERS_MAX;
    }
    return false;
}

int hotspot_log_keys_set(const char *list, struct error *err)
{
    struct span rest = span_of(list), one;

    if (rest.n) {
        key_count = 0;
        own = true;
    }
    while (span_take_until(&rest, ',', &one)) {
        if (key_count == KEYS_MAX)
            return error_set(err, -EINVAL, "mdc_keys: there may be %d keys", KEYS_MAX);
        one = span_trim(one);
        if (!take_key(one, &keys[key_count]))
            return error_set(err, -EINVAL,
                             "mdc_keys: '%.*s' is no key: write trace=KEY, span=KEY or "
                             "operation=KEY, with commas between several. A KEY has at most %d "
                             "characters, of ASCII",
                             (int)MIN(one.n, (size_t)80), one.p, KEY_CHARACTERS_MAX);
        key_count++;
    }
    return 0;
}

uint8_t tracer_keys_kind(void)
{
    return own ? CONTEXT_IDS_KEYS : CONTEXT_IDS_LOG;
}

/* Returns String.hashCode() of @key. */
static uint32_t hash_of(const char *key)
{
    uint32_t hash = 0;

    for (; *key; key++)
        hash = 31 * hash + (unsigned char)*key;
    return hash;
}

/* Returns context_key_of() @key. */
static uint64_t identity_of(const char *key)
{
    uint64_t hash = 0;
    uint32_t n = 0;

    for (; key[n]; n++)
        hash = context_key_add(hash, (unsigned char)key[n]);
    return context_key_of(hash, n);
}

static void add_step(struct context_path *p, struct context_step s)
{
    if (p->step_count < CONTEXT_STEPS_MAX)
        p->steps[p->step_count++] = s;
}

/* Appends the steps for @text: for each of its keys a search, and a step from a successful search
 * to the class check. If the text is missing, the path ends; with own keys, it continues with other
 * texts. */
static void add_text(const struct tracer_row *row, enum context_text text, uint64_t string,
                     struct context_path *p)
{
    bool map = row->form == FORM_MAP_KEYS;
    unsigned left = 0;

    for (unsigned i = 0; i < key_count; i++)
        left += keys[i].text == text;
    if (!left)
        return;
    for (unsigned i = 0; i < key_count; i++) {
        struct context_step get = { .op = map ? CONTEXT_MAP : CONTEXT_KEY,
                                    .to = KEY_VALUE,
                                    .from = row->from,
                                    .offset = map ? 0 : row->number };

        if (keys[i].text != text)
            continue;
        left--;
        get.key = map ? hash_of(keys[i].name) : identity_of(keys[i].name);
        get.skip = left ? 1 : own ? 3 : 0;
        add_step(p, get);
        if (left)
            add_step(p,
                     (struct context_step){ .op = CONTEXT_SKIP, .skip = (uint8_t)(2 * left - 1) });
    }
    add_step(p, (struct context_step){
                    .op = CONTEXT_CLASS, .from = KEY_VALUE, .skip = own ? 2 : 0, .key = string });
    add_step(p, (struct context_step){
                    .op = CONTEXT_TEXT, .from = KEY_VALUE, .skip = own ? 1 : 0, .key = text });
    if (own) /* an empty text skips to here; the check succeeds again */
        add_step(p, (struct context_step){ .op = CONTEXT_CLASS, .from = KEY_VALUE, .key = string });
}

int tracer_keys_add(const struct tracer_row *row, uint64_t string, struct context_path *p)
{
    if (row->form == FORM_MAP_KEYS && !p->map_table)
        return -EOPNOTSUPP;
    add_text(row, CONTEXT_TRACE, string, p);
    add_text(row, CONTEXT_SPAN, string, p);
    add_text(row, CONTEXT_NAME, string, p);
    return 0;
}
