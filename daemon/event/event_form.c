/* SPDX-License-Identifier: Apache-2.0 */
#include "event/event_form.h"

#include "base/ascii.h"
#include "base/list.h"
#include "event/events.h"

#include <linux/perf_event.h>

#define RAW_DIGITS_MAX 16
#define MODIFIERS_MAX 4 /* letters of modifiers, as in perf */
/* End of the addresses of a process on aarch64. */
#define ADDRESS_END (UINT64_C(1) << 48)
#define EVENT_BEHIND_MAX (UINT64_C(1) << 31) /* largest offset in bytes from a symbol */

/* ---- words ---- */

static bool is_word_char(char c)
{
    return is_identifier_char(c) || c == '-';
}

/* Returns whether @s may become a part of a path, like the names of PMUs, groups and tracepoints.
 * It may have letters, digits, _ and -, and with @dots also dots. */
static bool is_word(struct span s, bool dots)
{
    if (s.n == 0 || s.p[0] == '-' || s.p[0] == '.')
        return false;
    return ALL_OF(i, s.n, is_word_char(s.p[i]) || (dots && s.p[i] == '.'));
}

static bool parse_number(struct span s, uint64_t *ret)
{
    uint64_t v;

    if (span_take_str(&s, "0x") || span_take_str(&s, "0X")) {
        if (!span_take_hex(&s, &v) || s.n)
            return false;
    } else if (!span_parse_dec(s, &v)) {
        return false;
    }
    *ret = v;
    return true;
}

/* ---- the modifiers ---- */

/* Takes @s as modifiers. Returns false unless @s consists of u and k, each at most once. */
static bool take_modifiers(struct span s, struct event_form *f)
{
    bool user = false, kernel = false;

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool *which = s.p[i] == 'u' ? &user : s.p[i] == 'k' ? &kernel : NULL;

        if (!which || *which)
            return false;
        *which = true;
    }
    f->exclude_user = !user;
    f->exclude_kernel = !kernel;
    return true;
}

static int bad_modifiers(struct span s, struct error *err)
{
    error_remedy(err, "write :u for user mode, :k for kernel mode, or nothing for both");
    return error_parameter(err, "event", -EINVAL, "events have the modifiers u and k, not '%.*s'",
                           (int)MIN(s.n, (size_t)32), s.p);
}

/* ---- events of the caches ---- */

#define OP(op) (1u << PERF_COUNT_HW_CACHE_OP_##op)
#define READ_WRITE_PREFETCH (OP(READ) | OP(WRITE) | OP(PREFETCH))

/* The operations of each cache, as perf lists them. */
static const struct {
    const char *name;
    uint32_t id, ops;
} CACHES[] = {
    { "L1-dcache", PERF_COUNT_HW_CACHE_L1D, READ_WRITE_PREFETCH },
    { "L1-icache", PERF_COUNT_HW_CACHE_L1I, OP(READ) | OP(PREFETCH) },
    { "LLC", PERF_COUNT_HW_CACHE_LL, READ_WRITE_PREFETCH },
    { "dTLB", PERF_COUNT_HW_CACHE_DTLB, READ_WRITE_PREFETCH },
    { "iTLB", PERF_COUNT_HW_CACHE_ITLB, OP(READ) },
    { "branch", PERF_COUNT_HW_CACHE_BPU, OP(READ) },
    { "node", PERF_COUNT_HW_CACHE_NODE, READ_WRITE_PREFETCH },
};

