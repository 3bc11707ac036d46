/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include "base/ascii.h"

#define TEXT_BAD 0xfffdu
#define TEXT_CUT "..."

/* Decodes one UTF-8 sequence If @modified, C0 80 and lone surrogates are valid, too. Returns its
 * length and gets the code point; a broken sequence has length 1 and gives TEXT_BAD. */
static size_t text_decode(struct span in, bool modified, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)in.p;
    size_t need;
    uint32_t c, least;

    if (p[0] < 0x80) {
        *ret = p[0];
        return 1;
    }
    if (p[0] >= 0xc0 && p[0] < 0xe0) {
        need = 2, c = p[0] & 0x1f, least = 0x80;
    } else if (p[0] >= 0xe0 && p[0] < 0xf0) {
        need = 3, c = p[0] & 0x0f, least = 0x800;
    } else if (p[0] >= 0xf0 && p[0] < 0xf5 && !modified) {
        need = 4, c = p[0] & 0x07, least = 0x10000;
    } else {
        *ret = TEXT_BAD;
        return 1;
    }
    if (in.n < need) {
        *ret = TEXT_BAD;
        return 1;
    }
    for (size_t i = 1; i < need; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *ret = TEXT_BAD;
            return 1;
        }
        c = c << 6 | (p[i] & 0x3f);
    }
    if ((c < least && !(modified && c == 0)) || c > 0x10ffff)
        c = TEXT_BAD;
    *ret = c;
    return need;
}

static bool is_high_surrogate(uint32_t c)
{
    return c >= 0xd800 && c < 0xdc00;
}

static bool is_low_surrogate(uint32_t c)
{
    return c >= 0xdc00 && c < 0xe000;
}

static bool text_is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
           (c >= 0xd800 && c < 0xe000) || (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe;
}

static size_t text_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

void text_add_utf16(struct buf *out, const uint8_t *p, size_t n, bool wide)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t c = wide ? p[2 * i] | (uint32_t)p[2 * i + 1] << 8 : p[i];
        char bytes[4] = "\xc0\x80"; /* the form of NUL */

        buf_add(out, bytes, c ? text_encode(c, bytes) : 2);
    }
}

/* Takes the first character off @in and writes its clean form to @bytes. Returns the number of
 * bytes written. */
static size_t clean_next(struct span *in, bool modified, char bytes[static 4])
{
    uint32_t c, low;
    size_t used = text_decode(*in, modified, &c);

    if (modified && is_high_surrogate(c) && in->n > used) {
        size_t more = text_decode(span_from(*in, used), modified, &low);

        if (is_low_surrogate(low)) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            used += more;
        }
    }
    *in = span_from(*in, used);
    return text_encode(text_is_unsafe(c) ? TEXT_BAD : c, bytes);
}

static bool clean_fits(struct span in, bool modified, size_t room)
{
    char bytes[4];

    while (in.n) {
        size_t n = clean_next(&in, modified, bytes);

        if (n > room)
            return false;
        room -= n;
    }
    return true;
}

void text_clean(struct span in, enum text_encoding encoding, size_t max_bytes, struct buf *out)
{
    size_t written = 0, room = max_bytes - MIN(max_bytes, sizeof(TEXT_CUT) - 1);
    bool modified = encoding == TEXT_MODIFIED_UTF8;

    while (in.n) {
        struct span rest = in;
        char bytes[4];
        size_t n = clean_next(&rest, modified, bytes);

        if (written + n > room) {
            if (!clean_fits(in, modified, max_bytes - written)) {
                buf_add_str(out, TEXT_CUT);
                return;
            }
            room = max_bytes; /* the rest fits even without "..." */
        }
        buf_add(out, bytes, n);
        written += n;
        in = rest;
    }
}

char *text_clean_into(struct span in, char *field, size_t size)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(size);

    text_clean(in, TEXT_UTF8, size - 1, &clean);
    return span_copy(buf_span(&clean), field, size);
}

char *text_clean_owned(char *text)
{
    struct span in = span_of(text);
    _cleanup_buf_ struct buf clean = BUF_UPTO(3 * in.n + 1); /* a byte becomes at most U+FFFD */

    text_clean(in, TEXT_UTF8, 3 * in.n, &clean);
    free(text);
    return text ? buf_take(&clean, NULL) : NULL;
}

bool text_is_utf8(struct span s)
{
    while (s.n) {
        uint32_t c;
        size_t used = text_decode(s, /* modified= */ false, &c);

        if (is_high_surrogate(c) || is_low_surrogate(c) ||
            (c == TEXT_BAD && !span_starts_with(s, "\xef\xbf\xbd")))
            return false;
        s = span_from(s, used);
    }
    return true;
}

unsigned text_distance(struct span a, struct span b)
{
    unsigned rows[3][TEXT_DISTANCE_MAX + 1];

    a.n = MIN(a.n, (size_t)TEXT_DISTANCE_MAX);
    b.n = MIN(b.n, (size_t)TEXT_DISTANCE_MAX);
    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.n; j++) {
            char c = ascii_lower(a.p[i - 1]), d = ascii_lower(b.p[j - 1]);

            row[j] = MIN(above[j] + 1, row[j - 1] + 1);
            row[j] = MIN(row[j], above[j - 1] + (c != d));
            if (i > 1 && j > 1 && c == ascii_lower(b.p[j - 2]) && ascii_lower(a.p[i - 2]) == d)
                row[j] = MIN(row[j], two[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

void text_add_json(struct buf *out, struct span s)
{
    size_t from = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != 0x7f)
            continue;
        buf_add(out, s.p + from, i - from);
        if (c == '"' || c == '\\') {
            buf_add_char(out, '\\');
            buf_add_char(out, (char)c);
        } else {
            buf_printf(out, "\\u%04x", c);
        }
        from = i + 1;
    }
    if (s.n)
        buf_add(out, s.p + from, s.n - from);
}

void text_add_html(struct buf *out, struct span s)
{
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '&':
            buf_add_str(out, "&amp;");
            break;
        case '<':
            buf_add_str(out, "&lt;");
            break;
        case '>':
            buf_add_str(out, "&gt;");
            break;
        case '"':
            buf_add_str(out, "&quot;");
            break;
        case '\'':
            buf_add_str(out, "&#39;");
            break;
        default:
            buf_add_char(out, s.p[i]);
        }
    }
}
