/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/merged_names.h"

#include "base/ascii.h"

static bool is_hex(char c)
{
    return ascii_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static struct span without_digits(struct span s)
{
    while (s.n && ascii_is_digit(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* ---- classes ---- */

/* Marks in names. The part after a mark is generated, up to the next '$' or the end. */
static const char *const MARKS[] = {
    "$ByteBuddy$",
    "$auxiliary$",
    "$MockitoMock$",
    "$HibernateProxy$",
    "$HibernateInstantiator$",
    "$HibernateAccessOptimizer$",
    "$HibernateBasicProxy$",
    "$Access4JacksonDeserializer",
    "$Access4JacksonSerializer",
    "_$$_jvst",
    "_$$_javassist_",
};

/* Stems of names. A number behind a stem is generated. */
static const char *const STEMS[] = {
    "$Proxy",
    "$$Lambda$",
    "$$Lambda",
    "$LambdaForm",
    "GeneratedMethodAccessor",
    "GeneratedConstructorAccessor",
    "GeneratedSerializationConstructorAccessor",
    "GeneratedIteratorForCodegenStage",
    "__", /* Clojure: "shop$total__1234" */
};

/* Returns the length of the mark that begins at @at; 0: none. */
static size_t mark_at(struct span s, size_t at)
{
    struct span rest = span_from(s, at);

    for (size_t i = 0; i < ARRAY_SIZE(MARKS); i++) {
        if (span_starts_with(rest, MARKS[i]))
            return strlen(MARKS[i]);
    }
    return 0;
}

/* Removes a last part that is a number or a hash behind '$$', such as "$$0" of
 * "Cart$$SpringCGLIB$$0". */
static struct span without_hashes(struct span s)
{
    for (;;) {
        bool digits = false;
        size_t n = s.n;

        for (; n && is_hex(s.p[n - 1]); n--)
            digits |= ascii_is_digit(s.p[n - 1]);
        if (!digits || n < 3 || s.p[n - 1] != '$' || s.p[n - 2] != '$')
            return s;
        s.n = n - 2;
    }
}

/* Returns the length of a hash part at @at, such as "$$1a2b3c4d" in
 * "Cart$$EnhancerByCGLIB$$1a2b3c4d$$FastClassByCGLIB"; 0: none. */
static size_t hash_part_at(struct span s, size_t at)
{
    bool digits = false;
    size_t n = at + 2;

    if (!at || !span_starts_with(span_from(s, at), "$$"))
        return 0;
    for (; n < s.n && is_hex(s.p[n]); n++)
        digits |= ascii_is_digit(s.p[n]);
    return digits && span_starts_with(span_from(s, n), "$$") ? n - at : 0;
}

static struct span without_serial(struct span s)
{
    struct span stem = without_digits(s);

    if (stem.n == s.n)
        return s;
    for (size_t i = 0; i < ARRAY_SIZE(STEMS); i++) {
        if (span_ends_with(stem, STEMS[i])) {
            while (stem.n && stem.p[stem.n - 1] == '$')
                stem.n--;
            return stem;
        }
    }
    return s;
}

/* Returns the length of the name of a nameless Groovy script, such as "Script12", if @s is the
 * script or a class in it; else 0. */
static size_t script_name(struct span s)
{
    size_t n = strlen("Script");

    if (!span_starts_with(s, "Script") || s.n == n || !ascii_is_digit(s.p[n]))
        return 0;
    while (n < s.n && ascii_is_digit(s.p[n]))
        n++;
    return n == s.n || s.p[n] == '$' ? n : 0;
}

/* Returns true for classes of java.lang.reflect.Proxy: "com.sun.proxy.$Proxy7" up to JDK 15, then
 * "jdk.proxy2.$Proxy7". */
static bool is_proxy(struct span s)
{
    if (span_take_str(&s, "jdk.proxy")) {
        while (s.n && ascii_is_digit(s.p[0]))
            s = span_from(s, 1);
        return span_take_str(&s, ".$Proxy") && without_digits(s).n == 0;
    }
    return span_take_str(&s, "com.sun.proxy.$Proxy") && without_digits(s).n == 0;
}

void merged_class(struct span name, struct buf *out)
{
    struct span s = without_serial(without_hashes(name));
    size_t at = script_name(s);

    if (is_proxy(name)) {
        buf_add_str(out, "jdk.proxy.$Proxy");
        return;
    }
    if (at)
        buf_add_str(out, "Script");
    while (at < s.n) {
        size_t mark = mark_at(s, at);

        at += hash_part_at(s, at);
        if (!mark) {
            buf_add_char(out, s.p[at++]);
            continue;
        }
        buf_add(out, s.p + at, mark - (s.p[at + mark - 1] == '$' || s.p[at + mark - 1] == '_'));
        at += mark;
        while (at < s.n && is_identifier_char(s.p[at]))
            at++;
    }
}

/* ---- methods ---- */

static const struct {
    const char *code;
    char c;
} OPERATORS[] = {
    { "$plus", '+' },  { "$minus", '-' },   { "$times", '*' },   { "$div", '/' },
    { "$eq", '=' },    { "$less", '<' },    { "$greater", '>' }, { "$bang", '!' },
    { "$at", '@' },    { "$hash", '#' },    { "$percent", '%' }, { "$up", '^' },
    { "$amp", '&' },   { "$bar", '|' },     { "$tilde", '~' },   { "$qmark", '?' },
    { "$colon", ':' }, { "$bslash", '\\' },
};

/* Returns the length of the operator that begins at @at, and the operator in *ret; 0: none. Another
 * operator or the end of the name must follow. */
static size_t operator_at(struct span s, size_t at, char *ret)
{
    struct span rest = span_from(s, at);

    for (size_t i = 0; i < ARRAY_SIZE(OPERATORS); i++) {
        size_t n = strlen(OPERATORS[i].code);

        if (span_starts_with(rest, OPERATORS[i].code) && (rest.n == n || rest.p[n] == '$')) {
            *ret = OPERATORS[i].c;
            return n;
        }
    }
    return 0;
}

/* Returns the length of "$7" or "-7" after a name that is numbered in order of use: lambdas of
 * Java, Kotlin and Scala. Java's serializable lambdas have a hash before the number. */
static size_t number_at(struct span s, size_t at)
{
    size_t n = at + 1;

    if (at >= s.n || (s.p[at] != '$' && s.p[at] != '-'))
        return 0;
    while (n < s.n && ascii_is_digit(s.p[n]))
        n++;
    return n > at + 1 && (n == s.n || s.p[n] == '$') ? n - at : 0;
}

static bool is_numbered(struct span s)
{
    return span_starts_with(s, "lambda$") || span_starts_with(s, "$anonfun$") ||
           memmem(s.p, s.n, "$lambda", strlen("$lambda"));
}

static struct span without_suffix(struct span s)
{
    static const char *const SUFFIXES[] = { "$suspendImpl", "$sp" };

    for (size_t i = 0; i < ARRAY_SIZE(SUFFIXES); i++) {
        if (span_ends_with(s, SUFFIXES[i]) && s.n > strlen(SUFFIXES[i]))
            s.n -= strlen(SUFFIXES[i]);
    }
    if (s.n > 4 && span_starts_with(s, "CGLIB$"))
        s = without_digits(s);
    while (s.n > 1 && s.p[s.n - 1] == '$')
        s.n--;
    return s;
}

/* Returns the length of a hash at @at, as in "lambda$total$1a2b3c4d$1"; 0: none. */
static size_t hash_at(struct span s, size_t at)
{
    bool digits = false;
    size_t n = at + 1;

    for (; n < s.n && is_hex(s.p[n]); n++)
        digits |= ascii_is_digit(s.p[n]);
    return s.p[at] == '$' && at > strlen("lambda$") && digits && n - at > 6 && number_at(s, n)
               ? n - at
               : 0;
}

void merged_method(struct span name, struct buf *out)
{
    struct span s = without_suffix(name);
    bool numbered = is_numbered(s), specialised = s.n < name.n && span_ends_with(name, "$sp");

    for (size_t at = 0; at < s.n;) {
        char c = s.p[at];
        size_t n = 0;

        if (numbered && at)
            n = MAX(hash_at(s, at), number_at(s, at));
        if (n) {
            at += n;
            continue;
        }
        n = operator_at(s, at, &c);
        if (!n && specialised && span_starts_with(span_from(s, at), "$mc"))
            break; /* a specialized method, as apply$mcII$sp */
        buf_add_char(out, c);
        at += MAX(n, (size_t)1);
    }
}
