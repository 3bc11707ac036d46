/* SPDX-License-Identifier: Apache-2.0 */
/* From the VM's tables to struct hotspot_layout: collect, decide the release, check, refuse. */
#include "hotspot/layout.h"

#include "base/fnv1a.h"
#include "hotspot/dynsym.h"
#include "hotspot/vm.h"
#include "hotspot/vmstructs.h"

#include <inttypes.h>

#define LAYOUT_TYPES_MAX 4096
#define LAYOUT_TYPE_BYTES_MAX 65536 /* no struct that we read is larger */

struct layout_row {
    size_t member; /* offset in struct hotspot_layout */
    const char *type, *field;
    uint8_t widths, from, to;
};

struct layout_name_row {
    size_t member;
    const char *name;
    uint8_t from, to;
};

#define X(member, ...) { offsetof(struct hotspot_layout, member), __VA_ARGS__ },
#define A X
static const struct layout_row LAYOUT_FIELD_ROWS[] = { LAYOUT_FIELDS(X, A) };
static const struct layout_name_row LAYOUT_CONSTANT_ROWS[] = { LAYOUT_CONSTANTS(X, A) };
#undef X
#define X(member, type, field, ...)                                                                \
    { offsetof(struct hotspot_layout, member##_at), type, field, W8, __VA_ARGS__ },
static const struct layout_row LAYOUT_STATIC_ROWS[] = { LAYOUT_STATICS(X, A) };
#undef X
#define X(member, ...) { offsetof(struct hotspot_layout, sizeof_##member), __VA_ARGS__ },
static const struct layout_name_row LAYOUT_SIZE_ROWS[] = { LAYOUT_SIZES(X) };
#undef X
#undef A

/* What a row's entry in the tables said. */
struct layout_hit {
    bool found;
    uint64_t value;
    uint8_t width;
    bool sign;
};

struct layout_type {
    uint64_t hash;
    uint32_t bytes;
};

struct layout_scan {
    struct layout_type types[LAYOUT_TYPES_MAX];
    size_t type_count;
    struct layout_hit fields[ARRAY_SIZE(LAYOUT_FIELD_ROWS)];
    struct layout_hit statics[ARRAY_SIZE(LAYOUT_STATIC_ROWS)];
    struct layout_hit sizes[ARRAY_SIZE(LAYOUT_SIZE_ROWS)];
    struct layout_hit constants[ARRAY_SIZE(LAYOUT_CONSTANT_ROWS)];
};

/* Releases whose layouts were read in sources and seen running. */
static const uint8_t LAYOUT_RELEASES[] = { 8, 11, 17, 21, 25, 26, 27, 28 };

int64_t layout_get(struct layout_field f, const void *object, size_t n)
{
    const uint8_t *p = object;
    uint64_t v = 0;

    if (f.offset < 0 || f.width == 0 || f.width > 8 || (size_t)f.offset > n ||
        f.width > n - (size_t)f.offset)
        return 0;
    memcpy(&v, p + f.offset, f.width);
    if (f.sign && f.width < 8) {
        unsigned shift = 64 - 8 * f.width;

        return (int64_t)(v << shift) >> shift;
    }
    return (int64_t)v;
}

static uint64_t layout_hash(const char *s)
{
    return fnv1a(FNV1A_START, s, strlen(s));
}

/* Width and sign of a C type as the tables spell it; width 0: not a number we know. */
static void layout_explain(const struct layout_scan *s, const char *type, struct layout_hit *hit)
{
    static const struct {
        const char *name;
        uint8_t width;
        bool sign;
    } KNOWN[] = {
        { "int", 4, true },
        { "jint", 4, true },
        { "int16_t", 2, true },
        { "signed char", 1, true },
        { "unsigned char", 1, false },
        { "u1", 1, false },
        { "u2", 2, false },
        { "u4", 4, false },
        { "int64_t", 8, true },
        { "uint", 4, false },
        { "unsigned short", 2, false },
        { "unsigned int", 4, false },
        { "uint32_t", 4, false },
        { "size_t", 8, false },
        { "bool", 1, false },
        { "pid_t", 4, true },
        { "address", 8, false },
        { "oop", 8, false },
        { "OopHandle", 8, false },
        { "CompLevel", 1, true },
        { "narrowOop", 4, false },
        { "narrowKlass", 4, false },
    };
    uint64_t hash;

    hit->width = 0;
    hit->sign = false;
    if (strchr(type, '*')) {
        hit->width = 8;
        return;
    }
    for (;;) {
        if (strncmp(type, "const ", 6) == 0)
            type += 6;
        else if (strncmp(type, "volatile ", 9) == 0)
            type += 9;
        else
            break;
    }
    for (size_t i = 0; i < ARRAY_SIZE(KNOWN); i++) {
        if (strcmp(type, KNOWN[i].name) == 0) {
            hit->width = KNOWN[i].width;
            hit->sign = KNOWN[i].sign;
            return;
        }
    }
    hash = layout_hash(type);
    for (size_t i = 0; i < s->type_count; i++) {
        uint32_t bytes = s->types[i].bytes;

        if (s->types[i].hash == hash && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
            hit->width = (uint8_t)bytes;
            return;
        }
    }
}

static int layout_see_type(void *cookie, const struct vmstructs_entry *e)
{
    struct layout_scan *s = cookie;

    if (s->type_count < LAYOUT_TYPES_MAX)
        s->types[s->type_count++] =
            (struct layout_type){ layout_hash(e->type), (uint32_t)MIN(e->value, UINT32_MAX) };
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_SIZE_ROWS); i++) {
        if (strcmp(LAYOUT_SIZE_ROWS[i].name, e->type) == 0)
            s->sizes[i] = (struct layout_hit){ .found = true, .value = e->value };
    }
    return 0;
}

