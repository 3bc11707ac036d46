/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jvm_options.h"

#include "base/ascii.h"
#include "base/cleanup.h"

#define VALUE_MAX_BYTES 40
#define NAME_MAX_BYTES 80
#define SHOWN_MAX 4 /* differences; more are counted */

/* ---- keeping ---- */

/* Returns how many bytes of @option are its name: all of "-XX:+UseG1GC", and 4 of "-Xmx512m". */
static size_t name_bytes(struct span option)
{
    size_t size = sizeof("-Xmx") - 1;

    if (span_starts_with(option, "-XX:") || span_starts_with(option, "-D"))
        return span_find(option, '=');
    if (span_starts_with(option, "-X") && option.n > size && ascii_is_digit(option.p[size]))
        return size;
    return MIN(span_find(option, ':'), span_find(option, '='));
}

/* Returns how many bytes @s begins with that are letters, digits or one of @others. */
static size_t plain_bytes(struct span s, const char *others)
{
    size_t n = 0;

    while (n < s.n && (is_identifier_char(s.p[n]) || memchr(others, s.p[n], strlen(others))))
        n++;
    return n;
}

static bool is_plain(struct span value)
{
    return value.n <= VALUE_MAX_BYTES && plain_bytes(value, ".,%+-=") == value.n;
}

void jvm_options_of_args(struct span args, struct buf *out)
{
    struct span option;

    while (span_take_word(&args, &option) && option.p[0] == '-') {
        size_t n = name_bytes(option);

        if (span_starts_with(option, "-X") && is_plain(span_from(option, n)))
            n = option.n;
        n = MIN(n, plain_bytes(option, ".,%+-=:"));
        buf_printf(out, "%.*s\n", (int)MIN(n, (size_t)NAME_MAX_BYTES + VALUE_MAX_BYTES), option.p);
    }
}

/* ---- comparing ---- */

static bool has(struct span options, struct span wanted)
{
    struct span one;

    while (span_take_line(&options, &one)) {
        if (span_eq(one, wanted))
            return true;
    }
    return false;
}

/* Returns the name without a value or a sign: "-XX:+UseG1GC" and "-XX:-UseG1GC" have the same. */
static struct span name_of(struct span option)
{
    struct span name = { option.p, name_bytes(option) };

    if (span_take_str(&name, "-XX:") && !span_take_char(&name, '+'))
        span_take_char(&name, '-');
    return name;
}

/* Finds the option with the name of @option that @options has and @other has not. */
static bool find_other(struct span options, struct span other, struct span option, struct span *ret)
{
    struct span one;

    while (span_take_line(&options, &one)) {
        if (span_eq(name_of(one), name_of(option)) && !has(other, one)) {
            *ret = one;
            return true;
        }
    }
    return false;
}

struct differences {
    struct buf *out;
    unsigned count;
};

static void add(struct differences *d, const char *how, struct span before, struct span now)
{
    if (d->count++ >= SHOWN_MAX)
        return;
    buf_printf(d->out, "%s%s%.*s", d->count > 1 ? ", " : "options ", how, (int)before.n, before.p);
    if (now.n)
        buf_printf(d->out, " -> %.*s", (int)now.n, now.p);
}

void jvm_options_difference(struct span before, struct span now, struct buf *out)
{
    struct differences d = { .out = out };
    struct span rest = now, one, other;

    while (span_take_line(&rest, &one)) {
        if (has(before, one))
            continue;
        if (find_other(before, now, one, &other))
            add(&d, "", other, one);
        else
            add(&d, "new ", one, SPAN_NULL);
    }
    rest = before;
    while (span_take_line(&rest, &one)) {
        if (!has(now, one) && !find_other(now, before, one, &other))
            add(&d, "without ", one, SPAN_NULL);
    }
    if (d.count > SHOWN_MAX)
        buf_printf(out, ", and %u more", d.count - SHOWN_MAX);
}
