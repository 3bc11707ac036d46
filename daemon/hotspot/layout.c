/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes struct hotspot_layout from the VM's tables: determines the release, checks the rows, and
 * refuses unknown layouts.
 */
#include "base/list.h"
#include "hotspot/layout_rows.h"

#include "hotspot/dynsym.h"
#include "hotspot/vm.h"

#include <inttypes.h>

/* Releases with layouts that were read in the sources and seen running. */
static const uint8_t LAYOUT_RELEASES[] = { 8, 11, 17, 21, 25, 26, 27, 28 };

/* Rows that naming methods does not need. If an unknown release lacks one of them, only names of
 * threads and locks are off. */
static const size_t LAYOUT_OF_OBJECTS[] = {
    offsetof(struct hotspot_layout, oop_klass),
    offsetof(struct hotspot_layout, oop_compressed_klass),
    offsetof(struct hotspot_layout, thread_object),
    offsetof(struct hotspot_layout, instance_field_stream),
    offsetof(struct hotspot_layout, instance_fields),
    offsetof(struct hotspot_layout, oop_base_at),
    offsetof(struct hotspot_layout, oop_shift_at),
    offsetof(struct hotspot_layout, klass_base_at),
    offsetof(struct hotspot_layout, klass_shift_at),
    offsetof(struct hotspot_layout, field_initialized),
    offsetof(struct hotspot_layout, field_injected),
    offsetof(struct hotspot_layout, field_generic),
    offsetof(struct hotspot_layout, field_contended),
};

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

/* Returns the entry of @member in @rows for any release, as the release is not known yet. NULL:
 * none. */
static const struct layout_hit *layout_early(const struct layout_row *rows,
                                             const struct layout_hit *hits, size_t n, size_t member)
{
    return FIRST_OF(i, hits, n, rows[i].member == member && hits[i].found);
}

/* Gets static @member (its offset in struct hotspot_layout), for any release. Returns false if the
 * tables lack the static. */
static bool layout_early_static(const struct layout_scan *s, size_t member, uint64_t *ret)
{
    const struct layout_hit *hit =
        layout_early(LAYOUT_STATIC_ROWS, s->statics, ARRAY_SIZE(LAYOUT_STATIC_ROWS), member);

    if (hit)
        *ret = hit->value;
    return hit != NULL;
}

/*
 * Waits for the VM to make its interpreter. While libjvm is being loaded, its tables are not valid:
 * first they are the file's bytes, then partly relocated, then partly written. Returns 0 or
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

/* Gets the release from JDK_Version::_current if there is one (8..21), else from the VM's major
 * version (which was 25 in JDK 8). */
static int layout_release(struct hotspot_memory *m, const struct layout_scan *s,
                          struct hotspot_layout *l, struct error *err)
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
        return hotspot_refuse(err, "the JVM's tables do not say its version");
    if (r < 0)
        return r;
    if (v < LAYOUT_RELEASES[0] || v >= LAYOUT_JDK_MAX)
        return hotspot_refuse(
            err, "the memory layout of JDK %" PRIu64 " is not known here; known are JDK %u to %u",
            v, LAYOUT_RELEASES[0], LAYOUT_RELEASES[ARRAY_SIZE(LAYOUT_RELEASES) - 1]);
    l->jdk = (int)v;
    l->run = memchr(LAYOUT_RELEASES, (int)v, sizeof(LAYOUT_RELEASES)) != NULL;
    return 0;
}

int layout_newest(void)
{
    return LAYOUT_RELEASES[ARRAY_SIZE(LAYOUT_RELEASES) - 1];
}

static uint32_t layout_size_of(const struct layout_scan *s, const char *type)
{
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_SIZE_ROWS); i++) {
        if (s->sizes[i].found && strcmp(LAYOUT_SIZE_ROWS[i].name, type) == 0)
            return (uint32_t)MIN(s->sizes[i].value, UINT32_MAX);
    }
    return 0;
}