static int layout_see_field(void *cookie, const struct vmstructs_entry *e)
{
    const struct layout_row *rows = e->is_static ? LAYOUT_STATIC_ROWS : LAYOUT_FIELD_ROWS;
    size_t n = e->is_static ? ARRAY_SIZE(LAYOUT_STATIC_ROWS) : ARRAY_SIZE(LAYOUT_FIELD_ROWS);
    struct layout_scan *s = cookie;
    struct layout_hit *hits = e->is_static ? s->statics : s->fields;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].field, e->field) == 0 && strcmp(rows[i].type, e->type) == 0) {
            hits[i] = (struct layout_hit){ .found = true, .value = e->value };
            if (!e->is_static)
                layout_explain(s, e->type_string, &hits[i]);
        }
    }
    return 0;
}

static int layout_see_constant(void *cookie, const struct vmstructs_entry *e)
{
    struct layout_scan *s = cookie;

    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++) {
        if (strcmp(LAYOUT_CONSTANT_ROWS[i].name, e->type) == 0)
            s->constants[i] = (struct layout_hit){ .found = true, .value = e->value };
    }
    return 0;
}

/* The value of the first hit for @member in @rows whatever the release: for the version itself. */
static const struct layout_hit *layout_early(const struct layout_row *rows,
                                             const struct layout_hit *hits, size_t n, size_t member)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].member == member && hits[i].found)
            return &hits[i];
    }
    return NULL;
}

/* The value of static @member (its offset in struct hotspot_layout) whatever the release. False if
 * the tables lack it. */
static bool layout_early_static(const struct layout_scan *s, size_t member, uint64_t *ret)
{
    const struct layout_hit *hit =
        layout_early(LAYOUT_STATIC_ROWS, s->statics, ARRAY_SIZE(LAYOUT_STATIC_ROWS), member);

    if (hit)
        *ret = hit->value;
    return hit != NULL;
}

