/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/openmetrics.h"

#define OTHERS_MAX 512 /* families whose names are compared */
#define TOTAL "_total"

struct families {
    struct span others[OTHERS_MAX]; /* names that do not end in _total */
    size_t count;
};

static void find_others(struct span text, struct families *f)
{
    struct span line, name;

    while (f->count < OTHERS_MAX && span_take_until(&text, '\n', &line)) {
        if (span_take_str(&line, "# TYPE ") && span_take_until(&line, ' ', &name) &&
            !span_ends_with(name, TOTAL))
            f->others[f->count++] = name;
    }
}

/* Returns whether @name is a counter that OpenMetrics can have, and writes the name of its family,
 * which lacks _total. */
static bool is_counter(const struct families *f, struct span name, struct span *ret_family)
{
    *ret_family = name;
    if (!span_ends_with(name, TOTAL))
        return false;
    ret_family->n -= sizeof(TOTAL) - 1;
    for (size_t i = 0; i < f->count; i++) {
        if (span_eq(f->others[i], *ret_family)) {
            *ret_family = name;
            return false;
        }
    }
    return true;
}

/* OpenMetrics escapes quotes in help, too. */
static void add_help(struct buf *out, struct span help)
{
    for (;;) {
        size_t n = span_find(help, '"');

        buf_add(out, help.p, n);
        if (n == help.n)
            return;
        buf_add_str(out, "\\\"");
        help = span_from(help, n + 1);
    }
}

static void add_head(struct buf *out, const struct families *f, const char *kind, struct span line)
{
    struct span name = SPAN_NULL, family;
    bool counter;

    span_take_until(&line, ' ', &name);
    counter = is_counter(f, name, &family);
    buf_add_str(out, kind);
    buf_add_span(out, family);
    buf_add_char(out, ' ');
    if (kind[2] == 'H')
        add_help(out, line);
    else if (span_eq_str(line, "counter") && !counter)
        buf_add_str(out, "unknown");
    else
        buf_add_span(out, line);
    buf_add_char(out, '\n');
}

void openmetrics_add(struct buf *out, struct span text)
{
    static const char *const HEADS[] = { "# HELP ", "# TYPE " };
    struct families f = { .count = 0 };
    struct span line;

    find_others(text, &f);
    while (span_take_until(&text, '\n', &line)) {
        struct span rest = line;

        if (line.n && line.p[0] != '#') {
            buf_add_span(out, line);
            buf_add_char(out, '\n');
        }
        for (size_t i = 0; i < ARRAY_SIZE(HEADS); i++) {
            if (span_take_str(&rest, HEADS[i]))
                add_head(out, &f, HEADS[i], rest);
        }
    }
}