/* Returns whether a row for releases @from to @to applies to @l. */
static bool layout_applies(uint8_t from, uint8_t to, const struct hotspot_layout *l)
{
    return from == 0 || !l->run || (l->jdk >= from && l->jdk <= to);
}

/* Returns whether a row for releases @from to @to is required. For a release that was seen, that
 * release counts; for another, the nearest seen releases before and after it. */
static bool layout_needs(uint8_t from, uint8_t to, const struct hotspot_layout *l)
{
    int before = LAYOUT_RELEASES[0], after = 0;

    if (from == 0 || l->run)
        return from != 0 && l->jdk >= from && l->jdk <= to;
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_RELEASES); i++) {
        if (LAYOUT_RELEASES[i] < l->jdk)
            before = LAYOUT_RELEASES[i];
        else if (!after)
            after = LAYOUT_RELEASES[i];
    }
    return before >= from && before <= to && (!after || (after >= from && after <= to));
}

/* Handles a required row without an entry. Returns true if the row may be missing, because the
 * release is unknown and @member is about objects. Then writes the row to l->lacks. */
static bool layout_lacks(struct hotspot_layout *l, size_t member, const char *type,
                         const char *field)
{
    if (l->run)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_OF_OBJECTS); i++) {
        if (LAYOUT_OF_OBJECTS[i] == member) {
            snprintf(l->lacks, sizeof(l->lacks), "%s%s%s", type, field[0] ? "::" : "", field);
            return true;
        }
    }
    return false;
}

/* Returns whether the field of @row lies within its type and has an accepted width. The class of an
 * object must lie within the bytes that heap_klass() has. */
static bool layout_fits(const struct layout_scan *s, const struct layout_row *row,
                        const struct layout_hit *hit)
{
    uint32_t bytes = layout_size_of(s, row->type), width = MAX(hit->width, 1U);

    if (strcmp(row->type, "oopDesc") == 0)
        bytes = MIN(bytes, (uint32_t)HEAP_HEADER_BYTES);
    if (!hit->found || bytes == 0 || bytes > LAYOUT_TYPE_BYTES_MAX || hit->value > bytes)
        return false;
    if (row->widths == WANY)
        return hit->value < bytes || strcmp(row->field, "_body") == 0;
    return (row->widths & hit->width) && width <= bytes - hit->value;
}

static int layout_take_fields(const struct layout_scan *s, struct hotspot_layout *l,
                              struct error *err)
{
    struct layout_field f;

    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_FIELD_ROWS); i++) {
        const struct layout_row *row = &LAYOUT_FIELD_ROWS[i];
        const struct layout_hit *hit = &s->fields[i];

        f = (struct layout_field){ (int32_t)hit->value, hit->width, hit->sign };
        if (layout_applies(row->from, row->to, l) && layout_fits(s, row, hit))
            memcpy((char *)l + row->member, &f, sizeof(f));
    }
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_FIELD_ROWS); i++) {
        const struct layout_row *row = &LAYOUT_FIELD_ROWS[i];

        memcpy(&f, (const char *)l + row->member, sizeof(f));
        if (f.offset < 0 && layout_needs(row->from, row->to, l) &&
            !layout_lacks(l, row->member, row->type, row->field))
            return hotspot_refuse(err, "flamed does not know how this JVM (JDK %d) keeps %s::%s",
                                  l->jdk, row->type, row->field);
    }
    return 0;
}

