/* SPDX-License-Identifier: Apache-2.0 */
#include "request/matcher.h"

#include "base/list.h"
#include "profile/match.h"

#define MATCHER_FORM "matchers are written as main=~\"com.acme.*\" or namespace=\"prod\""

static const char *const LABELS[] = { [MATCHER_MAIN] = "main",
                                      [MATCHER_POD] = "pod",
                                      [MATCHER_NAMESPACE] = "namespace",
                                      [MATCHER_CONTAINER] = "container",
                                      [MATCHER_SERVICE] = "service" };
static const char *const OPS[] = {
    [MATCHER_IS] = "=", [MATCHER_IS_NOT] = "!=", [MATCHER_LIKE] = "=~", [MATCHER_UNLIKE] = "!~"
};

/* ---- reading ---- */

static bool take_label(struct span *s, enum matcher_label *ret)
{
    size_t n = 0;

    while (n < s->n && ((s->p[n] >= 'a' && s->p[n] <= 'z') || s->p[n] == '_'))
        n++;
    for (size_t i = 0; i < ARRAY_SIZE(LABELS); i++) {
        if (span_eq_str((struct span){ s->p, n }, LABELS[i])) {
            *s = span_from(*s, n);
            *ret = (enum matcher_label)i;
            return true;
        }
    }
    return false;
}

static bool take_op(struct span *s, enum matcher_op *ret)
{
    size_t i = ARRAY_SIZE(OPS); /* order matters: "=~" is tried before "=" */

    while (i-- > 0) {
        if (span_take_str(s, OPS[i])) {
            *ret = (enum matcher_op)i;
            return true;
        }
    }
    return false;
}

/* Returns the character that a backslash with @c means; 0: none. */
static char unescape(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case '\\':
    case '"':
    case '\'':
        return c;
    default:
        return 0;
    }
}

/* Takes a value in "…" or '…' (with backslashes), or in `…` (verbatim). */
static int take_value(struct span *s, char buf[MATCHER_VALUE_MAX + 1], struct error *err)
{
    char quote = s->n ? s->p[0] : '\0';
    size_t n = 0, i;

    if (quote != '"' && quote != '\'' && quote != '`')
        return error_set(err, -EINVAL, "a value stands in quotes: " MATCHER_FORM);
    for (i = 1; i < s->n && s->p[i] != quote; i++) {
        char c = s->p[i];

        if (n == MATCHER_VALUE_MAX)
            return error_set(err, -EINVAL, "a value has at most %d bytes", MATCHER_VALUE_MAX);
        if (c == '\0')
            return error_set(err, -EINVAL, "a value has no NUL in it");
        if (c == '\\' && quote != '`') {
            c = ++i < s->n ? unescape(s->p[i]) : 0;
            if (!c)
                return error_set(err, -EINVAL,
                                 "in quotes a backslash is written twice, as in "
                                 "main=~\"com\\\\.acme\\\\..*\"; in `...` it stands for itself");
        }
        buf[n++] = c;
    }
    if (i >= s->n)
        return error_set(err, -EINVAL, "a quote is not closed: " MATCHER_FORM);
    buf[n] = '\0';
    *s = span_from(*s, i + 1);
    return 0;
}

/* Compiles @pattern, anchored at both ends as in Prometheus. The pattern must be valid on its own.
 * Otherwise it could close the group that anchors it. */
static int compile(const char *pattern, struct match **ret, struct error *err)
{
    _cleanup_(match_freep) struct match *alone = NULL;
    char whole[MATCHER_VALUE_MAX + 16];
    const char *p = whole;
    int r = match_new(&pattern, 1, "match", &alone, err);

    if (r < 0)
        return r;
    snprintf(whole, sizeof(whole), "^(?:%s)\\z", pattern);
    return match_new(&p, 1, "match", ret, err);
}

static int take_matcher(struct span *s, struct matcher_list *list, struct error *err)
{
    char value[MATCHER_VALUE_MAX + 1], shown[64];
    _cleanup_(match_freep) struct match *tried = NULL;
    struct matcher m = { 0 };
    const char *pattern = value;
    int r;

    span_copy(*s, shown, sizeof(shown));
    if (!take_label(s, &m.label))
        return error_set(
            err, -EINVAL,
            "'%s' does not begin with main, pod, namespace, container or service: " MATCHER_FORM,
            shown);
    span_skip_blanks(s);
    if (!take_op(s, &m.op))
        return error_set(err, -EINVAL, "'%s' has none of =, !=, =~ and !~: " MATCHER_FORM, shown);
    span_skip_blanks(s);
    r = take_value(s, value, err);
    if (r == 0 && m.op >= MATCHER_LIKE)
        r = compile(pattern, &tried, err);
    if (r < 0)
        return r;
    if (list->count == MATCHERS_MAX)
        return error_set(err, -EINVAL, "there are more than %d matchers", MATCHERS_MAX);
    m.value = strdup(value);
    if (!m.value)
        return -ENOMEM;
    list->items[list->count++] = m;
    return 0;
}

