/* SPDX-License-Identifier: Apache-2.0 */
#include "pusher/hide.h"

#include "base/buf.h"
#include "base/list.h"

#define BASIC_BYTES_MAX ((size_t)16 << 10)

struct secrets {
    struct span items[HIDE_SECRETS_MAX];
    size_t count;
    struct buf basic; /* base64 of user:password */
};

/* Returns true if @header is one that flamed adds to every request. */
static bool is_public(struct span header)
{
    static const char *const PUBLIC[] = { "Content-Type:", "Content-Encoding:",
                                          "Connect-Protocol-Version:" };

    return ANY_OF(i, ARRAY_SIZE(PUBLIC), span_starts_with(header, PUBLIC[i]));
}

static void add(struct secrets *s, struct span secret)
{
    if (secret.n >= HIDE_BYTES_MIN && s->count < HIDE_SECRETS_MAX)
        s->items[s->count++] = secret;
}

/* Adds two secrets: the value of a header, and its part after the type, such as "Bearer". */
static void add_header(struct secrets *s, struct span header)
{
    struct span value = span_trim(span_from(header, span_find(header, ':') + 1));

    if (is_public(header))
        return;
    add(s, value);
    add(s, span_from(value, span_find(value, ' ') + 1));
}

static void add_base64(struct buf *to, struct span s)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < s.n; i += 3) {
        uint32_t bits = 0;

        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < s.n ? (uint8_t)s.p[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            buf_add_char(to, i + k <= s.n ? DIGITS[bits >> (18 - 6 * k) & 63] : '=');
    }
}

static void add_basic(struct secrets *s, const char *user, const char *password)
{
    _cleanup_buf_ struct buf both = BUF_UPTO(BASIC_BYTES_MAX);

    buf_init(&s->basic, BASIC_BYTES_MAX);
    buf_printf(&both, "%s:%s", user, password);
    add_base64(&s->basic, buf_span(&both));
    if (both.p)
        explicit_bzero(both.p, both.cap);
    if (!both.error && !s->basic.error)
        add(s, buf_span(&s->basic));
}

static void find_secrets(const char *words, struct secrets *ret)
{
    const char *user = "", *password = "";

    *ret = (struct secrets){ .basic = BUF_NULL };
    for (const char *w = words; w && *w; w += strlen(w) + 1) {
        struct span word = span_of(w);

        if (span_take_str(&word, "password="))
            password = word.p;
        else if (span_take_str(&word, "user="))
            user = word.p;
        else if (span_take_str(&word, "header="))
            add_header(ret, word);
    }
    add(ret, span_of(password));
    if (user[0] || password[0])
        add_basic(ret, user, password);
}

/* Returns the length of the longest secret that @text begins with; 0: none. */
static size_t secret_at(const struct secrets *s, struct span text)
{
    size_t longest = 0;

    for (size_t i = 0; i < s->count; i++) {
        size_t n = s->items[i].n;

        if (n > longest && n <= text.n && memcmp(text.p, s->items[i].p, n) == 0)
            longest = n;
    }
    return longest;
}

void hide_copy(const char *words, struct span text, char to[PUSHER_TEXT_BYTES])
{
    static const char HIDDEN[] = "[hidden]";
    struct secrets s;
    size_t n = 0;

    find_secrets(words, &s);
    while (text.n && n < PUSHER_TEXT_BYTES - 1) {
        size_t secret = secret_at(&s, text);

        if (secret) {
            size_t room = MIN(sizeof(HIDDEN) - 1, PUSHER_TEXT_BYTES - 1 - n);

            memcpy(to + n, HIDDEN, room);
            n += room;
        } else {
            to[n++] = *text.p >= ' ' && *text.p <= '~' ? *text.p : ' ';
        }
        text = span_from(text, MAX(secret, (size_t)1));
    }
    to[n] = '\0';
    if (s.basic.p)
        explicit_bzero(s.basic.p, s.basic.cap);
    buf_deinit(&s.basic);
}