static const struct {
    const char *access, *miss;
    uint32_t op;
} OPS[] = {
    { "loads", "load-misses", PERF_COUNT_HW_CACHE_OP_READ },
    { "stores", "store-misses", PERF_COUNT_HW_CACHE_OP_WRITE },
    { "prefetches", "prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH },
};

/* Gets the name and config of cache event @i. */
static bool cache_event(size_t i, char name[EVENT_CACHE_NAME_BYTES], uint64_t *ret_config)
{
    for (size_t cache = 0; cache < ARRAY_SIZE(CACHES); cache++) {
        for (size_t op = 0; op < ARRAY_SIZE(OPS); op++) {
            if (!(CACHES[cache].ops & 1u << OPS[op].op))
                continue;
            for (uint64_t miss = 0; miss < 2; miss++) {
                if (i-- > 0)
                    continue;
                snprintf(name, EVENT_CACHE_NAME_BYTES, "%s-%s", CACHES[cache].name,
                         miss ? OPS[op].miss : OPS[op].access);
                *ret_config = CACHES[cache].id | (uint64_t)OPS[op].op << 8 | miss << 16;
                return true;
            }
        }
    }
    return false;
}

const char *event_cache_name(size_t i, char buf[EVENT_CACHE_NAME_BYTES])
{
    uint64_t config;

    return cache_event(i, buf, &config) ? buf : NULL;
}

static bool find_cache(struct span text, uint64_t *ret_config)
{
    char name[EVENT_CACHE_NAME_BYTES];

    for (size_t i = 0; cache_event(i, name, ret_config); i++) {
        if (span_eq_str(text, name))
            return true;
    }
    return false;
}

/* ---- the forms ---- */

/* Parses a raw event: "r01c2". */
static bool parse_raw(struct span s, struct event_form *f)
{
    uint64_t config;

    if (s.n > RAW_DIGITS_MAX + 1 || !span_take_char(&s, 'r') || !span_take_hex(&s, &config) || s.n)
        return false;
    f->kind = EVENT_RAW;
    f->config = config;
    return true;
}

/* Parses a row of events.def, a raw event or an event of a cache. */
static bool parse_plain(struct span s, struct event_form *f)
{
    size_t count;
    const struct event_info *rows = events_table(&count);
    uint64_t config;

    for (size_t i = 0; i < count; i++) {
        if (span_eq_str(s, rows[i].name)) {
            f->kind = rows[i].kind;
            return true;
        }
    }
    if (find_cache(s, &config)) {
        f->kind = EVENT_CACHE;
        f->config = config;
        return true;
    }
    return parse_raw(s, f);
}

static int bad_term(struct span term, struct error *err)
{
    error_remedy(err, "write pmu/name=number,name=number/, as perf does");
    return error_parameter(err, "event", -EINVAL, "'%.*s' is no term of an event of a PMU",
                           (int)MIN(term.n, (size_t)48), term.p);
}

/* Parses an event of a PMU: "cpu/event=0x3c,umask=1/u". */
static int parse_pmu(struct span s, struct event_form *f, struct error *err)
{
    struct span pmu, terms, term;

    if (!span_take_until(&s, '/', &pmu) || !is_word(pmu, /* dots= */ false))
        return -ENOENT;
    if (span_find(s, '/') == s.n)
        return bad_term(s, err);
    span_take_until(&s, '/', &terms);
    span_take_char(&s, ':');
    if (s.n && !take_modifiers(s, f))
        return bad_modifiers(s, err);
    f->kind = EVENT_PMU;
    f->name = pmu;
    while (span_take_until(&terms, ',', &term)) {
        struct event_term *t = &f->terms[f->term_count];
        struct span whole = term;

        if (f->term_count == EVENT_TERMS_MAX)
            return error_parameter(err, "event", -EINVAL, "an event of a PMU has at most %d terms",
                                   EVENT_TERMS_MAX);
        t->given = span_find(term, '=') < term.n;
        t->value = 1;
        if (!span_take_until(&term, '=', &t->name) || !is_word(t->name, /* dots= */ true) ||
            (t->given && !parse_number(term, &t->value)))
            return bad_term(whole, err);
        f->term_count++;
    }
    return f->term_count ? 0 : bad_term(terms, err);
}

static uint32_t access_bit(char c)
{
    return c == 'r' ? EVENT_READ : c == 'w' ? EVENT_WRITE : c == 'x' ? EVENT_EXECUTE : 0;
}

/* Parses "r", "w", "rw" or "x". */
static bool parse_access(struct span s, uint32_t *ret)
{
    uint32_t access = 0;

    for (size_t i = 0; i < s.n; i++) {
        uint32_t bit = access_bit(s.p[i]);

        if (!bit || access & bit)
            return false;
        access |= bit;
    }
    *ret = access;
    return access == EVENT_EXECUTE || (access && !(access & EVENT_EXECUTE));
}

/* Parses the text after "mem:": "0x7f0012345678/8:w". */
static int parse_breakpoint(struct span s, struct event_form *f, struct error *err)
{
    struct span place, length, access;
    uint64_t bytes = EVENT_BREAKPOINT_BYTES;

    f->kind = EVENT_BREAKPOINT;
    f->access = EVENT_READ | EVENT_WRITE;
    if (span_ends_with(s, ":") || !span_take_until(&s, ':', &place))
        goto refuse;
    length = span_from(place, span_find(place, '/'));
    place.n -= length.n;
    if (span_take_char(&length, '/') && !parse_number(length, &bytes))
        goto refuse;
    if (!parse_number(place, &f->address))
        goto refuse;
    if (span_take_until(&s, ':', &access) && !parse_access(access, &f->access))
        goto refuse;
    if (s.n || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
        goto refuse;
    if (f->access == EVENT_EXECUTE)
        bytes = sizeof(long);
    if (f->address == 0 || f->address >= ADDRESS_END ||
        (f->access != EVENT_EXECUTE && f->address % bytes))
        return error_parameter(err, "event", -EINVAL,
                               "0x%llx is no address of a process that %llu bytes can be watched "
                               "at: it has to be a multiple of them",
                               (unsigned long long)f->address, (unsigned long long)bytes);
    f->bytes = (uint32_t)bytes;
    return 0;
refuse:
    error_remedy(err, "write mem:0xADDRESS, mem:0xADDRESS:w or mem:0xADDRESS/8:rw");
    return error_parameter(err, "event", -EINVAL,
                           "a breakpoint is an address, 1, 2, 4 or 8 bytes, and r, w, rw or x");
}

/* Parses a tracepoint: "sched:sched_switch". */
static int parse_tracepoint(struct span group, struct span name, struct event_form *f,
                            struct error *err)
{
    size_t colon = span_find(name, ':');

    if (colon < name.n && is_word(group, false)) {
        error_remedy(err, "leave out what follows the name");
        return error_parameter(err, "event", -EINVAL,
                               "tracepoints lie in the kernel, and have no modifiers");
    }
    if (!is_word(group, /* dots= */ false) || !is_word(name, /* dots= */ false))
        return -ENOENT;
    f->kind = EVENT_TRACEPOINT;
    f->group = group;
    f->name = name;
    return 0;
}

/* Returns whether @s may be a file's name: letters, digits and _ - + . */
static bool is_file_name(struct span s)
{
    if (s.n == 0 || s.p[0] == '-' || s.p[0] == '.')
        return false;
    return ALL_OF(i, s.n, is_word_char(s.p[i]) || s.p[i] == '.' || s.p[i] == '+');
}

/* Returns whether @s may be a symbol of a file's table, or a qualified name of C++. */
static bool is_symbol(struct span s)
{
    if (s.n == 0 || s.p[0] == ':' || s.p[0] == '-' || ascii_is_digit(s.p[0]))
        return false;
    return ALL_OF(i, s.n, is_word_char(s.p[i]) || (s.p[i] != '\0' && strchr(".$:~", s.p[i])));
}

static int bad_function(struct error *err)
{
    error_remedy(err, "write a file name, a colon and a symbol, such as libc.so.6:malloc, or "
                      "./node:main for a file whose name has no dot");
    return error_parameter(err, "event", -EINVAL, "this names no function of a library or program");
}

/* Returns whether @s names a function: the text before its first colon is the name of a file. The
 * file's name has a dot, unlike any group of tracepoints, or "./" before it. */
static bool is_function(struct span s)
{
    struct span head = { s.p, span_find(s, ':') };

    if (head.n == s.n)
        return false;
    return span_starts_with(head, "./") || head.p[0] == '/' ||
           (span_find(head, '.') < head.n && span_find(head, '/') == head.n);
}

/* Parses a function: "libc.so.6:malloc", "./node:main", "libjvm.so:ObjectMonitor::enter+0x10". */
static int parse_function(struct span s, struct event_form *f, struct error *err)
{
    struct span file, symbol, behind;

    span_take_str(&s, "./");
    span_take_until(&s, ':', &file);
    symbol = (struct span){ s.p, span_find(s, '+') };
    behind = span_from(s, symbol.n);
    if (!is_file_name(file) || !is_symbol(symbol) ||
        (span_take_char(&behind, '+') && !parse_number(behind, &f->address)) ||
        f->address > EVENT_BEHIND_MAX)
        return bad_function(err);
    f->kind = EVENT_FUNCTION;
    f->group = file;
    f->name = symbol;
    return 0;
}

static int parse_form(struct span s, struct event_form *f, struct error *err)
{
    size_t colon = span_find(s, ':');
    struct span head = { s.p, colon }, tail = span_from(s, colon + 1);

    if (span_take_str(&s, "mem:"))
        return parse_breakpoint(s, f, err);
    if (is_function(s))
        return parse_function(s, f, err);
    if (span_find(s, '/') < s.n)
        return parse_pmu(s, f, err);
    /* A group of tracepoints may have the same name as an event, as in lock:contention_begin. */
    if (tail.n > MODIFIERS_MAX || !parse_plain(head, f))
        return colon < s.n ? parse_tracepoint(head, tail, f, err) : -ENOENT;
    if (colon < s.n && !take_modifiers(tail, f))
        return bad_modifiers(tail, err);
    return 0;
}

bool event_is_filter(struct span text)
{
    if (text.n == 0 || text.n > EVENT_FILTER_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < ' ' || text.p[i] > '~' || text.p[i] == '{' || text.p[i] == '}')
            return false;
    }
    return true;
}

/* Parses the filter after a tracepoint: "{prev_state == 1}". */
static int parse_filter(struct span s, struct event_form *f, struct error *err)
{
    struct span filter = { s.p + 1, s.n - MIN(s.n, (size_t)2) };

    if (f->kind != EVENT_TRACEPOINT)
        return error_parameter(err, "event", -EINVAL, "only a tracepoint has a filter in braces");
    if (!span_ends_with(s, "}") || !event_is_filter(filter))
        return error_parameter(err, "event", -EINVAL,
                               "a filter is 1 to %d printable characters of ASCII in braces, and "
                               "none of them a brace",
                               EVENT_FILTER_MAX);
    f->filter = filter;
    return 0;
}

int event_form_parse(struct span text, struct event_form *ret, struct error *err)
{
    size_t brace = span_find(text, '{');
    struct event_form f = { 0 };
    int r;

    if (text.n == 0 || text.n >= EVENT_NAME_BYTES)
        return -ENOENT;
    r = parse_form((struct span){ text.p, brace }, &f, err);
    if (r == 0 && brace < text.n)
        r = parse_filter(span_from(text, brace), &f, err);
    if (r == 0)
        *ret = f;
    return r;
}