int matchers_parse(struct span text, struct matcher_list *list, struct error *err)
{
    struct span s = span_trim(text);
    bool braces = span_take_char(&s, '{');
    int r;

    for (;;) {
        s = span_trim(s);
        if (braces && span_take_char(&s, '}'))
            break;
        r = take_matcher(&s, list, err);
        if (r < 0)
            return r;
        s = span_trim(s);
        if (!braces)
            break;
        if (!span_take_char(&s, ',') && !span_starts_with(s, "}"))
            return error_set(err, -EINVAL,
                             "matchers in braces have commas between them: "
                             "{main=~\"com.acme.*\",namespace=\"prod\"}");
    }
    if (span_trim(s).n)
        return error_set(err, -EINVAL,
                         "'%.*s' is left over: several matchers are a list, or stand in braces: "
                         "{main=~\"com.acme.*\",namespace=\"prod\"}",
                         (int)MIN(s.n, (size_t)40), s.p);
    return 0;
}

void matchers_clear(struct matcher_list *list)
{
    while (list->count)
        free(list->items[--list->count].value);
}

void matchers_write(const struct matcher_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct matcher *m = &list->items[i];

        buf_printf(out, "%s%s%s\"", i ? "," : "{", LABELS[m->label], OPS[m->op]);
        for (const char *p = m->value; *p; p++) {
            if (*p == '\n' || *p == '\t') {
                buf_add_str(out, *p == '\n' ? "\\n" : "\\t");
                continue;
            }
            if (*p == '"' || *p == '\\')
                buf_add_char(out, '\\');
            buf_add_char(out, *p);
        }
        buf_add_char(out, '"');
    }
    if (list->count)
        buf_add_char(out, '}');
}

/* ---- matching ---- */

struct matcher_set {
    struct matcher_list list;
    struct match *regex[MATCHERS_MAX]; /* NULL for the operators = and != */
};

int matcher_set_new(const struct matcher_list *list, struct matcher_set **ret, struct error *err)
{
    struct matcher_set *s = calloc(1, sizeof(*s));
    int r = s ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < list->count; i++) {
        struct matcher m = list->items[i];

        m.value = strdup(m.value);
        if (!m.value)
            r = -ENOMEM;
        else
            s->list.items[s->list.count++] = m;
        if (r == 0 && m.op >= MATCHER_LIKE)
            r = compile(m.value, &s->regex[i], err);
        if (r == 0 && s->regex[i])
            match_begin_long(s->regex[i]);
    }
    if (r < 0) {
        matcher_set_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct matcher_set *matcher_set_free(struct matcher_set *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(s->regex); i++)
        match_free(s->regex[i]);
    matchers_clear(&s->list);
    free(s);
    return NULL;
}

const struct matcher_list *matcher_set_list(const struct matcher_set *s)
{
    return &s->list;
}

bool matcher_set_uses(const struct matcher_set *s, enum matcher_label label)
{
    return ANY_OF(i, s->list.count, s->list.items[i].label == label);
}

static bool is_short_id(const char *value, const char *id)
{
    size_t n = strlen(value);

    return n >= 6 && strspn(value, "0123456789abcdef") == n && strncmp(value, id, n) == 0;
}

/* Returns whether @value, one of a process's names, satisfies the matcher before negation: 1, 0, or
 * -EINVAL if that takes too long. */
static int fits(const struct matcher *m, struct match *regex, const struct matcher_values *v,
                const char *value, bool is_id)
{
    if (regex)
        return match_name(regex, match_owner(&v->payer, v->container_id), span_of(value));
    return strcmp(m->value, value) == 0 || (is_id && is_short_id(m->value, value));
}

static bool holds(const struct matcher *m, struct match *regex, const struct matcher_values *v)
{
    const char *name = "", *other = "";
    int found;

    switch (m->label) {
    case MATCHER_MAIN:
        name = v->main;
        break;
    case MATCHER_POD:
        name = v->pod;
        other = v->pod_uid;
        break;
    case MATCHER_NAMESPACE:
        name = v->pod_namespace;
        break;
    case MATCHER_CONTAINER:
        name = v->container;
        other = v->container_id;
        break;
    case MATCHER_SERVICE:
        name = v->service ? v->service : "";
        break;
    }
    found = fits(m, regex, v, name[0] ? name : other, m->label == MATCHER_CONTAINER && !name[0]);
    if (found == 0 && name[0] && other[0])
        found = fits(m, regex, v, other, m->label == MATCHER_CONTAINER);
    return found == (m->op == MATCHER_IS || m->op == MATCHER_LIKE);
}

/* Tries matchers without a regular expression first. So names of processes that these leave out
 * cost no steps of an expression. */
bool matcher_set_holds(const struct matcher_set *s, const struct matcher_values *v)
{
    return ALL_OF(i, s->list.count, s->regex[i] || holds(&s->list.items[i], NULL, v)) &&
           ALL_OF(i, s->list.count, !s->regex[i] || holds(&s->list.items[i], s->regex[i], v));
}

bool matcher_set_share_is_spent(const struct matcher_set *s)
{
    return s && ANY_OF(i, s->list.count, match_share_is_spent(s->regex[i]));
}

size_t matcher_set_slow_names(const struct matcher_set *s)
{
    size_t names = 0;

    for (size_t i = 0; s && i < s->list.count; i++)
        names += match_slow_names(s->regex[i]);
    return names;
}

int matcher_set_refuse_spent(const struct matcher_set *s, struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && s && i < s->list.count; i++)
        r = match_refuse_spent(s->regex[i], err);
    return r;
}