/*
 * While libjvm is being loaded, its tables are the file's bytes, then half relocated, then half
 * written: whatever they seem to say counts only once the VM has made its interpreter. 0 or
 * HOTSPOT_NOT_READY.
 */
static int layout_wait(struct hotspot_memory *m, const struct layout_scan *s, struct error *err)
{
    uint64_t at, interpreter = 0;

    if (layout_early_static(s, offsetof(struct hotspot_layout, interpreter_code_at), &at) &&
        memory_u64(m, at, &interpreter) == 0 && interpreter != 0)
        return 0;
    error_set(err, -EAGAIN, "the JVM is still starting, or has no interpreter that is known here");
    return HOTSPOT_NOT_READY;
}

/* JDK_Version::_current where there is one (8..21), else the VM's major version (it was 25 in JDK
 * 8). */
static int layout_release(struct hotspot_memory *m, const struct layout_scan *s, int *ret,
                          struct error *err)
{
    const struct layout_hit *major =
        layout_early(LAYOUT_FIELD_ROWS, s->fields, ARRAY_SIZE(LAYOUT_FIELD_ROWS),
                     offsetof(struct hotspot_layout, jdk_version_major));
    uint64_t at, v;
    int r;

    if (major && major->value < LAYOUT_TYPE_BYTES_MAX &&
        layout_early_static(s, offsetof(struct hotspot_layout, jdk_version_at), &at))
        r = memory_number(m, at + major->value, 1, &v);
    else if (layout_early_static(s, offsetof(struct hotspot_layout, vm_major_version_at), &at))
        r = memory_number(m, at, 4, &v);
    else
        return hotspot_refuse(err, "the JVM's tables do not tell its version");
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(LAYOUT_RELEASES); i++) {
        if (v == LAYOUT_RELEASES[i]) {
            *ret = (int)v;
            return 0;
        }
    }
    return hotspot_refuse(err,
                          "the memory layout of JDK %" PRIu64
                          " is not known here; known are JDK 8, 11, 17, 21, 25, 26, 27 and 28",
                          v);
}

static uint32_t layout_size_of(const struct layout_scan *s, const char *type)
{
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_SIZE_ROWS); i++) {
        if (s->sizes[i].found && strcmp(LAYOUT_SIZE_ROWS[i].name, type) == 0)
            return (uint32_t)MIN(s->sizes[i].value, UINT32_MAX);
    }
    return 0;
}

static bool layout_applies(uint8_t from, uint8_t to, int jdk)
{
    return from == 0 || (jdk >= from && jdk <= to);
}

static int layout_take_fields(const struct layout_scan *s, struct hotspot_layout *l,
                              struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_FIELD_ROWS); i++) {
        const struct layout_row *row = &LAYOUT_FIELD_ROWS[i];
        const struct layout_hit *hit = &s->fields[i];
        uint32_t bytes = layout_size_of(s, row->type), width = MAX(hit->width, 1U);

        if (!layout_applies(row->from, row->to, l->jdk))
            continue;
        if (hit->found && bytes > 0 && bytes <= LAYOUT_TYPE_BYTES_MAX && hit->value <= bytes &&
            (row->widths == WANY ? hit->value < bytes || strcmp(row->field, "_body") == 0
                                 : (row->widths & hit->width) && width <= bytes - hit->value)) {
            struct layout_field f = { (int32_t)hit->value, hit->width, hit->sign };

            memcpy((char *)l + row->member, &f, sizeof(f));
        } else if (row->from != 0) {
            return hotspot_refuse(err,
                                  "this JVM (JDK %d) keeps %s::%s in a way that is not known here",
                                  l->jdk, row->type, row->field);
        }
    }
    return 0;
}

