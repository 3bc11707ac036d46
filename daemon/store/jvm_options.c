/* SPDX-License-Identifier: Apache-2.0 */
#include "store/jvm_options.h"

#include "base/ascii.h"
#include "base/cleanup.h"

#define VALUE_MAX_BYTES 40
#define NAME_MAX_BYTES 80
#define SHOWN_MAX 4     /* differences; more are counted */
#define OPTIONS_MAX 256 /* options of a JVM; more are not compared: time grows with the square */
#define MORE_BYTES sizeof(", and 512 more")

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

    while (!out->error && span_take_word(&args, &option) && option.p[0] == '-') {
        size_t n = name_bytes(option);

        if (span_starts_with(option, "-X") && is_plain(span_from(option, n)))
            n = option.n;
        n = MIN(n, plain_bytes(option, ".,%+-=:"));
        buf_printf(out, "%.*s\n", (int)MIN(n, (size_t)NAME_MAX_BYTES + VALUE_MAX_BYTES), option.p);
    }
}

/* ---- comparing ---- */

struct option {
    struct span all, name;
    bool kept; /* both JVMs have this option */
};

struct options {
    struct option of[OPTIONS_MAX];
    size_t n;
};

/* Returns the name without a value or a sign: the same for "-XX:+UseG1GC" and "-XX:-UseG1GC". */
static struct span name_of(struct span option)
{
    struct span name = { option.p, name_bytes(option) };

    if (span_take_str(&name, "-XX:") && !span_take_char(&name, '+'))
        span_take_char(&name, '-');
    return name;
}

static bool split(struct span lines, struct options *ret)
{
    struct span one;

    for (ret->n = 0; span_take_line(&lines, &one); ret->n++) {
        if (ret->n == OPTIONS_MAX)
            return false;
        ret->of[ret->n] = (struct option){ one, name_of(one), false };
    }
    return true;
}

static void mark_kept(struct options *a, struct options *b)
{
    for (size_t i = 0; i < a->n; i++) {
        for (size_t j = 0; j < b->n; j++) {
            if (span_eq(a->of[i].all, b->of[j].all))
                a->of[i].kept = b->of[j].kept = true;
        }
    }
}

/* Finds the option with the name of @o that only @other has; NULL: none. */
static const struct option *find_other(const struct options *other, const struct option *o)
{
    for (size_t i = 0; i < other->n; i++) {
        if (!other->of[i].kept && span_eq(other->of[i].name, o->name))
            return &other->of[i];
    }
    return NULL;
}

struct differences {
    struct buf *out;
    unsigned shown, more;
};

/* Appends a difference, if all of it fits beside the number of others. Else counts it. */
static void add(struct differences *d, const char *how, struct span before, struct span now)
{
    char text[2 * (NAME_MAX_BYTES + VALUE_MAX_BYTES) + sizeof("options without  -> ")];
    int n = snprintf(text, sizeof(text), "%s%s%.*s%s%.*s", d->shown ? ", " : "options ", how,
                     (int)before.n, before.p, now.n ? " -> " : "", (int)now.n, now.n ? now.p : "");

    if (d->shown == SHOWN_MAX || (size_t)n >= sizeof(text) ||
        d->out->n + (size_t)n + MORE_BYTES > d->out->max) {
        d->more++;
        return;
    }
    buf_add(d->out, text, (size_t)n);
    d->shown++;
}

void jvm_options_difference(struct span before, struct span now, struct buf *out)
{
    struct differences d = { .out = out };
    struct options old, new;

    if (!split(before, &old) || !split(now, &new))
        return;
    mark_kept(&old, &new);
    for (size_t i = 0; i < new.n; i++) {
        const struct option *o = &new.of[i], *other = o->kept ? NULL : find_other(&old, o);

        if (other)
            add(&d, "", other->all, o->all);
        else if (!o->kept)
            add(&d, "new ", o->all, SPAN_NULL);
    }
    for (size_t i = 0; i < old.n; i++) {
        if (!old.of[i].kept && !find_other(&new, &old.of[i]))
            add(&d, "without ", old.of[i].all, SPAN_NULL);
    }
    if (d.shown && d.more)
        buf_printf(out, ", and %u more", d.more);
}
