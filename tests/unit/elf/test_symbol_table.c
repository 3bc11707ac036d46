/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: ranges from overlapping entries, the small map of words, the keyed hash. */
#include "base/siphash.h"
#include "base/u64_cache.h"
#include "elf/symbol_sort.h"
#include "elf/symbol_table.h"

#include "suite.h"

struct input {
    uint64_t start, size, limit;
    const char *name; /* NULL: a boundary */
    uint16_t rank;
    uint8_t class;
};

struct want {
    uint64_t address;
    const char *name; /* NULL: none */
};

#define NO_LIMIT UINT64_MAX
#define ENTRIES_MAX ((size_t)4 << 20)

static const struct {
    const char *what;
    struct input in[6];
    struct want want[8];
} TABLE_CASES[] = {
    { "sizes are respected",
      { { 100, 10, NO_LIMIT, "a", 0, SYMBOL_FUNCTION },
        { 120, 10, NO_LIMIT, "b", 0, SYMBOL_FUNCTION } },
      { { 99, NULL },
        { 100, "a" },
        { 109, "a" },
        { 110, NULL },
        { 119, NULL },
        { 120, "b" },
        { 130, NULL } } },
    { "without a size up to the next or the limit",
      { { 100, 0, 150, "a", 0, SYMBOL_FUNCTION }, { 120, 0, 150, "b", 0, SYMBOL_FUNCTION } },
      { { 100, "a" }, { 119, "a" }, { 120, "b" }, { 149, "b" }, { 150, NULL } } },
    { "the better of two names",
      { { 100, 10, NO_LIMIT, "good", 9, SYMBOL_FUNCTION },
        { 100, 10, NO_LIMIT, "bad", 1, SYMBOL_FUNCTION } },
      { { 100, "good" }, { 109, "good" } } },
    { "the worse name where only it reaches",
      { { 100, 5, NO_LIMIT, "good", 9, SYMBOL_FUNCTION },
        { 100, 10, NO_LIMIT, "long", 1, SYMBOL_FUNCTION } },
      { { 104, "good" }, { 105, "long" }, { 110, NULL } } },
    { "an inner range, and the outer one again behind it",
      { { 100, 100, NO_LIMIT, "outer", 0, SYMBOL_FUNCTION },
        { 110, 10, NO_LIMIT, "inner", 0, SYMBOL_FUNCTION } },
      { { 109, "outer" }, { 110, "inner" }, { 120, "outer" }, { 199, "outer" }, { 200, NULL } } },
    { "a label does not cut a function, but fills gaps",
      { { 100, 20, NO_LIMIT, "f", 0, SYMBOL_FUNCTION },
        { 110, 0, 200, "label", 9, SYMBOL_LABEL },
        { 130, 10, NO_LIMIT, "g", 0, SYMBOL_FUNCTION } },
      { { 110, "f" },
        { 119, "f" },
        { 120, "label" },
        { 129, "label" },
        { 130, "g" },
        { 140, NULL } } },
    { "a label ends a function without a size",
      { { 100, 0, 200, "f", 0, SYMBOL_FUNCTION }, { 110, 0, 200, "label", 9, SYMBOL_LABEL } },
      { { 109, "f" }, { 110, "label" }, { 199, "label" } } },
    { "a boundary ends what has no size",
      { { 100, 0, NO_LIMIT, "f", 0, SYMBOL_FUNCTION },
        { 150, 0, NO_LIMIT, NULL, 0, SYMBOL_FUNCTION } },
      { { 149, "f" }, { 150, NULL }, { 151, NULL } } },
    { "of a list, later wins: whole, inside, across",
      { { 100, 50, NO_LIMIT, "old", 0, SYMBOL_ORDERED },
        { 120, 10, NO_LIMIT, "new", 0, SYMBOL_ORDERED },
        { 140, 20, NO_LIMIT, "newest", 0, SYMBOL_ORDERED },
        { 125, 2, NO_LIMIT, "last", 0, SYMBOL_ORDERED } },
      { { 119, "old" },
        { 120, "new" },
        { 126, "last" },
        { 127, "new" },
        { 130, "old" },
        { 140, "newest" },
        { 159, "newest" } } },
    { "of a list, earlier and larger loses",
      { { 110, 10, NO_LIMIT, "inner", 0, SYMBOL_ORDERED },
        { 100, 100, NO_LIMIT, "cover", 0, SYMBOL_ORDERED } },
      { { 100, "cover" }, { 115, "cover" }, { 199, "cover" } } },
    { "the end of the address space",
      { { UINT64_MAX - 10, UINT64_MAX, NO_LIMIT, "top", 0, SYMBOL_FUNCTION } },
      { { UINT64_MAX - 10, "top" }, { UINT64_MAX - 1, "top" } } },
    { "address 0",
      { { 0, 4, NO_LIMIT, "null", 0, SYMBOL_FUNCTION } },
      { { 3, "null" }, { 4, NULL } } },
};

