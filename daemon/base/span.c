/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

bool span_eq(struct span a, struct span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

int span_compare(struct span a, struct span b)
{
    size_t n = MIN(a.n, b.n);
    int r = n ? memcmp(a.p, b.p, n) : 0;

    return r ? r : (a.n > b.n) - (a.n < b.n);
}

bool span_eq_str(struct span a, const char *b)
{
    return span_eq(a, span_of(b));
}

bool span_starts_with(struct span s, const char *prefix)
{
    size_t n = strlen(prefix);

    return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

bool span_ends_with(struct span s, const char *suffix)
{
    size_t n = strlen(suffix);

    return s.n >= n && (n == 0 || memcmp(s.p + s.n - n, suffix, n) == 0);
}

size_t span_find(struct span s, char c)
{
    const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;

    return hit ? (size_t)(hit - s.p) : s.n;
}

size_t span_rfind(struct span s, char c)
{
    const char *hit = s.n ? memrchr(s.p, c, s.n) : NULL;

    return hit ? (size_t)(hit - s.p) : s.n;
}

struct span span_from(struct span s, size_t from)
{
    if (from >= s.n)
        return SPAN_NULL;
    return (struct span){ s.p + from, s.n - from };
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_space(char c)
{
    return is_blank(c) || c == '\n' || c == '\r';
}

struct span span_trim(struct span s)
{
    while (s.n && is_space(s.p[0]))
        s = (struct span){ s.p + 1, s.n - 1 };
    while (s.n && is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static void span_advance(struct span *s, size_t n)
{
    s->p += n;
    s->n -= n;
}

bool span_take_char(struct span *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    span_advance(s, 1);
    return true;
}

bool span_take_str(struct span *s, const char *literal)
{
    if (!span_starts_with(*s, literal))
        return false;
    span_advance(s, strlen(literal));
    return true;
}

bool span_take_dec(struct span *s, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i;

    for (i = 0; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++) {
        if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
            __builtin_add_overflow(v, (uint64_t)(s->p[i] - '0'), &v))
            return false;
    }
    if (i == 0)
        return false;
    span_advance(s, i);
    *ret = v;
    return true;
}

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool span_take_hex(struct span *s, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i;

    for (i = 0; i < s->n && hex_value(s->p[i]) >= 0; i++) {
        if (v >> 60)
            return false;
        v = v << 4 | (uint64_t)hex_value(s->p[i]);
    }
    if (i == 0)
        return false;
    span_advance(s, i);
    *ret = v;
    return true;
}

void span_skip_blanks(struct span *s)
{
    while (s->n && is_blank(s->p[0]))
        span_advance(s, 1);
}

bool span_take_word(struct span *s, struct span *ret)
{
    struct span rest = *s;
    size_t n = 0;

    span_skip_blanks(&rest);
    while (n < rest.n && !is_blank(rest.p[n]))
        n++;
    if (n == 0)
        return false;
    *ret = (struct span){ rest.p, n };
    span_advance(&rest, n);
    *s = rest;
    return true;
}

bool span_take_until(struct span *s, char sep, struct span *ret)
{
    size_t n;

    if (s->n == 0)
        return false;
    n = span_find(*s, sep);
    *ret = (struct span){ s->p, n };
    span_advance(s, n < s->n ? n + 1 : n);
    return true;
}

bool span_take_line(struct span *s, struct span *ret)
{
    return span_take_until(s, '\n', ret);
}

struct span span_find_line(struct span lines, const char *prefix)
{
    struct span line;

    while (span_take_line(&lines, &line)) {
        if (span_take_str(&line, prefix))
            return line;
    }
    return SPAN_NULL;
}

int span_take_range(struct span *s, uint64_t *ret_first, uint64_t *ret_last)
{
    uint64_t first, last;
    struct span range;

    if (!span_take_until(s, ',', &range))
        return 0;
    if (!span_take_dec(&range, &first))
        return -EBADMSG;
    last = first;
    if (span_take_char(&range, '-') && !span_take_dec(&range, &last))
        return -EBADMSG;
    if (range.n || last < first)
        return -EBADMSG;
    *ret_first = first;
    *ret_last = last;
    return 1;
}

bool span_parse_dec(struct span s, uint64_t *ret)
{
    uint64_t v;

    if (!span_take_dec(&s, &v) || s.n)
        return false;
    *ret = v;
    return true;
}

char *span_copy(struct span s, char *buf, size_t size)
{
    size_t n = MIN(s.n, size - 1);

    for (size_t i = 0; i < n; i++)
        buf[i] = s.p[i] ? s.p[i] : '?';
    buf[n] = '\0';
    return buf;
}

char *span_dup(struct span s)
{
    char *copy = malloc(s.n + 1);

    return copy ? span_copy(s, copy, s.n + 1) : NULL;
}

bool span_take_bytes(struct span *s, size_t n, struct span *ret)
{
    if (s->n < n)
        return false;
    *ret = (struct span){ s->p, n };
    span_advance(s, n);
    return true;
}

static bool span_take_raw(struct span *s, void *ret, size_t n)
{
    if (s->n < n)
        return false;
    memcpy(ret, s->p, n);
    span_advance(s, n);
    return true;
}

bool span_take_u8(struct span *s, uint8_t *ret)
{
    return span_take_raw(s, ret, sizeof(*ret));
}

bool span_take_u16(struct span *s, uint16_t *ret)
{
    return span_take_raw(s, ret, sizeof(*ret));
}

bool span_take_u32(struct span *s, uint32_t *ret)
{
    return span_take_raw(s, ret, sizeof(*ret));
}

bool span_take_u64(struct span *s, uint64_t *ret)
{
    return span_take_raw(s, ret, sizeof(*ret));
}

struct span span_base_name(struct span path)
{
    size_t slash = span_rfind(path, '/');

    return slash < path.n ? span_from(path, slash + 1) : path;
}
