/* SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "profile/match.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/siphash.h"

#include <pcre2.h>
#include <stdatomic.h>

/* PCRE2's limit of steps applies separately to each start position in the name, and a step may read
 * the whole name. So the pattern items that PCRE2 tries are also counted. */
#define MATCH_STEPS_MAX 100000
#define MATCH_ITEMS_MAX 1000000 /* items of one pattern on one name: some 20 to 60 ms */
#define MATCH_ITEM_BYTES 256    /* for each so many bytes of the name, an item counts once more */
#define MATCH_SLOW_ITEMS 10000  /* the same limit for match_name(); few names take more */
/* the same limit for a spent share, which tries slow names each time */
#define MATCH_SPENT_ITEMS 1000
#define MATCH_HEAP_KIB_MAX 4096
#define MATCH_CPU_NS_MAX (2 * NSEC_PER_SEC) /* budget of one struct match, over all names */

struct match {
    const char *parameter;
    pcre2_code *codes[MATCH_PATTERNS_MAX];
    size_t count;
    pcre2_match_context *context;
    pcre2_match_data *data;
    uint64_t items, weight, items_max; /* count for this name; weight of an item; limit of the
                                        * count */
    bool budgeted;                     /* match_begin() was called */
    uint64_t spent_ns;                 /* CPU time since match_begin() */
    struct fingerprint_key key;        /* set by match_begin_long() */
    struct {
        uint64_t name, owner;     /* fingerprints */
    } slow[MATCH_SLOW_NAMES_MAX]; /* names that take too long */
    size_t slow_count;
    bool share_spent; /* of an owner */
};

static _Atomic uint64_t spent_total;

/* Called by PCRE2 before each item of the pattern. */
static int count_item(pcre2_callout_block *block, void *cookie)
{
    struct match *m = cookie;

    (void)block;
    m->items += m->weight;
    return m->items > m->items_max ? PCRE2_ERROR_CALLOUT : 0;
}

static int match_compile(struct match *m, const char *pattern, struct error *err)
{
    PCRE2_UCHAR reason[128];
    PCRE2_SIZE at;
    int code;

    if (strlen(pattern) > MATCH_PATTERN_BYTES_MAX)
        return error_parameter(err, m->parameter, -EINVAL, "a regular expression may have %d bytes",
                               MATCH_PATTERN_BYTES_MAX);
    m->codes[m->count] =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &code, &at, NULL);
    if (!m->codes[m->count]) {
        pcre2_get_error_message(code, reason, sizeof(reason));
        return error_parameter(err, m->parameter, -EINVAL,
                               "'%.100s' is no regular expression: %s at offset %zu", pattern,
                               (const char *)reason, at);
    }
    m->count++;
    return 0;
}

int match_new(const char *const *patterns, size_t count, const char *parameter, struct match **ret,
              struct error *err)
{
    _cleanup_(match_freep) struct match *m = calloc(1, sizeof(*m));

