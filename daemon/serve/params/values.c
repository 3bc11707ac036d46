/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/values.h"

#include "base/text.h"

bool value_scaled(struct span text, uint64_t scale, uint64_t *ret)
{
    uint64_t whole, fraction = 0, digit_scale = scale;
    struct span rest = text;

    if (!span_take_dec(&rest, &whole) || whole > INT64_MAX / scale)
        return false;
    if (rest.n) {
        if (!span_take_char(&rest, '.') || rest.n == 0)
            return false;
        for (size_t i = 0; i < rest.n; i++) {
            if (rest.p[i] < '0' || rest.p[i] > '9')
                return false;
            digit_scale /= 10;
            fraction += digit_scale * (uint64_t)(rest.p[i] - '0');
        }
    }
    if (whole * scale > INT64_MAX - fraction)
        return false;
    *ret = whole * scale + fraction;
    return true;
}

bool value_interval(struct span text, uint64_t *ret_ns)
{
    static const struct {
        const char *suffix;
        uint64_t scale;
    } UNITS[] = { { "us", NSEC_PER_USEC }, { "ms", NSEC_PER_MSEC }, { "s", NSEC_PER_SEC } };

    for (size_t i = 0; i < ARRAY_SIZE(UNITS); i++) {
        struct span number = text;

        if (!span_ends_with(text, UNITS[i].suffix))
            continue;
        number.n -= strlen(UNITS[i].suffix);
        return value_scaled(number, UNITS[i].scale, ret_ns);
    }
    return false;
}

bool value_count(struct span text, uint64_t *ret)
{
    uint64_t scale = span_ends_with(text, "k") ? 1000 : span_ends_with(text, "m") ? 1000000 : 1;

    if (scale > 1)
        text.n--;
    return value_scaled(text, scale, ret) && *ret > 0 &&
           (scale > 1 || span_find(text, '.') == text.n);
}

bool value_bytes(struct span text, uint64_t *ret)
{
    unsigned shift = span_ends_with(text, "k") ? 10 : span_ends_with(text, "m") ? 20 : 0;
    uint64_t n;

    if (shift)
        text.n--;
    if (!span_parse_dec(text, &n) || n == 0 || n > (uint64_t)INT64_MAX >> shift)
        return false;
    *ret = n << shift;
    return true;
}

bool value_named(struct span text, const struct value_name *names, size_t count, unsigned *ret)
{
    for (size_t i = 0; i < count; i++) {
        if (span_eq_str(text, names[i].name)) {
            *ret = names[i].value;
            return true;
        }
    }
    return false;
}

#define WORD_MAX 24 /* bytes of the longest word that is compared */

const char *value_nearest(struct span word, const char *const *names, size_t count)
{
    unsigned best = UINT32_MAX;
    const char *near = NULL;

    if (word.n == 0 || word.n > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct span name = span_of(names[i]);
        unsigned d, limit = (unsigned)MAX((size_t)1, MIN(word.n, name.n) / 3);

        if (name.n > WORD_MAX)
            continue;
        d = text_distance(word, name);
        if (d <= limit && d < best) {
            best = d;
            near = names[i];
        }
    }
    return near;
}
