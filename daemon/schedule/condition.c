/* SPDX-License-Identifier: Apache-2.0 */
#include "schedule/condition.h"

#include "schedule/duration.h"

#include <math.h>

#define HOLD_MAX_NS (UINT64_C(24) * 3600 * NSEC_PER_SEC)
#define NUMBER_MAX 32 /* characters */

static const char *const NAMES[MEASURES] = {
#define MEASURE(id, name) [MEASURE_##id] = name,
#include "event/measures.def"
#undef MEASURE
};

static void skip_blanks(struct span *s)
{
    while (span_take_char(s, ' '))
        ;
}

/* Takes the next word, up to a blank or the end. */
static struct span take_word(struct span *s)
{
    struct span word;
    size_t n;

    skip_blanks(s);
    n = span_find(*s, ' ');
    word = (struct span){ s->p, n };
    *s = span_from(*s, n);
    skip_blanks(s);
    return word;
}

static bool take_number(struct span *s, double *ret)
{
    struct span word = take_word(s);
    char text[NUMBER_MAX + 1], *end;

    if (word.n == 0 || word.n > NUMBER_MAX || !((word.p[0] >= '0' && word.p[0] <= '9')))
        return false;
    span_copy(word, text, sizeof(text));
    *ret = strtod(text, &end);
    return *end == '\0' && isfinite(*ret) && !strpbrk(text, "xXpP");
}

static bool take_measure(struct span word, struct condition *c)
{
    for (size_t i = 0; i < MEASURES; i++) {
        if (!span_eq_str(word, NAMES[i]))
            continue;
        c->measure = (enum measure)i;
        c->kind = CONDITION_MEASURE;
        return true;
    }
    return false;
}

static bool take_comparison(struct span *s, struct condition *c)
{
    struct span op = take_word(s);

    c->below = op.n && op.p[0] == '<';
    c->equal = op.n == 2 && op.p[1] == '=';
    return op.n && (op.p[0] == '<' || op.p[0] == '>') && (op.n == 1 || c->equal) &&
           take_number(s, &c->number);
}

bool condition_parse(struct span text, struct condition *ret)
{
    struct condition c = { .kind = CONDITION_NONE };
    struct span left = text, word = take_word(&left);

    if (text.n >= sizeof(c.text))
        return false;
    if (span_eq_str(word, "signal")) {
        c.kind = CONDITION_SIGNAL;
        if (left.n && !(left.n > 4 && memcmp(left.p, "for ", 4) == 0)) {
            word = take_word(&left);
            if (word.n >= sizeof(c.signal))
                return false;
            span_copy(word, c.signal, sizeof(c.signal));
        }
    } else if (!take_measure(word, &c) || !take_comparison(&left, &c)) {
        return false;
    }
    if (left.n) {
        word = take_word(&left);
        if (!span_eq_str(word, "for") || !duration_parse(take_word(&left), &c.hold_ns) || left.n ||
            c.hold_ns > HOLD_MAX_NS)
            return false;
    }
    span_copy(text, c.text, sizeof(c.text));
    *ret = c;
    return true;
}

bool condition_met(const struct condition *c, double value)
{
    if (isnan(value))
        return false;
    if (c->equal && value == c->number)
        return true;
    return c->below ? value < c->number : value > c->number;
}
