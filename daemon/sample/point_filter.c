/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter is parsed into a tree, with the tests as leaves in the order of the text. From the tree,
 * each test gets its next test for either result, so that no superfluous test runs.
 */
#include "sample/point_filter.h"

#include "base/macros.h"
#include "sample/point_field.h"

#include <stdlib.h>

#define NODES_MAX (POINT_TESTS_MAX * 2 + POINT_TESTS_MAX * POINT_DEPTH_MAX)
#define SHOWN_MAX 40
#define SIGN_BIT (UINT64_C(1) << 63)
#define NUMBER_BYTES 24

enum node_kind { NODE_TEST, NODE_AND, NODE_OR, NODE_NOT };

struct node {
    enum node_kind kind;
    uint32_t a, b; /* NODE_TEST: index of the test in a; other kinds: indexes of two nodes */
};

struct reader {
    struct span rest, format;
    struct point_filter *out;
    uint32_t texts, depth, nodes;
    struct node node[NODES_MAX];
    struct error *err;
};

static void skip_blanks(struct reader *r)
{
    while (span_take_char(&r->rest, ' '))
        ;
}

static bool take(struct reader *r, const char *word)
{
    skip_blanks(r);
    return span_take_str(&r->rest, word);
}

static struct span take_name(struct reader *r)
{
    struct span s = { r->rest.p, 0 };

    while (s.n < r->rest.n && is_identifier_char(r->rest.p[s.n]))
        s.n++;
    r->rest = span_from(r->rest, s.n);
    return s;
}

/* Reports that @what is expected at the present position. */
static int expected(struct reader *r, const char *what)
{
    if (r->rest.n == 0)
        return error_parameter(r->err, "filter", -EINVAL, "the filter ends where %s should stand",
                               what);
    return error_parameter(r->err, "filter", -EINVAL, "the filter has '%.*s' where %s should stand",
                           (int)MIN(r->rest.n, (size_t)SHOWN_MAX), r->rest.p, what);
}

static int add_node(struct reader *r, enum node_kind kind, uint32_t a, uint32_t b, uint32_t *ret)
{
    if (r->nodes == NODES_MAX)
        return error_parameter(r->err, "filter", -EINVAL, "the filter is too long");
    r->node[r->nodes] = (struct node){ kind, a, b };
    *ret = r->nodes++;
    return 0;
}

/* ---- a test ---- */

enum comparison { CMP_NE, CMP_EQ, CMP_LE, CMP_LT, CMP_GE, CMP_GT, CMP_AND, CMP_LIKE, CMP_COUNT };

static const char *const COMPARISONS[CMP_COUNT] = { "!=", "==", "<=", "<", ">=", ">", "&", "~" };

