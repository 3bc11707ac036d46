/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/java_text.h"

#include "base/ascii.h"
#include "base/text.h"
#include "profile/lock_words.h"

#define JAVA_ARRAY_DIMENSIONS_MAX 255 /* JVMS 4.3.2 */

/* Returns the name without the "+0x0000000800c03000", "/0x...", ".0x..." or "/1234567" that the JVM
 * appended. */
static struct span without_hidden_suffix(struct span s)
{
    size_t at = s.n;

    while (at && hex_value(s.p[at - 1]) >= 0)
        at--;
    if (at == s.n)
        return s;
    if (at >= 3 && s.p[at - 1] == 'x' && s.p[at - 2] == '0' &&
        (s.p[at - 3] == '+' || s.p[at - 3] == '/' || s.p[at - 3] == '.'))
        return at > 3 ? (struct span){ s.p, at - 3 } : s;
    at = s.n;
    while (at && ascii_is_digit(s.p[at - 1]))
        at--;
    if (at >= 2 && at < s.n && (s.p[at - 1] == '/' || s.p[at - 1] == '+'))
        return (struct span){ s.p, at - 1 };
    return s;
}

/* Returns the name of a generated class without the number at its end; any other name unchanged. */
static struct span without_serial(struct span s)
{
    static const char *const GENERATED[] = {
        "$$Lambda$",
        "GeneratedMethodAccessor",
        "GeneratedConstructorAccessor",
        "GeneratedSerializationConstructorAccessor",
    };
    struct span stem = s;

    while (stem.n && ascii_is_digit(stem.p[stem.n - 1]))
        stem.n--;
    if (stem.n == s.n)
        return s;
    for (size_t i = 0; i < ARRAY_SIZE(GENERATED); i++) {
        if (span_ends_with(stem, GENERATED[i])) {
            stem.n -= stem.p[stem.n - 1] == '$';
            return stem;
        }
    }
    return s;
}

void java_class_text(struct span internal, struct buf *out)
{
    struct span s = without_serial(without_hidden_suffix(internal)), part;

    while (span_find(s, '/') < s.n && span_take_until(&s, '/', &part)) {
        buf_add_span(out, part);
        buf_add_char(out, '.');
    }
    buf_add_span(out, s);
}

#define STUB_GENERATED " (stub gen)"

struct span java_stub_text(struct span name)
{
    struct span s = name;

    if (span_ends_with(s, STUB_GENERATED))
        s.n -= strlen(STUB_GENERATED);
    else if (!span_take_str(&s, "Stub Generator "))
        return name;
    if (!span_ends_with(s, "_stub"))
        return name;
    s.n -= strlen("_stub");
    return s.n ? s : name;
}

static const char *primitive_text(char c)
{
    switch (c) {
    case 'B':
        return "byte";
    case 'C':
        return "char";
    case 'D':
        return "double";
    case 'F':
        return "float";
    case 'I':
        return "int";
    case 'J':
        return "long";
    case 'S':
        return "short";
    case 'Z':
        return "boolean";
    default:
        return NULL;
    }
}

/* Writes one type. Returns false if there is none. */
static bool type_text(struct span *s, struct buf *out)
{
    size_t dimensions = 0;
    struct span name;

    while (span_take_char(s, '[')) {
        if (++dimensions > JAVA_ARRAY_DIMENSIONS_MAX)
            return false;
    }
    if (!s->n)
        return false;
    if (s->p[0] == 'L') {
        size_t end = span_find(*s, ';');

        if (end == s->n || end == 1)
            return false;
        name = (struct span){ s->p + 1, end - 1 };
        java_class_text(name, out);
        *s = span_from(*s, end + 1);
    } else if (primitive_text(s->p[0])) {
        buf_add_str(out, primitive_text(s->p[0]));
        *s = span_from(*s, 1);
    } else {
        return false;
    }
    while (dimensions--)
        buf_add_str(out, "[]");
    return true;
}

void java_type_text(struct span internal, struct buf *out)
{
    struct span s = internal;
    size_t start = out->n;

    if (internal.n && internal.p[0] == '[' && type_text(&s, out) && s.n == 0)
        return;
    if (!out->error) {
        out->n = start;
        java_class_text(internal, out);
    }
}

char *java_type_clean(const char *name, char *text, size_t size)
{
    _cleanup_buf_ struct buf raw = BUF_UPTO(TEXT_NAME_MAX), clean = BUF_UPTO(TEXT_NAME_MAX);

    java_type_text(span_of(name), &raw);
    text_clean(buf_span(&raw), TEXT_MODIFIED_UTF8, size - 1, &clean);
    span_copy(buf_span(&clean), text, size);
    return text;
}

void java_signature_text(struct span signature, struct buf *out)
{
    struct span s = signature;
    size_t start = out->n;
    bool ok = span_take_char(&s, '('), cut = false;

    buf_add_char(out, '(');
    for (bool first = true; ok && !cut && !span_take_char(&s, ')'); first = false) {
        size_t before = out->n;

        if (!first)
            buf_add_str(out, ", ");
        ok = type_text(&s, out);
        cut = !ok && span_ends_with(signature, "..."); /* the type that was cut is left out */
        if (cut && !out->error) {
            out->n = before;
            buf_add_str(out, first ? "..." : ", ...");
        }
    }
    if (ok || cut) {
        buf_add_char(out, ')');
        return;
    }
    if (!out->error) {
        out->n = start;
        buf_add_span(out, signature);
    }
}

void java_lock_text(struct span internal, bool of_class, struct buf *out)
{
    buf_add_str(out, of_class ? LOCK_OF_CLASS : "");
    java_type_text(internal, out);
}