START_TEST(builds_one_table)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };

    symbol_builder_init(&b, 100, 1000);
    for (size_t i = 0; i < ARRAY_SIZE(TABLE_CASES[_i].in); i++) {
        const struct input *in = &TABLE_CASES[_i].in[i];
        struct symbol_entry e = { .start = in->start,
                                  .size = in->size,
                                  .limit = in->limit,
                                  .rank = in->rank,
                                  .class = in->class,
                                  .boundary = !in->name };

        if (in->limit)
            ck_assert_int_eq(symbol_builder_add(&b, &e, span_of(in->name)), 0);
    }
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    for (size_t i = 0; i < ARRAY_SIZE(TABLE_CASES[_i].want); i++) {
        const struct want *w = &TABLE_CASES[_i].want[i];
        const struct symbol *s = symbol_table_find(&t, w->address);

        if (!w->address && !w->name)
            continue;
        ck_assert_msg(w->name ? s && span_eq_str(symbol_name(&t, s), w->name) : !s,
                      "%s: %llu is not %s", TABLE_CASES[_i].what, (unsigned long long)w->address,
                      w->name ? w->name : "nameless");
    }
    for (size_t i = 1; i < t.count; i++)
        ck_assert_uint_le(symbol_end(&t.symbols[i - 1]), t.symbols[i].start);
}
END_TEST

START_TEST(a_builder_keeps_to_its_limits)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    struct symbol_entry e = { .start = 1, .size = 1, .limit = NO_LIMIT };

    symbol_builder_init(&b, 3, 10);
    ck_assert_int_eq(symbol_builder_add(&b, &e, SPAN("12345678")), 0);
    ck_assert_int_eq(symbol_builder_add(&b, &e, SPAN("123")), 0); /* too many bytes */
    ck_assert_uint_eq(b.count, 1);
    ck_assert_int_eq(symbol_builder_add(&b, &e, SPAN("1")), 0);
    ck_assert_int_eq(symbol_builder_add(&b, &e, SPAN("2")), 0);
    ck_assert_int_eq(symbol_builder_add(&b, &e, SPAN("")), 0); /* too many entries */
    ck_assert_uint_eq(b.count, 3);
    ck_assert_uint_eq(b.dropped, 2);
}
END_TEST

/* A long name that inner ranges cut into many pieces is stored once. */
START_TEST(a_name_is_kept_once)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    char name[SYMBOL_NAME_MAX];

    memset(name, 'x', sizeof(name));
    symbol_builder_init(&b, 10000, 1 << 20);
    symbol_builder_add(
        &b, &(struct symbol_entry){ .size = 100000, .limit = NO_LIMIT, .class = SYMBOL_FUNCTION },
        (struct span){ name, sizeof(name) });
    for (uint64_t i = 1; i < 5000; i++)
        symbol_builder_add(
            &b,
            &(struct symbol_entry){
                .start = i * 10, .size = 1, .limit = NO_LIMIT, .class = SYMBOL_FUNCTION },
            SPAN("i"));
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    ck_assert_uint_eq(t.count, 2 * 4999 + 1);
    ck_assert_uint_lt(symbol_names_bytes(t.names), 2 * SYMBOL_NAME_MAX + 4999 * 4);
}
END_TEST

/* The other names of a function are kept, once each. Names of marks are not. */
START_TEST(aliases_are_kept)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    static const struct {
        const char *name;
        uint16_t rank;
        uint8_t class;
    } NAMES[] = { { "malloc", 3, SYMBOL_FUNCTION },        { "__libc_malloc", 2, SYMBOL_FUNCTION },
                  { "__libc_malloc", 2, SYMBOL_FUNCTION }, { "malloc", 3, SYMBOL_FUNCTION },
                  { "__malloc", 1, SYMBOL_FUNCTION },      { "mark", 4, SYMBOL_LABEL } };

    symbol_builder_init(&b, 100, 1000);
    b.aliases = true;
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        struct symbol_entry e = { .start = 0x100,
                                  .size = 16,
                                  .limit = NO_LIMIT,
                                  .rank = NAMES[i].rank,
                                  .class = NAMES[i].class };

        ck_assert_int_eq(symbol_builder_add(&b, &e, span_of(NAMES[i].name)), 0);
    }
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    ck_assert_uint_eq(t.count, 1);
    ck_assert(span_eq_str(symbol_name(&t, &t.symbols[0]), "malloc"));
    ck_assert_uint_eq(t.alias_count, 2);
    ck_assert(span_eq_str(symbol_alias_name(&t, &t.aliases[0]), "__malloc"));
    ck_assert(span_eq_str(symbol_alias_name(&t, &t.aliases[1]), "__libc_malloc"));
    ck_assert_uint_eq(t.aliases[1].start, 0x100);
}
END_TEST

