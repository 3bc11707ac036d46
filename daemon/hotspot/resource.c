/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the Resource of OpenTelemetry's SDK: what the SDK knows of its service from configuration
 * files, detectors and code. The Resource is in the heap, and the API's only static reference to
 * the SDK leads to it.
 */
#include "hotspot/tracer_impl.h"

#include "base/list.h"

#define PAIRS_MAX 128

/* Members on the way from the static object to the array of keys and values. A delegate may be
 * missing: only the agent inserts it. */
static const struct {
    const char *field;
    bool may_lack;
} WAY[] = { { "delegate", true },     { "tracerProvider", false }, { "delegate", true },
            { "sharedState", false }, { "resource", false },       { "attributes", false },
            { "data", false } };

/* Loads member @field of the object at *at. Return: 0; -ENOENT: there is no such member, or it is
 * null; -errno. */
static int follow(struct hotspot_vm *vm, const char *field, uint64_t *at)
{
    uint64_t klass = 0;
    uint32_t offset = 0;

    return object_klass(vm, *at, &klass) ?: field_inherited(vm, klass, field, &offset)
               ?: heap_load(vm, *at + offset, at);
}

/* Appends the text of member @field of the object at @at, or of the object itself. */
static int add_text(struct hotspot_vm *vm, uint64_t at, const char *field, struct buf *out)
{
    int r = field ? follow(vm, field, &at) : 0;

    return r ?: string_read(vm, at, out);
}

/* Appends one pair as "key=value" and a NUL. A pair that is not of two texts is left out. */
static int add_pair(struct hotspot_vm *vm, uint64_t key, uint64_t value, struct buf *out)
{
    _cleanup_buf_ struct buf one = BUF_UPTO(RESOURCE_PAIR_BYTES_MAX);
    int r = add_text(vm, key, "key", &one);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    buf_add_char(&one, '=');
    r = add_text(vm, value, NULL, &one);
    if (r < 0 || one.error || span_find(buf_span(&one), '\0') < one.n)
        return r == -ENOENT || r == 0 ? 0 : r;
    buf_add_char(&one, '\0');
    if (!one.error && one.n <= RESOURCE_BYTES_MAX - out->n)
        buf_add_span(out, buf_span(&one));
    return 0;
}

/* Appends the pairs in the array at @array. */
static int add_pairs(struct hotspot_vm *vm, uint64_t array, struct buf *out)
{
    unsigned bytes = heap_reference_bytes(vm);
    uint64_t data = 0;
    uint32_t length = 0;
    int r = heap_array(vm, array, bytes, &length, &data);

    for (uint32_t i = 0; r == 0 && i + 1 < length && i < 2 * PAIRS_MAX; i += 2) {
        uint64_t key = 0, value = 0;

        r = heap_load(vm, data + (uint64_t)i * bytes, &key)
                ?: heap_load(vm, data + (uint64_t)(i + 1) * bytes, &value)
                ?: add_pair(vm, key, value, out);
        r = r == -ENOENT ? 0 : r;
    }
    return r;
}

void resource_read(const struct compiler *c)
{
    static const struct tracer_row ROW = { .form = FORM_STATIC,
                                           .class_name = RESOURCE_CLASS,
                                           .field = "globalOpenTelemetry",
                                           .signature = "L@io/opentelemetry/api/OpenTelemetry;" };
    _cleanup_buf_ struct buf out = BUF_UPTO(RESOURCE_BYTES_MAX);
    const struct class_wanted *w = tracer_wanted(c, RESOURCE_CLASS);
    struct vm_tracer *ret = &c->vm->tracer;
    uint64_t at = 0;
    int r = -ENOENT;

    for (unsigned i = 0; w && i < w->count && r < 0; i++)
        r = local_static_object(c, &ROW, w->klasses[i], &at);
    for (size_t i = 0; i < ARRAY_SIZE(WAY) && r == 0; i++) {
        r = follow(c->vm, WAY[i].field, &at);
        r = r == -ENOENT && WAY[i].may_lack ? 0 : r;
    }
    if (r == 0)
        r = add_pairs(c->vm, at, &out);
    if (r < 0 || out.error || !out.n)
        return;
    memcpy(ret->resource, out.p, out.n);
    ret->resource_bytes = (uint32_t)out.n;
}

struct span hotspot_vm_resource(const struct hotspot_vm *vm)
{
    return vm_is_left(vm) ? SPAN_NULL
                          : (struct span){ vm->tracer.resource, vm->tracer.resource_bytes };
}
