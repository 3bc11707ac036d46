/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/point_field.h"

#include "base/macros.h"

#define SHOWN_MAX 40
#define LISTED_MAX 96 /* bytes of names in a sentence */

/* A line of the file: "field:char prev_comm[16]; offset:8; size:16; signed:0;" */
struct line {
    struct span type, name;
    uint64_t offset, size, has_sign;
    bool is_array;
};

static bool take_entry(struct span *s, const char *name, uint64_t *ret)
{
    struct span part;

    return span_take_until(s, ';', &part) && (part = span_trim(part), span_take_str(&part, name)) &&
           span_parse_dec(part, ret);
}

static bool parse_line(struct span s, struct line *ret)
{
    struct span declared;

    s = span_trim(s);
    if (!span_take_str(&s, "field:") || !span_take_until(&s, ';', &declared) ||
        !take_entry(&s, "offset:", &ret->offset) || !take_entry(&s, "size:", &ret->size) ||
        !take_entry(&s, "signed:", &ret->has_sign) || ret->offset > UINT16_MAX ||
        ret->size > UINT16_MAX)
        return false;
    ret->is_array = span_ends_with(declared, "]");
    if (ret->is_array)
        declared.n = span_rfind(declared, '[');
    ret->name = (struct span){ declared.p + declared.n, 0 };
    while (ret->name.n < declared.n && is_identifier_char(ret->name.p[-1])) {
        ret->name.p--;
        ret->name.n++;
    }
    ret->type = span_trim((struct span){ declared.p, declared.n - ret->name.n });
    return ret->name.n > 0;
}

static bool contains(struct span s, const char *word)
{
    for (; s.n; s = span_from(s, 1)) {
        if (span_starts_with(s, word))
            return true;
    }
    return false;
}

static int no_field(struct span format, struct span name, struct error *err)
{
    char names[LISTED_MAX] = "";
    size_t n = 0;
    struct span rest = format, one;
    struct line line;

    while (span_take_until(&rest, '\n', &one)) {
        if (!parse_line(one, &line) || span_starts_with(line.name, "common_") ||
            line.name.n + n + 3 > sizeof(names))
            continue;
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%.*s", n ? ", " : "",
                              (int)line.name.n, line.name.p);
    }
    error_remedy(err, "its fields are %s; cpu, comm and common_pid are of each event", names);
    return error_parameter(err, "filter", -EINVAL, "the tracepoint has no field %.*s",
                           (int)MIN(name.n, (size_t)SHOWN_MAX), name.p);
}

/* Finds a field that all events have in common, and that BPF programs cannot read from the
 * event. */
static bool find_common(struct span name, struct point_field *ret)
{
    *ret = (struct point_field){ .name = name, .size = 4, .has_sign = true };
    if (span_eq_str(name, "common_pid"))
        ret->kind = FIELD_PID;
    else if (span_eq_str(name, "cpu") || span_eq_str(name, "CPU"))
        ret->kind = FIELD_CPU;
    else if (span_eq_str(name, "comm") || span_eq_str(name, "COMM"))
        ret->kind = FIELD_COMM;
    else
        return false;
    return true;
}

static int describe(const struct line *line, struct point_field *ret, struct error *err)
{
    bool chars = contains(line->type, "char");

    *ret = (struct point_field){ .name = line->name,
                                 .offset = (uint16_t)line->offset,
                                 .bytes = (uint32_t)line->size,
                                 .has_sign = line->has_sign == 1 };
    if (span_starts_with(line->type, "__data_loc") && chars) {
        ret->kind = FIELD_DYNAMIC;
        return 0;
    }
    if (span_starts_with(line->type, "__rel_loc") && chars) {
        ret->kind = FIELD_BEHIND;
        return 0;
    }
    if (line->is_array && chars) {
        ret->kind = FIELD_TEXT;
        return 0;
    }
    if (!contains(line->type, "_loc ") && !contains(line->type, "char *") && !line->is_array &&
        (line->size == 1 || line->size == 2 || line->size == 4 || line->size == 8)) {
        ret->kind = FIELD_NUMBER;
        ret->size = (uint8_t)line->size;
        return 0;
    }
    return error_parameter(err, "filter", -EINVAL,
                           "the field %.*s is neither a number nor a text in the event, and cannot "
                           "be compared",
                           (int)MIN(line->name.n, (size_t)SHOWN_MAX), line->name.p);
}

int point_field_find(struct span format, struct span name, struct point_field *ret,
                     struct error *err)
{
    struct span rest = format, one;
    struct line line;

    if (!span_starts_with(name, "common_")) {
        while (span_take_until(&rest, '\n', &one)) {
            if (parse_line(one, &line) && span_eq(line.name, name))
                return describe(&line, ret, err);
        }
    }
    return find_common(name, ret) ? 0 : no_field(format, name, err);
}