    if (!m)
        return -ENOMEM;
    m->parameter = parameter;
    m->items_max = MATCH_ITEMS_MAX;
    if (count > MATCH_PATTERNS_MAX)
        return error_parameter(err, parameter, -EINVAL, "at most %d patterns may be given",
                               MATCH_PATTERNS_MAX);
    for (size_t i = 0; i < count; i++) {
        int r = match_compile(m, patterns[i], err);

        if (r < 0)
            return r;
    }
    m->context = pcre2_match_context_create(NULL);
    m->data = pcre2_match_data_create(1, NULL);
    if (!m->context || !m->data)
        return -ENOMEM;
    pcre2_set_callout(m->context, count_item, m);
    pcre2_set_match_limit(m->context, MATCH_STEPS_MAX);
    pcre2_set_depth_limit(m->context, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(m->context, MATCH_HEAP_KIB_MAX);
    *ret = TAKE_PTR(m);
    return 0;
}

struct match *match_free(struct match *m)
{
    if (!m)
        return NULL;
    for (size_t i = 0; i < m->count; i++)
        pcre2_code_free(m->codes[i]);
    pcre2_match_context_free(m->context);
    pcre2_match_data_free(m->data);
    free(m);
    return NULL;
}

size_t match_count(const struct match *m)
{
    return m ? m->count : 0;
}

void match_begin(struct match *m)
{
    if (!m)
        return;
    m->budgeted = true;
    m->spent_ns = 0;
}

void match_begin_long(struct match *m)
{
    m->key = fingerprint_key_new();
}

size_t match_slow_names(const struct match *m)
{
    return m ? m->slow_count : 0;
}

uint64_t match_spent_total(void)
{
    return spent_total;
}

bool match_share_is_spent(const struct match *m)
{
    return m && m->share_spent;
}

int match_refuse_spent(const struct match *m, struct error *err)
{
    if (match_slow_names(m) < MATCH_SLOW_NAMES_MAX)
        return 0;
    error_remedy(err, "begin it with ^, write no nested repetitions such as (a+)+, or choose by "
                      "pid or service: names that were made long may slow any .*");
    return error_parameter(err, m->parameter, -EINVAL,
                           "the regular expression takes too many steps on %d names",
                           MATCH_SLOW_NAMES_MAX);
}

static int match_too_slow(const struct match *m, struct span text, struct error *err)
{
    error_parameter(err, m->parameter, -EINVAL,
                    "the regular expression takes too many steps on '%.60s'", text.n ? text.p : "");
    error_remedy(err, "write it without nested repetitions such as (a+)+");
    return -EINVAL;
}

int match_any(struct match *m, struct span text, struct error *err)
{
    uint64_t begun_ns = m->budgeted ? clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    int found = 0;

    m->weight = 1 + text.n / MATCH_ITEM_BYTES;
    for (size_t i = 0; i < m->count && found == 0; i++) {
        int r;

        m->items = 0;
        r = pcre2_match(m->codes[i], (PCRE2_SPTR)(text.n ? text.p : ""), text.n, 0, 0, m->data,
                        m->context);
        if (r == PCRE2_ERROR_CALLOUT || r == PCRE2_ERROR_MATCHLIMIT ||
            r == PCRE2_ERROR_DEPTHLIMIT || r == PCRE2_ERROR_HEAPLIMIT)
            return match_too_slow(m, text, err);
        found = r >= 0;
    }
    if (m->budgeted)
        m->spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    return m->spent_ns > MATCH_CPU_NS_MAX ? match_too_slow(m, text, err) : found;
}

struct span match_owner(const uint64_t *payer, const char *container_id)
{
    return *payer ? (struct span){ (const char *)payer, sizeof(*payer) } : span_of(container_id);
}

/* Returns how many slow names @owner may still have. */
static size_t slow_left(const struct match *m, uint64_t owner)
{
    size_t own = 0;

    for (size_t i = 0; i < m->slow_count; i++)
        own += m->slow[i].owner == owner;
    return MIN(MATCH_OWNER_SLOW_NAMES_MAX - own, MATCH_SLOW_NAMES_MAX - m->slow_count);
}

/* Remembers that a name takes too many steps, so that it is not tried again. */
static void add_slow(struct match *m, uint64_t owner, uint64_t name)
{
    m->slow[m->slow_count].owner = owner;
    m->slow[m->slow_count++].name = name;
    if (slow_left(m, owner))
        return;
    m->share_spent = true;
    spent_total++;
}

int match_name(struct match *m, struct span owner, struct span name)
{
    bool any = m->slow_count > 0;
    uint64_t text = any ? fingerprint(&m->key, name) : 0;
    size_t left;
    int r;

    if (ANY_OF(i, m->slow_count, m->slow[i].name == text))
        return -EINVAL;
    left = slow_left(m, any ? fingerprint(&m->key, owner) : 0);
    m->items_max = left ? MATCH_SLOW_ITEMS : MATCH_SPENT_ITEMS;
    r = match_any(m, name, NULL);
    if (r == -EINVAL && left)
        add_slow(m, fingerprint(&m->key, owner), fingerprint(&m->key, name));
    return r;
}
