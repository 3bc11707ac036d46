/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/process_context.h"

#define FORMAT_VERSION 2

/* Protobuf's wire types. */
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define FIELD_CONTEXT_RESOURCE 1
#define FIELD_RESOURCE_ATTRIBUTE 1
#define FIELD_PAIR_KEY 1
#define FIELD_PAIR_VALUE 2
#define FIELD_VALUE_STRING 1

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

/* Takes the next field off @s. @ret_bytes: its content; NULL where it has no bytes of its own. */
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

/* Gets field @number of @message; of several the last. False: @message is broken. */
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

/* Takes one attribute; of two with the same key the first counts. */
static int take_pair(struct span pair, struct found *f)
{
    struct span key, any, value;

    if (++f->attributes > PROCESS_CONTEXT_ATTRIBUTES_MAX)
        return -E2BIG;
    if (!get_field(pair, FIELD_PAIR_KEY, &key) || !get_field(pair, FIELD_PAIR_VALUE, &any) ||
        !get_field(any, FIELD_VALUE_STRING, &value))
        return -EBADMSG;
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (span_eq_str(key, KEYS[i]) && !f->values[i].n && value.n <= PROCESS_CONTEXT_VALUE_MAX &&
            span_find(value, '\0') == value.n)
            f->values[i] = value;
    }
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
    if (span_starts_with(f.values[NAME], "unknown_service"))
        f.values[NAME] = SPAN_NULL;
    if (span_eq_str(f.values[SDK], "dd-trace-java"))
        f.values[VERSION] = SPAN_NULL;
    f.values[SDK] = SPAN_NULL;
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (f.values[i].n) {
            buf_add_str(out, KEYS[i]);
            buf_add_char(out, '=');
            buf_add_span(out, f.values[i]);
            buf_add_char(out, '\0');
        }
    }
    return 0;
}