/* Truncates @v to the size of @f and extends it to 64 bits again, as the kernel does. */
static uint64_t extend(uint64_t v, const struct point_field *f)
{
    unsigned shift = 64 - f->size * 8;

    return f->has_sign ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

/* Parses "5", "-1", "0x1f", "017". */
static int take_number(struct reader *r, bool has_sign, uint64_t *ret)
{
    bool minus = span_take_char(&r->rest, '-');
    struct span word = take_name(r);
    char text[NUMBER_BYTES + 1], *end;

    if (word.n == 0 || word.n > NUMBER_BYTES || word.p[0] < '0' || word.p[0] > '9') {
        r->rest = (struct span){ word.p, r->rest.n + word.n };
        return expected(r, "a number");
    }
    span_copy(word, text, sizeof(text));
    errno = 0;
    *ret = strtoull(text, &end, 0);
    if (errno || *end || (minus && !has_sign) ||
        (has_sign && *ret > (uint64_t)INT64_MAX + (minus ? 1 : 0)))
        return error_parameter(r->err, "filter", -EINVAL,
                               "'%s%s' is no number that the field can be compared with",
                               minus ? "-" : "", text);
    if (minus)
        *ret = 0 - *ret;
    return 0;
}

static int read_number(struct reader *r, const struct point_field *f, enum comparison cmp,
                       struct point_test *t, bool *ret_not)
{
    uint64_t v = 0;
    int k;

    if (cmp == CMP_LIKE)
        return error_parameter(r->err, "filter", -EINVAL,
                               "the field %.*s is a number: compare it by ==, !=, <, <=, >, >= or "
                               "&",
                               (int)MIN(f->name.n, (size_t)SHOWN_MAX), f->name.p);
    skip_blanks(r);
    k = take_number(r, f->has_sign, &v);
    if (k < 0)
        return k;
    t->flip = f->has_sign && cmp != CMP_AND ? SIGN_BIT : 0;
    t->value = extend(v, f) ^ t->flip;
    t->offset = f->offset;
    t->size = f->size;
    t->has_sign = f->has_sign;
    t->source = f->kind == FIELD_PID ? POINT_PID : f->kind == FIELD_CPU ? POINT_CPU : POINT_NUMBER;
    /* a <= b is the negation of a > b. */
    t->op = cmp == CMP_EQ || cmp == CMP_NE   ? POINT_EQ
            : cmp == CMP_LT || cmp == CMP_GE ? POINT_LT
            : cmp == CMP_GT || cmp == CMP_LE ? POINT_GT
                                             : POINT_AND;
    *ret_not = cmp == CMP_NE || cmp == CMP_GE || cmp == CMP_LE;
    return 0;
}

/* Parses "java*" in quotes of either kind. */
static bool take_quoted(struct reader *r, struct span *ret)
{
    char quote = r->rest.n ? r->rest.p[0] : 0;
    struct span s = span_from(r->rest, 1);
    size_t n = span_find(s, quote);

    if ((quote != '"' && quote != '\'') || n == s.n)
        return false;
    *ret = (struct span){ s.p, n };
    r->rest = span_from(s, n + 1);
    return true;
}

/* Adds the character @c to the pattern, or any character if @all. Returns false if the pattern is
 * too long. */
static bool add_char(struct point_text *t, unsigned *at, char c, bool all)
{
    if (*at == POINT_PATTERN_MAX)
        return false;
    ++*at;
    for (unsigned i = 1; i < ARRAY_SIZE(t->masks); i++) {
        if (all || i == (unsigned char)c)
            t->masks[i] |= UINT64_C(1) << *at;
    }
    return true;
}

/* Translates @pattern: literally, or with * and ? if @like. */
static int put_pattern(struct reader *r, struct span pattern, bool like, struct point_text *t)
{
    unsigned at = 0;

    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.p[i];

        if (like && (c == '[' || c == '\\'))
            return error_parameter(r->err, "filter", -EINVAL,
                                   "patterns of filters have * and ?, and here no %c", c);
        if (like && c == '*')
            t->stay |= UINT64_C(1) << at;
        else if (!add_char(t, &at, c, like && c == '?'))
            return error_parameter(r->err, "filter", -EINVAL,
                                   "a text of a filter has at most %d characters",
                                   POINT_PATTERN_MAX);
    }
    t->end = UINT64_C(1) << at;
    return 0;
}

static int read_text(struct reader *r, const struct point_field *f, enum comparison cmp,
                     struct point_test *t, bool *ret_not)
{
    struct point_text *text = &r->out->texts[r->texts];
    struct span pattern;
    bool like = cmp == CMP_LIKE;

    if (cmp != CMP_EQ && cmp != CMP_NE && !like)
        return error_parameter(r->err, "filter", -EINVAL,
                               "the field %.*s is a text: compare it by ==, != or ~",
                               (int)MIN(f->name.n, (size_t)SHOWN_MAX), f->name.p);
    if (r->texts == POINT_TEXTS_MAX)
        return error_parameter(r->err, "filter", -EINVAL,
                               "a filter compares at most %d texts, and this one has more",
                               POINT_TEXTS_MAX);
    skip_blanks(r);
    if (!take_quoted(r, &pattern))
        return expected(r, "a text in quotes");
    *ret_not = cmp == CMP_NE;
    if (like && span_take_char(&pattern, '!'))
        *ret_not = true;
    text->offset = f->offset;
    text->bytes = (uint16_t)MIN(f->bytes, (uint32_t)UINT16_MAX);
    text->place = f->kind == FIELD_COMM      ? POINT_COMM
                  : f->kind == FIELD_DYNAMIC ? POINT_DYNAMIC
                  : f->kind == FIELD_BEHIND  ? POINT_BEHIND
                                             : POINT_FIXED;
    t->source = POINT_TEXT;
    t->value = r->texts++;
    return put_pattern(r, pattern, like, text);
}

