/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event_match.h"

#include "base/ascii.h"

static bool fits(char pattern, char c)
{
    return pattern == '?' || ascii_lower(pattern) == ascii_lower(c);
}

/* Returns whether @pattern matches all of @text. It backtracks only to the last star, so the time
 * is bounded by the product of both lengths. */
static bool fits_all(struct span pattern, struct span text)
{
    size_t p = 0, t = 0, star = pattern.n, star_text = 0;

    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.n && fits(pattern.p[p], text.p[t])) {
            p++;
            t++;
        } else if (star < pattern.n) {
            p = star + 1;
            t = ++star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

static bool is_part(struct span pattern, struct span text)
{
    for (size_t at = 0; at + pattern.n <= text.n; at++) {
        size_t i = 0;

        while (i < pattern.n && ascii_lower(pattern.p[i]) == ascii_lower(text.p[at + i]))
            i++;
        if (i == pattern.n)
            return true;
    }
    return false;
}

bool event_match(struct span pattern, struct span text)
{
    bool glob = span_find(pattern, '*') < pattern.n || span_find(pattern, '?') < pattern.n;

    return glob ? fits_all(pattern, text) : is_part(pattern, text);
}