/* ---- where there are many ---- */

#define MANY 300000

static void many_name(size_t i, char text[64])
{
    snprintf(text, 64, "_ZN4some9namespace%zu5Class8functionE%zuv", i / 100, i % 100);
}

/* Returns a number that looks random. */
static uint64_t scramble(uint64_t i)
{
    i = (i ^ i >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return (i ^ i >> 29) * UINT64_C(0x94d049bb133111eb);
}

START_TEST(names_are_packed_and_found)
{
    _cleanup_free_ uint32_t *at = calloc(MANY, sizeof(*at));
    struct symbol_names *n = NULL;
    size_t raw = 0;
    char text[64];

    ck_assert_int_eq(symbol_names_new(&n), 0);
    for (size_t i = 0; i < MANY; i++) {
        many_name(i, text);
        ck_assert_int_eq(symbol_names_add(n, span_of(text), &at[i]), 0);
        ck_assert(!i || at[i] > at[i - 1]);
        raw += strlen(text);
    }
    symbol_names_fit(n);
    ck_assert_uint_gt(raw, 2 * NAMES_PLAIN_BYTES);
    ck_assert_uint_lt(symbol_names_bytes(n) - NAMES_PLAIN_BYTES, (raw - NAMES_PLAIN_BYTES) / 3);
    for (size_t k = 0; k < MANY; k++) {
        size_t i = k < MANY / 2 ? k : scramble(k) % MANY;

        many_name(i, text);
        ck_assert(span_eq_str(symbol_names_get(n, at[i]), text));
    }
    symbol_names_free(n);
}
END_TEST

/* Names that compression does not shrink are kept as they are. Others follow them. */
START_TEST(names_that_cannot_be_packed_are_kept)
{
    _cleanup_free_ uint32_t *at = calloc(MANY, sizeof(*at));
    struct symbol_names *n = NULL;
    uint64_t words[8];

    ck_assert_int_eq(symbol_names_new(&n), 0);
    for (size_t i = 0; i < MANY / 2; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(words); k++)
            words[k] = scramble(i * 8 + k + 1);
        ck_assert_int_eq(symbol_names_add(n, (struct span){ (char *)words, sizeof(words) }, &at[i]),
                         0);
    }
    for (size_t i = MANY / 2; i--;) {
        struct span s = symbol_names_get(n, at[i]);

        ck_assert_uint_eq(s.n, sizeof(words));
        memcpy(words, s.p, sizeof(words));
        ck_assert_uint_eq(words[7], scramble(i * 8 + 8));
    }
    ck_assert_uint_lt(symbol_names_bytes(n), MANY / 2 * (sizeof(words) + 4) + (64 << 10));
    symbol_names_free(n);
}
END_TEST

static size_t compared;

static bool by_start(const struct symbol_item *a, const struct symbol_item *b)
{
    compared++;
    return a->start < b->start;
}

START_TEST(whatever_order_they_are_in_they_are_sorted_in_time)
{
    enum { COUNT = 20000 };
    _cleanup_free_ struct symbol_item *items = calloc(COUNT, sizeof(*items));
    uint64_t sum = 0;

    for (size_t i = 0; i < COUNT; i++) {
        const uint64_t ORDERS[] = { i, COUNT - i, scramble(i) % COUNT,          i % 7,
                                    5, i ^ 1,     i < COUNT / 2 ? i : COUNT - i };

        items[i].start = ORDERS[_i];
        sum += items[i].start;
    }
    compared = 0;
    symbol_sort(items, COUNT, by_start);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert(!i || items[i - 1].start <= items[i].start);
        sum -= items[i].start;
    }
    ck_assert_uint_eq(sum, 0);
    ck_assert_uint_lt(compared, COUNT * 60);
}
END_TEST

static int add_nested(struct symbol_builder *b, uint64_t i)
{
    return symbol_builder_add(
        b,
        &(struct symbol_entry){
            .start = i, .size = 2 * MANY - 2 * i, .limit = NO_LIMIT, .class = SYMBOL_FUNCTION },
        SPAN("f"));
}