/* Parses "prev_state == 1". */
static int read_test(struct reader *r, uint32_t *ret)
{
    struct point_filter *out = r->out;
    struct point_test t = { 0 };
    struct point_field f;
    struct span name;
    unsigned cmp;
    bool negated = false;
    int k;

    skip_blanks(r);
    name = take_name(r);
    if (name.n == 0)
        return expected(r, "the name of a field");
    if (out->test_count == POINT_TESTS_MAX)
        return error_parameter(r->err, "filter", -EINVAL,
                               "a filter has at most %d comparisons, and this one has more",
                               POINT_TESTS_MAX);
    k = point_field_find(r->format, name, &f, r->err);
    if (k < 0)
        return k;
    for (cmp = 0; cmp < CMP_COUNT && !take(r, COMPARISONS[cmp]); cmp++)
        ;
    if (cmp == CMP_COUNT)
        return expected(r, "==, !=, <, <=, >, >=, & or ~");
    k = f.kind == FIELD_NUMBER || f.kind == FIELD_PID || f.kind == FIELD_CPU
            ? read_number(r, &f, cmp, &t, &negated)
            : read_text(r, &f, cmp, &t, &negated);
    if (k < 0)
        return k;
    k = add_node(r, NODE_TEST, out->test_count, 0, ret);
    out->tests[out->test_count++] = t;
    return k == 0 && negated ? add_node(r, NODE_NOT, *ret, 0, ret) : k;
}

/* ---- the whole ---- */

static int read_or(struct reader *r, uint32_t *ret);

/* Parses a test, a part in parentheses, or one behind a '!'. */
static int read_part(struct reader *r, uint32_t *ret)
{
    bool negated = take(r, "!");
    int k;

    if (!negated && !take(r, "("))
        return read_test(r, ret);
    if (r->depth == POINT_DEPTH_MAX)
        return error_parameter(r->err, "filter", -EINVAL,
                               "a filter has at most %d parentheses in one another",
                               POINT_DEPTH_MAX);
    r->depth++;
    k = negated ? read_part(r, ret) : read_or(r, ret);
    r->depth--;
    if (k < 0)
        return k;
    if (negated)
        return add_node(r, NODE_NOT, *ret, 0, ret);
    return take(r, ")") ? 0 : expected(r, "&&, || or )");
}

static int read_and(struct reader *r, uint32_t *ret)
{
    uint32_t next = 0;
    int k = read_part(r, ret);

    while (k == 0 && take(r, "&&")) {
        k = read_part(r, &next) ?: add_node(r, NODE_AND, *ret, next, ret);
    }
    return k;
}

static int read_or(struct reader *r, uint32_t *ret)
{
    uint32_t next = 0;
    int k = read_and(r, ret);

    while (k == 0 && take(r, "||")) {
        k = read_and(r, &next) ?: add_node(r, NODE_OR, *ret, next, ret);
    }
    return k;
}

/* Sets the next tests of each test below @node. Returns the first test below @node. */
static uint8_t link_tests(struct reader *r, uint32_t node, uint8_t on_true, uint8_t on_false)
{
    const struct node *n = &r->node[node];
    struct point_test *t;
    uint8_t next;

    switch (n->kind) {
    case NODE_NOT:
        return link_tests(r, n->a, on_false, on_true);
    case NODE_AND:
        next = link_tests(r, n->b, on_true, on_false);
        return link_tests(r, n->a, next, on_false);
    case NODE_OR:
        next = link_tests(r, n->b, on_true, on_false);
        return link_tests(r, n->a, on_true, next);
    case NODE_TEST:
        break;
    }
    t = &r->out->tests[n->a];
    t->on_true = on_true;
    t->on_false = on_false;
    return (uint8_t)n->a;
}

int point_filter_translate(struct span text, struct span format, struct point_filter *ret,
                           struct error *err)
{
    struct reader r = { .rest = text, .format = format, .out = ret, .err = err };
    uint32_t root = 0;
    int k;

    *ret = (struct point_filter){ 0 };
    k = read_or(&r, &root);
    skip_blanks(&r);
    if (k == 0 && r.rest.n)
        k = expected(&r, "&& or ||");
    if (k == 0)
        link_tests(&r, root, POINT_TAKE, POINT_DROP);
    return k;
}
