/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/process_context.h"

#define FORMAT_VERSION 2

/* Protobuf's wire types. */
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define FIELD_CONTEXT_RESOURCE 1
#define FIELD_CONTEXT_ATTRIBUTE 2
#define FIELD_RESOURCE_ATTRIBUTE 1
#define FIELD_PAIR_KEY 1
#define FIELD_PAIR_VALUE 2
#define FIELD_VALUE_STRING 1
#define FIELD_VALUE_ARRAY 5
#define FIELD_ARRAY_VALUE 1

enum attribute { NAME, VERSION, SDK, OTHERS };

static const char *const KEYS[] = {
    [NAME] = "service.name",        [VERSION] = "service.version", [SDK] = "telemetry.sdk.name",
    [OTHERS] = "service.namespace", "service.instance.id",         "deployment.environment.name",
    "deployment.environment",       "vcs.repository.url.full",     "vcs.ref.head.revision",
};

bool process_context_path(struct span path)
{
    return span_starts_with(path, "[anon_shmem:OTEL_CTX]") ||
           span_starts_with(path, "[anon:OTEL_CTX]") || span_starts_with(path, "/memfd:OTEL_CTX");
}

int process_context_header(const uint8_t bytes[PROCESS_CONTEXT_HEADER_BYTES],
                           struct process_context_header *ret)
{
    struct span s = { (const char *)bytes, PROCESS_CONTEXT_HEADER_BYTES };
    uint64_t published_ns, address;
    uint32_t version, n;

    if (!span_take_str(&s, "OTEL_CTX") || !span_take_u32(&s, &version) || !span_take_u32(&s, &n) ||
        !span_take_u64(&s, &published_ns) || !span_take_u64(&s, &address))
        return -EBADMSG;
    if (version != FORMAT_VERSION || n > PROCESS_CONTEXT_BYTES_MAX)
        return -EBADMSG;
    *ret = (struct process_context_header){ published_ns, address, n };
    return 0;
}

static bool take_varint(struct span *s, uint64_t *ret)
{
    uint64_t value = 0;
    uint8_t byte;

    for (unsigned shift = 0; shift < 64 && span_take_u8(s, &byte); shift += 7) {
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return shift < 63 || byte <= 1;
        }
    }
    return false;
}

/* Takes the next field off @s. @ret_bytes: the content of the field; NULL if it is a number. */
static bool take_field(struct span *s, uint64_t *ret_number, struct span *ret_bytes)
{
    uint64_t tag, n;
    struct span skipped;

    *ret_bytes = SPAN_NULL;
    if (!take_varint(s, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
        return false;
    *ret_number = tag >> 3;
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(s, &n);
    case WIRE_FIXED64:
        return span_take_bytes(s, 8, &skipped);
    case WIRE_FIXED32:
        return span_take_bytes(s, 4, &skipped);
    case WIRE_BYTES:
        return take_varint(s, &n) && n <= s->n && span_take_bytes(s, (size_t)n, ret_bytes);
    default:
        return false;
    }
}

/* Gets the last field @number of @message. Returns false if @message is broken. */
static bool get_field(struct span message, uint64_t number, struct span *ret)
{
    struct span bytes;
    uint64_t n;

    *ret = SPAN_NULL;
    while (message.n) {
        if (!take_field(&message, &n, &bytes))
            return false;
        if (n == number && bytes.p)
            *ret = bytes;
    }
    return true;
}

struct found {
    struct span values[ARRAY_SIZE(KEYS)];
    unsigned attributes;
};

/* Takes a value that names a service; if a key occurs twice, the first value counts. */
static void take_value(struct span key, struct span value, struct found *f)
{
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (span_eq_str(key, KEYS[i]) && !f->values[i].n && value.n <= PROCESS_CONTEXT_VALUE_MAX &&
            span_find(value, '\0') == value.n)
            f->values[i] = value;
    }
}

/* Takes one attribute. */
static int take_pair(struct span pair, struct found *f)
{
    struct span key, any, value;

    if (++f->attributes > PROCESS_CONTEXT_ATTRIBUTES_MAX)
        return -E2BIG;
    if (!get_field(pair, FIELD_PAIR_KEY, &key) || !get_field(pair, FIELD_PAIR_VALUE, &any) ||
        !get_field(any, FIELD_VALUE_STRING, &value))
        return -EBADMSG;
    take_value(key, value, f);
    return 0;
}

static int take_resource(struct span resource, struct found *f)
{
    struct span bytes;
    uint64_t number;
    int r = 0;

    while (resource.n && r == 0) {
        if (!take_field(&resource, &number, &bytes))
            return -EBADMSG;
        if (number == FIELD_RESOURCE_ATTRIBUTE && bytes.p)
            r = take_pair(bytes, f);
    }
    return r;
}

/* Appends the values of @f, each with its key. */
static void add_found(struct found *f, struct buf *out)
{
    if (span_starts_with(f->values[NAME], "unknown_service"))
        f->values[NAME] = SPAN_NULL;
    if (span_eq_str(f->values[SDK], "dd-trace-java"))
        f->values[VERSION] = SPAN_NULL;
    f->values[SDK] = SPAN_NULL;
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (f->values[i].n) {
            buf_add_str(out, KEYS[i]);
            buf_add_char(out, '=');
            buf_add_span(out, f->values[i]);
            buf_add_char(out, '\0');
        }
    }
}