static int layout_take_statics(const struct layout_scan *s, struct hotspot_layout *l,
                               struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_STATIC_ROWS); i++) {
        const struct layout_row *row = &LAYOUT_STATIC_ROWS[i];
        const struct layout_hit *hit = &s->statics[i];

        if (!layout_applies(row->from, row->to, l->jdk))
            continue;
        if (hit->found && hit->value >= l->image_start && hit->value <= l->image_end - 8)
            memcpy((char *)l + row->member, &hit->value, sizeof(hit->value));
        else if (row->from != 0)
            return hotspot_refuse(err, "this JVM (JDK %d) has no %s::%s where it is expected",
                                  l->jdk, row->type, row->field);
    }
    return 0;
}

static int layout_take_numbers(const struct layout_scan *s, struct hotspot_layout *l,
                               struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_SIZE_ROWS); i++) {
        const struct layout_name_row *row = &LAYOUT_SIZE_ROWS[i];
        uint32_t bytes = (uint32_t)MIN(s->sizes[i].value, UINT32_MAX);

        if (!layout_applies(row->from, row->to, l->jdk))
            continue;
        if (s->sizes[i].found && bytes > 0 && bytes <= LAYOUT_TYPE_BYTES_MAX)
            memcpy((char *)l + row->member, &bytes, sizeof(bytes));
        else if (row->from != 0)
            return hotspot_refuse(err, "this JVM (JDK %d) does not tell the size of %s", l->jdk,
                                  row->name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++) {
        const struct layout_name_row *row = &LAYOUT_CONSTANT_ROWS[i];
        int32_t v = (int32_t)s->constants[i].value;

        if (!layout_applies(row->from, row->to, l->jdk))
            continue;
        if (s->constants[i].found)
            memcpy((char *)l + row->member, &v, sizeof(v));
        else if (row->from != 0)
            return hotspot_refuse(err, "this JVM (JDK %d) does not tell the constant %s", l->jdk,
                                  row->name);
    }
    return 0;
}

static int layout_scan(const struct dynsym *d, struct layout_scan *s, struct error *err)
{
    int r = vmstructs_walk(d, VMSTRUCTS_TYPES, layout_see_type, s);

    if (r == 0)
        r = vmstructs_walk(d, VMSTRUCTS_FIELDS, layout_see_field, s);
    if (r == 0)
        r = vmstructs_walk(d, VMSTRUCTS_INTS, layout_see_constant, s);
    if (r == 0) /* what is not told by these is not known */
        r = vmstructs_walk(d, VMSTRUCTS_LONGS, layout_see_constant, s) == -ESRCH ? -ESRCH : 0;
    if (r == -ENOENT)
        return hotspot_refuse(
            err, "this libjvm does not export the tables that HotSpot keeps for tools");
    return r;
}

int layout_read(struct hotspot_memory *m, const struct dynsym *d, struct hotspot_layout *ret,
                struct error *err)
{
    _cleanup_free_ struct layout_scan *s = calloc(1, sizeof(*s));
    struct hotspot_layout l = { .image_start = d->start,
                                .image_end = d->end,
                                .data_start = d->data_start,
                                .data_end = d->data_end };
    int r;

    if (!s)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_FIELD_ROWS); i++)
        memcpy((char *)&l + LAYOUT_FIELD_ROWS[i].member, &(struct layout_field){ .offset = -1 },
               sizeof(struct layout_field));
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++)
        memcpy((char *)&l + LAYOUT_CONSTANT_ROWS[i].member, &(int32_t){ LAYOUT_NO_NUMBER },
               sizeof(int32_t));
    l.field_initialized = 0;
    l.field_injected = 1;
    l.field_generic = 2;
    l.field_contended = 4;
    r = layout_scan(d, s, err);
    if (r == 0)
        r = layout_wait(m, s, err);
    if (r == 0)
        r = layout_release(m, s, &l.jdk, err);
    if (r == 0)
        r = layout_take_fields(s, &l, err);
    if (r == 0)
        r = layout_take_statics(s, &l, err);
    if (r == 0)
        r = layout_take_numbers(s, &l, err);
    if (r == 0)
        *ret = l;
    return r;
}
