/* SPDX-License-Identifier: Apache-2.0 */
#include "config_option.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/match.h"
#include "push/push_url.h"

static bool parse_size(struct span text, uint64_t *ret)
{
    static const struct {
        const char *suffix;
        unsigned shift;
    } UNITS[] = { { "GiB", 30 }, { "MiB", 20 }, { "KiB", 10 }, { "G", 30 },
                  { "M", 20 },   { "K", 10 },   { "", 0 } };

    for (size_t i = 0; i < ARRAY_SIZE(UNITS); i++) {
        struct span number = text;
        uint64_t v;

        if (!span_ends_with(text, UNITS[i].suffix))
            continue;
        number.n -= strlen(UNITS[i].suffix);
        if (!span_parse_dec(number, &v) || v > UINT64_MAX >> UNITS[i].shift)
            return false;
        *ret = v << UNITS[i].shift;
        return true;
    }
    return false;
}

static bool parse_bool(struct span text, bool *ret)
{
    static const char *const WORDS[2][4] = { { "no", "false", "off", "0" },
                                             { "yes", "true", "on", "1" } };

    for (size_t v = 0; v < 2; v++) {
        for (size_t i = 0; i < ARRAY_SIZE(WORDS[v]); i++) {
            if (span_eq_str(text, WORDS[v][i])) {
                *ret = v == 1;
                return true;
            }
        }
    }
    return false;
}

void option_clear(const struct option *o, struct config *c)
{
    void *at = (char *)c + o->offset;
    struct config_list *list = at;

    if (o->type == OPTION_TEXT) {
        free(*(char **)at);
        *(char **)at = NULL;
    } else if (o->type == OPTION_LIST) {
        while (list->count)
            free(list->items[--list->count]);
    }
}

static int list_add(struct config_list *l, struct span text)
{
    char *copy;

    if (l->count == CONFIG_LISTEN_MAX)
        return -E2BIG;
    copy = span_dup(text);
    if (!copy)
        return -ENOMEM;
    l->items[l->count++] = copy;
    return 0;
}

static bool is_pattern(struct span text)
{
    _cleanup_free_ char *copy = span_dup(text);
    _cleanup_(match_freep) struct match *m = NULL;

    return copy && match_new((const char *const *)&copy, 1, "pattern", &m, NULL) == 0;
}

/* Describes the valid values of @o. */
static const char *option_expects(const struct option *o, char *buf, size_t size)
{
    size_t n;

    switch (o->type) {
    case OPTION_CHOICE:
        snprintf(buf, size, "one of");
        for (size_t i = 0; i < o->choice_count; i++) {
            n = strlen(buf);
            snprintf(buf + n, size - n, "%s %s", i ? "," : "", o->choices[i].name);
        }
        break;
    case OPTION_BOOL:
        snprintf(buf, size, "yes or no");
        break;
    case OPTION_NUMBER:
        snprintf(buf, size, "a number from %llu to %llu", (unsigned long long)o->min,
                 (unsigned long long)o->max);
        break;
    case OPTION_SIZE:
        snprintf(buf, size, "a size from %lluM to %lluM, such as 64M",
                 (unsigned long long)o->min >> 20, (unsigned long long)o->max >> 20);
        break;
    case OPTION_TEXT:
    case OPTION_LIST:
    case OPTION_ACTION:
        snprintf(buf, size, "%s of %llu to %llu bytes",
                 o->pattern   ? "a regular expression"
                 : o->address ? "http:// or https:// with a host"
                              : "a text",
                 (unsigned long long)o->min, (unsigned long long)o->max);
        break;
    }
    return buf;
}

int option_set(const struct option *o, struct span text, struct config *c)
{
    void *at = (char *)c + o->offset;
    char *copy;
    uint64_t v;

    switch (o->type) {
    case OPTION_TEXT:
        if (text.n < o->min || text.n > o->max || !text_is_utf8(text) ||
            (o->address && text.n && !push_url_is_address(&text)))
            return -EINVAL;
        copy = span_dup(text);
        if (!copy)
            return -ENOMEM;
        free(*(char **)at);
        *(char **)at = copy;
        return 0;
    case OPTION_LIST:
        if (text.n < o->min || text.n > o->max || !text_is_utf8(text) ||
            (o->pattern && !is_pattern(text)))
            return -EINVAL;
        return list_add(at, text);
    case OPTION_CHOICE:
        for (size_t i = 0; i < o->choice_count; i++) {
            if (span_eq_str(text, o->choices[i].name)) {
                *(unsigned *)at = o->choices[i].value;
                return 0;
            }
        }
        return -EINVAL;
    case OPTION_BOOL:
        return parse_bool(text, at) ? 0 : -EINVAL;
    case OPTION_NUMBER:
        if (!span_parse_dec(text, &v) || v < o->min || v > o->max)
            return -EINVAL;
        *(uint64_t *)at = v;
        return 0;
    case OPTION_SIZE:
        if (!parse_size(text, &v) || v < o->min || v > o->max)
            return -EINVAL;
        *(uint64_t *)at = v;
        return 0;
    case OPTION_ACTION:
        *(bool *)at = true;
        return 0;
    }
    return -EINVAL;
}

int option_refuse(const struct option *o, const char *shown_name, const char *value, int r,
                  struct error *err)
{
    char expects[128];

    if (r == -ENOMEM)
        return error_set(err, r, "out of memory");
    if (r == -E2BIG)
        return error_set(err, r, "%s is given more than %d times", shown_name, CONFIG_LISTEN_MAX);
    return error_set(err, r, "%s does not take '%.64s': it takes %s", shown_name, value,
                     option_expects(o, expects, sizeof(expects)));
}

bool option_differs(const struct option *o, const struct config *a, const struct config *b)
{
    const void *x = (const char *)a + o->offset, *y = (const char *)b + o->offset;
    const struct config_list *lists[2] = { x, y };

    switch (o->type) {
    case OPTION_TEXT:
        return strcmp(*(char *const *)x, *(char *const *)y) != 0;
    case OPTION_LIST:
        for (size_t i = 0; i < lists[0]->count && i < lists[1]->count; i++) {
            if (strcmp(lists[0]->items[i], lists[1]->items[i]) != 0)
                return true;
        }
        return lists[0]->count != lists[1]->count;
    case OPTION_CHOICE:
        return *(const unsigned *)x != *(const unsigned *)y;
    case OPTION_BOOL:
        return *(const bool *)x != *(const bool *)y;
    case OPTION_NUMBER:
    case OPTION_SIZE:
        return *(const uint64_t *)x != *(const uint64_t *)y;
    case OPTION_ACTION:
        break;
    }
    return false;
}