static int layout_take_statics(const struct layout_scan *s, struct hotspot_layout *l,
                               struct error *err)
{
    uint64_t v;

    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_STATIC_ROWS); i++) {
        const struct layout_row *row = &LAYOUT_STATIC_ROWS[i];
        const struct layout_hit *hit = &s->statics[i];

        if (layout_applies(row->from, row->to, l) && hit->found && hit->value >= l->image_start &&
            hit->value <= l->image_end - 8)
            memcpy((char *)l + row->member, &hit->value, sizeof(hit->value));
    }
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_STATIC_ROWS); i++) {
        const struct layout_row *row = &LAYOUT_STATIC_ROWS[i];

        memcpy(&v, (const char *)l + row->member, sizeof(v));
        if (!v && layout_needs(row->from, row->to, l) &&
            !layout_lacks(l, row->member, row->type, row->field))
            return hotspot_refuse(err, "this JVM (JDK %d) has no %s::%s where it is expected",
                                  l->jdk, row->type, row->field);
    }
    return 0;
}

static int layout_take_sizes(const struct layout_scan *s, struct hotspot_layout *l,
                             struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_SIZE_ROWS); i++) {
        const struct layout_name_row *row = &LAYOUT_SIZE_ROWS[i];
        uint32_t bytes = (uint32_t)MIN(s->sizes[i].value, UINT32_MAX);

        if (!layout_applies(row->from, row->to, l))
            continue;
        if (s->sizes[i].found && bytes > 0 && bytes <= LAYOUT_TYPE_BYTES_MAX)
            memcpy((char *)l + row->member, &bytes, sizeof(bytes));
        else if (layout_needs(row->from, row->to, l))
            return hotspot_refuse(err, "this JVM (JDK %d) does not publish the size of %s", l->jdk,
                                  row->name);
    }
    return 0;
}

static int layout_take_constants(const struct layout_scan *s, struct hotspot_layout *l,
                                 struct error *err)
{
    int32_t v;

    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++) {
        const struct layout_name_row *row = &LAYOUT_CONSTANT_ROWS[i];

        v = (int32_t)s->constants[i].value;
        if (layout_applies(row->from, row->to, l) && s->constants[i].found)
            memcpy((char *)l + row->member, &v, sizeof(v));
    }
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++) {
        const struct layout_name_row *row = &LAYOUT_CONSTANT_ROWS[i];

        memcpy(&v, (const char *)l + row->member, sizeof(v));
        if (v == LAYOUT_NO_NUMBER && layout_needs(row->from, row->to, l) &&
            !layout_lacks(l, row->member, row->name, ""))
            return hotspot_refuse(err, "this JVM (JDK %d) does not publish the constant %s", l->jdk,
                                  row->name);
    }
    return 0;
}

/* Sets the bits of JDK 21 to 27; the tables of these may lack them. */
static void layout_set_field_bits(struct hotspot_layout *l)
{
    if (l->jdk >= 28)
        return;
    l->field_initialized = 0;
    l->field_injected = 1;
    l->field_generic = 2;
    l->field_contended = 4;
}

int layout_read(struct hotspot_memory *m, const struct dynsym *d, struct hotspot_layout *ret,
                struct error *err)
{
    _cleanup_free_ struct layout_scan *s = calloc(1, sizeof(*s));
    struct hotspot_layout l = { .image_start = d->start,
                                .image_end = d->end,
                                .data_start = d->data_start,
                                .data_end = d->data_end,
                                .aarch64 = d->aarch64 };
    int r;

    if (!s)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_FIELD_ROWS); i++)
        memcpy((char *)&l + LAYOUT_FIELD_ROWS[i].member, &(struct layout_field){ .offset = -1 },
               sizeof(struct layout_field));
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++)
        memcpy((char *)&l + LAYOUT_CONSTANT_ROWS[i].member, &(int32_t){ LAYOUT_NO_NUMBER },
               sizeof(int32_t));
    r = layout_scan(d, s, err) ?: layout_wait(m, s, err) ?: layout_release(m, s, &l, err) ?:
        layout_take_fields(s, &l, err) ?: layout_take_statics(s, &l, err) ?:
        layout_take_sizes(s, &l, err);
    if (r == 0)
        layout_set_field_bits(&l);
    if (r == 0)
        r = layout_take_constants(s, &l, err);
    if (r == 0)
        *ret = l;
    return r;
}