int process_context_attributes(struct span message, struct buf *out)
{
    struct found f = { 0 };
    struct span bytes;
    uint64_t number;

    while (message.n) {
        int r = take_field(&message, &number, &bytes) ? 0 : -EBADMSG;

        if (r == 0 && number == FIELD_CONTEXT_RESOURCE && bytes.p)
            r = take_resource(bytes, &f);
        if (r < 0)
            return r;
    }
    add_found(&f, out);
    return 0;
}

void process_context_words(struct span words, struct buf *out)
{
    struct found f = { 0 };
    struct span word, key;

    while (span_take_until(&words, '\0', &word)) {
        if (span_take_until(&word, '=', &key))
            take_value(key, word, &f);
    }
    add_found(&f, out);
}

/* ---- records of threads ---- */

#define RECORD_KEYS_MAX 256 /* an index has one byte */

enum record_text {
    RECORD_ROOT,
    RECORD_CALL,
    RECORD_ENDPOINT,
    RECORD_METHOD,
    RECORD_ROUTE,
    RECORD_TEXTS
};

/* Names of attributes that name a request; for each text of the request, the best name comes first.
 * A later text replaces an earlier one, except the route, which is appended to the method. */
static const struct {
    enum record_text which;
    const char *key;
} RECORD_KEYS[] = {
    { RECORD_ROOT, "datadog.local_root_span_id" },
    { RECORD_CALL, "rpc.method" },
    { RECORD_ENDPOINT, "datadog.trace_endpoint" },
    { RECORD_METHOD, "http.request.method" },
    { RECORD_METHOD, "http.method" },
    { RECORD_METHOD, "http_method" },
    { RECORD_ROUTE, "http.route" },
    { RECORD_ROUTE, "http_route" },
};

struct record_keys {
    bool known;
    uint8_t index[RECORD_TEXTS];
    size_t rank[RECORD_TEXTS]; /* rank of the key for each text, from 1; 0: none */
};

static void take_record_key(struct span key, uint8_t index, struct record_keys *k)
{
    for (size_t i = 0; i < ARRAY_SIZE(RECORD_KEYS); i++) {
        enum record_text which = RECORD_KEYS[i].which;

        if (!span_eq_str(key, RECORD_KEYS[i].key) || (k->rank[which] && k->rank[which] <= i + 1))
            continue;
        k->rank[which] = i + 1;
        k->index[which] = index;
    }
}

/* Takes the names of the attributes, in the order of their indexes. */
static int take_record_keys(struct span array, struct record_keys *k)
{
    struct span any, key;
    uint64_t number;
    unsigned index = 0;

    while (array.n) {
        if (!take_field(&array, &number, &any))
            return -EBADMSG;
        if (number != FIELD_ARRAY_VALUE || !any.p)
            continue;
        if (index == RECORD_KEYS_MAX || !get_field(any, FIELD_VALUE_STRING, &key))
            return -EBADMSG;
        take_record_key(key, (uint8_t)index++, k);
    }
    return 0;
}

static int take_record_pair(struct span pair, struct record_keys *k)
{
    struct span key, any, value;

    if (!get_field(pair, FIELD_PAIR_KEY, &key) || !get_field(pair, FIELD_PAIR_VALUE, &any))
        return -EBADMSG;
    if (span_eq_str(key, "threadlocal.schema_version")) {
        if (!get_field(any, FIELD_VALUE_STRING, &value))
            return -EBADMSG;
        k->known = span_eq_str(value, "tls_v1") || span_eq_str(value, "tlsdesc_v1_dev");
    } else if (span_eq_str(key, "threadlocal.attribute_key_map")) {
        return get_field(any, FIELD_VALUE_ARRAY, &value) ? take_record_keys(value, k) : -EBADMSG;
    }
    return 0;
}

int process_context_record(struct span message, struct thread_record *ret)
{
    static const uint8_t TEXTS[RECORD_TEXTS] = { [RECORD_ROOT] = CONTEXT_ROOT,
                                                 [RECORD_CALL] = CONTEXT_NAME,
                                                 [RECORD_ENDPOINT] = CONTEXT_NAME,
                                                 [RECORD_METHOD] = CONTEXT_NAME,
                                                 [RECORD_ROUTE] = CONTEXT_NAME_MORE };
    struct record_keys k = { 0 };
    struct span bytes;
    uint64_t number;

    _Static_assert((int)RECORD_TEXTS == THREAD_RECORD_TEXTS_MAX, "room for all texts");
    while (message.n) {
        int r = take_field(&message, &number, &bytes) ? 0 : -EBADMSG;

        if (r == 0 && number == FIELD_CONTEXT_ATTRIBUTE && bytes.p)
            r = take_record_pair(bytes, &k);
        if (r < 0)
            return r;
    }
    ret->known = k.known;
    for (unsigned i = 0; i < RECORD_TEXTS && k.known; i++) {
        if (k.rank[i])
            ret->texts[ret->text_count++] =
                (struct thread_record_text){ .index = k.index[i], .text = TEXTS[i] };
    }
    return 0;
}