/* Adds nested ranges until the limit of memory. The table stays within it. */
START_TEST(a_table_keeps_to_its_memory)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    struct symbol_table t = { 0 };
    int r = 0;

    symbol_builder_init(&b, ENTRIES_MAX, (size_t)64 << 20);
    b.max_bytes = (size_t)4 << 20;
    for (uint64_t i = 0; i < MANY && r == 0; i++)
        r = add_nested(&b, i);
    ck_assert_int_eq(r, -EDQUOT);
    ck_assert_uint_le(symbol_builder_bytes(&b), (size_t)4 << 20);
    symbol_builder_deinit(&b);
    symbol_builder_init(&b, ENTRIES_MAX, (size_t)64 << 20);
    b.max_bytes = (size_t)10 << 20;
    for (uint64_t i = 0; i < MANY; i++)
        ck_assert_int_eq(add_nested(&b, i), 0);
    ck_assert_int_eq(symbol_table_build(&b, &t), -EDQUOT);
    ck_assert_uint_eq(t.count, 0);
}
END_TEST

/* Used entries are freed on the way. A table of many entries is like one of few. */
START_TEST(a_table_of_many)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    char text[64];

    symbol_builder_init(&b, ENTRIES_MAX, (size_t)64 << 20);
    for (size_t k = 0; k < MANY; k++) {
        size_t i = (k * 7919) % MANY;

        many_name(i, text);
        ck_assert_int_eq(symbol_builder_add(&b,
                                            &(struct symbol_entry){ .start = i * 16,
                                                                    .size = 12,
                                                                    .limit = NO_LIMIT,
                                                                    .class = SYMBOL_FUNCTION },
                                            span_of(text)),
                         0);
    }
    b.max_bytes = symbol_builder_bytes(&b) + (2 << 20); /* a copy would not fit */
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    ck_assert_uint_eq(t.count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        const struct symbol *s = symbol_table_find(&t, i * 16 + 11);

        many_name(i, text);
        ck_assert(s && s->start == i * 16 && span_eq_str(symbol_name(&t, s), text));
        ck_assert(!symbol_table_find(&t, i * 16 + 12));
    }
}
END_TEST

START_TEST(words_are_found_again_until_all_are_forgotten)
{
    struct u64_cache c;
    uint32_t v;
    bool forgot = false;

    u64_cache_init(&c, 1024);
    ck_assert(!u64_cache_get(&c, 5, &v));
    for (uint32_t i = 1; i <= 1024; i++)
        ck_assert(!u64_cache_put(&c, i * UINT64_C(0x100000001), i));
    for (uint32_t i = 1; i <= 1024; i++)
        ck_assert(u64_cache_get(&c, i * UINT64_C(0x100000001), &v) && v == i);
    u64_cache_put(&c, UINT64_C(0x100000001), 77);
    ck_assert(u64_cache_get(&c, UINT64_C(0x100000001), &v) && v == 77);
    for (uint32_t i = 2000; i < 4000; i++)
        forgot |= u64_cache_put(&c, i, i);
    ck_assert(forgot);
    ck_assert_uint_le(c.cap, 2048);
    ck_assert(u64_cache_get(&c, 3999, &v) && v == 3999);
    u64_cache_clear(&c);
    ck_assert(!u64_cache_get(&c, 3999, &v));
    u64_cache_deinit(&c);
}
END_TEST

/* The vectors of the reference implementation: key 00..0f, message 00..n-1. */
START_TEST(the_hash_is_siphash)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } VECTORS[] = {
        { 0, UINT64_C(0x726fdb47dd0e0e31) },
        { 1, UINT64_C(0x74f839c593dc67fd) },
        { 8, UINT64_C(0x93f5f5799a932462) },
        { 15, UINT64_C(0xa129ca6149be45e5) },
    };
    struct fingerprint_key key = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
    char message[16];

    for (size_t i = 0; i < sizeof(message); i++)
        message[i] = (char)i;
    for (size_t i = 0; i < ARRAY_SIZE(VECTORS); i++)
        ck_assert_uint_eq(fingerprint(&key, (struct span){ message, VECTORS[i].n }),
                          VECTORS[i].hash);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("symbol_table");

    tcase_set_timeout(tc, 120);

    tcase_add_loop_test(tc, builds_one_table, 0, ARRAY_SIZE(TABLE_CASES));
    tcase_add_test(tc, a_builder_keeps_to_its_limits);
    tcase_add_test(tc, a_name_is_kept_once);
    tcase_add_test(tc, aliases_are_kept);
    tcase_add_test(tc, names_are_packed_and_found);
    tcase_add_test(tc, names_that_cannot_be_packed_are_kept);
    tcase_add_loop_test(tc, whatever_order_they_are_in_they_are_sorted_in_time, 0, 7);
    tcase_add_test(tc, a_table_keeps_to_its_memory);
    tcase_add_test(tc, a_table_of_many);
    tcase_add_test(tc, words_are_found_again_until_all_are_forgotten);
    tcase_add_test(tc, the_hash_is_siphash);
    return suite_run_case("symbol_table", tc);
}
