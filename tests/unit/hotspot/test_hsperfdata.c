/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/: the counters of a JVM from its file of counters (the fuzz corpus), intact and
 * broken. */
#include "suite.h"

#include "base/buf.h"
#include "hotspot/counters.h"
#include "hotspot/hsperfdata.h"
#include "hotspot/vm.h"

#include <fcntl.h>

#define CORPUS FLAMED_TEST_DATA "/../fuzz/corpus/"

static void read_file(const char *path, struct buf *ret)
{
    buf_init(ret, (size_t)1 << 20);
    ck_assert_msg(buf_read_at(ret, AT_FDCWD, path) == 0, "%s", path);
}

/* Reads the counters of a JDK 17, with as many bytes behind them that are not used. */
static void read_roomy_file(struct buf *ret)
{
    _cleanup_buf_ struct buf file = BUF_NULL;

    read_file(CORPUS "hsperfdata/jdk17", &file);
    buf_init(ret, (size_t)1 << 20);
    buf_add(ret, file.p, file.n);
    for (size_t i = 0; i < file.n; i++)
        buf_add_char(ret, '\0');
    ck_assert_int_eq(ret->error, 0);
    ck_assert_uint_eq(hsperfdata_used(buf_span(ret)), file.n);
}

struct counter {
    const char *name;
    int64_t value;
};

static bool see_counter(void *cookie, const struct hsperfdata_entry *e)
{
    struct counter *c = cookie;

    if (!e->text.p && span_eq_str(e->name, c->name))
        c->value = e->value;
    return true;
}

START_TEST(reads_hsperfdata)
{
    _cleanup_buf_ struct buf file = BUF_NULL;
    struct span s;
    struct counter began = { .name = "sun.rt.createVmBeginTime" };

    read_file(CORPUS "hsperfdata/jdk17", &file);
    ck_assert(hsperfdata_string(buf_span(&file), "sun.rt.javaCommand", &s));
    ck_assert(span_eq_str(s, "Spin 8 a b"));
    ck_assert(hsperfdata_each(buf_span(&file), see_counter, &began));
    ck_assert_int_gt(began.value, INT64_C(1700000000000));
    ck_assert(!hsperfdata_string(buf_span(&file), "sun.rt.createVmBeginTime", &s));
    ck_assert(!hsperfdata_string(buf_span(&file), "no.such.key", &s));
}
END_TEST

START_TEST(needs_only_used_bytes)
{
    _cleanup_buf_ struct buf file = BUF_NULL;
    struct counter began = { .name = "sun.rt.createVmBeginTime" };
    uint32_t used;

    read_roomy_file(&file);
    used = hsperfdata_used(buf_span(&file));
    ck_assert(hsperfdata_each((struct span){ file.p, used }, see_counter, &began));
    ck_assert_int_gt(began.value, INT64_C(1700000000000));
    ck_assert(!hsperfdata_each((struct span){ file.p, used - 1 }, see_counter, &began));
    ck_assert_uint_eq(hsperfdata_used((struct span){ file.p, 8 }), 0);
}
END_TEST

/* The counters of a JVM in its memory, behind the two words that say where they are. */
static struct {
    uint64_t start, capacity;
    struct buf file;
    size_t read, readings; /* bytes and calls that read the counters */
} memory;
#define COUNTERS_AT UINT64_C(0x100000)

static ssize_t read_memory(void *cookie, uint64_t address, void *to, size_t n)
{
    size_t at = (size_t)(address - COUNTERS_AT);

    (void)cookie;
    if (address < COUNTERS_AT) {
        memset(to, 0, n);
        memcpy(to, &memory.start, MIN(n, 2 * sizeof(uint64_t)));
        return (ssize_t)n;
    }
    n = at < memory.file.n ? MIN(n, memory.file.n - at) : 0;
    memcpy(to, memory.file.p + at, n);
    memory.read += n;
    memory.readings++;
    return (ssize_t)n;
}

static void set_used(uint32_t used)
{
    memcpy(memory.file.p + 8, &used, sizeof(used));
}

/* Reads the counters. Returns how many bytes that took. */
static size_t take_counters(struct hotspot_vm *vm, size_t want)
{
    char *bytes;
    uint64_t start;
    size_t n;

    memory.read = memory.readings = 0;
    memory_begin(&vm->memory);
    ck_assert_int_eq(counters_memory(vm, &start, &bytes, &n), 0);
    ck_assert_uint_eq(start, COUNTERS_AT);
    ck_assert_uint_eq(n, want);
    ck_assert(memcmp(bytes, memory.file.p, n) == 0);
    free(bytes);
    return memory.read;
}

/* A JVM adds counters while it runs, such as those of an agent. They are read from then on. */
START_TEST(reads_counters_that_are_added)
{
    struct hotspot_vm *vm = calloc(1, sizeof(*vm));
    uint32_t used, few = 200;

    memory.start = COUNTERS_AT;
    read_roomy_file(&memory.file);
    memory.capacity = memory.file.n;
    used = hsperfdata_used(buf_span(&memory.file));
    vm->layout.perf_start_at = 0x1000;
    vm->layout.perf_capacity_at = 0x1000 + sizeof(uint64_t);
    memory_init(&vm->memory, read_memory, NULL);
    set_used(few);
    ck_assert_uint_eq(take_counters(vm, memory.file.n), memory.file.n); /* not known yet */
    ck_assert_uint_eq(take_counters(vm, few), few);
    set_used(used);
    ck_assert_uint_eq(take_counters(vm, memory.file.n), few + memory.file.n);
    ck_assert_uint_eq(take_counters(vm, used), used);
    set_used((uint32_t)memory.file.n + 1); /* no JVM does so: all are read, and at most twice */
    for (int i = 0; i < 3; i++) {
        take_counters(vm, memory.file.n);
        ck_assert_uint_le(memory.readings, 2);
    }
    set_used(0); /* none are known to be used */
    take_counters(vm, memory.file.n);
    free(vm);
    buf_deinit(&memory.file);
}
END_TEST

static const char *const BROKEN_HSPERFDATA[] = { "big_endian", "first_outside", "first_in_head",
                                                 "magic",      "name_outside",  "short_head",
                                                 "zero_entry" };

START_TEST(refuses_broken_hsperfdata)
{
    _cleanup_buf_ struct buf file = BUF_NULL;
    char path[300];
    struct span s;

    snprintf(path, sizeof(path), CORPUS "hsperfdata/%s", BROKEN_HSPERFDATA[_i]);
    read_file(path, &file);
    ck_assert(!hsperfdata_string(buf_span(&file), "sun.rt.javaCommand", &s));
}
END_TEST

/* The values are known from another reader of the same file. */
START_TEST(reads_counters)
{
    _cleanup_buf_ struct buf file = BUF_NULL;
    struct counters c;

    read_file(CORPUS "hsperfdata/jdk17_g1", &file);
    ck_assert(counters_parse(buf_span(&file), NULL, &c));
    ck_assert_str_eq(c.policy, "GarbageFirst");
    ck_assert_str_eq(c.generations[0].whole.name, "young");
    ck_assert_str_eq(c.generations[0].spaces[0].name, "eden");
    ck_assert_int_eq(c.generations[0].spaces[0].committed, 6291464);
    ck_assert_str_eq(c.generations[0].spaces[2].name, "s1");
    ck_assert_str_eq(c.generations[1].spaces[0].name, "space");
    ck_assert_int_eq(c.generations[1].spaces[0].used, 1071720);
    ck_assert_str_eq(c.generations[1].spaces[1].name, "");
    ck_assert_str_eq(c.generations[2].whole.name, "");
    ck_assert_int_eq(c.metaspace.used, 75808);
    ck_assert_int_eq(c.class_space.max, 1 << 30);
    ck_assert_str_eq(c.collectors[1].name, "G1 full collection pauses");
    ck_assert_int_eq(c.collectors[1].count, 1);
    ck_assert_int_eq(c.collectors[1].time_ns, 18105721);
    ck_assert_int_eq(c.safepoints, 15);
    ck_assert_int_eq(c.safepoint_sync_ns, 78187);
    ck_assert_int_eq(c.threads_live, 6);
    ck_assert_int_eq(c.shared_classes_loaded, 396);
    ck_assert_int_eq(c.compile_ns, 3899100);
    ck_assert_int_eq(c.code_cache_max, COUNTERS_UNKNOWN);
    ck_assert_uint_eq(c.left_out, 0);
}
END_TEST

START_TEST(bounds_counters)
{
    _cleanup_buf_ struct buf file = BUF_NULL;
    struct counters c = { .safepoints = 42 };

    read_file(CORPUS "hsperfdata/strange_names", &file);
    ck_assert(counters_parse(buf_span(&file), NULL, &c));
    ck_assert_str_eq(c.policy, "a___ageFirst");
    ck_assert_uint_eq(c.left_out, 2); /* a tenth space and an eighth collector */
    c.safepoints = 42;
    ck_assert(!counters_parse(SPAN("\xca\xfe\xc0\xc0"), NULL, &c));
    ck_assert_int_eq(c.safepoints, 42);
}
END_TEST

/* Returns the offset of the entry of counter @name in @file. */
static uint32_t place_of(const struct buf *file, const char *name)
{
    const char *at = memmem(file->p, file->n, name, strlen(name) + 1);

    ck_assert_ptr_nonnull(at);
    return (uint32_t)(at - file->p) - 20; /* the entry's head */
}

START_TEST(reads_known_counters_again)
{
    struct counters_places places = { .count = 0 };
    _cleanup_buf_ struct buf file = BUF_NULL;
    struct counters c;
    uint32_t entries;

    read_file(CORPUS "hsperfdata/jdk17_g1", &file);
    ck_assert(counters_parse(buf_span(&file), &places, &c));
    ck_assert_uint_gt(places.count, 40);
    ck_assert_uint_lt(places.count, places.entries / 2);

    /* A counter without a valid place is not read again; the others are. */
    file.p[place_of(&file, "sun.rt.safepoints") + 20 + 20]++;
    memcpy(file.p + place_of(&file, "sun.cls.time") + 20, "sun.rt.safepoints", 18);
    ck_assert(counters_parse(buf_span(&file), &places, &c));
    ck_assert_int_eq(c.safepoints, 16);
    ck_assert_str_eq(c.generations[0].spaces[0].name, "eden");
    ck_assert_int_eq(c.compile_ns, 3899100);

    /* With one more entry, all counters are read again. */
    memcpy(&entries, file.p + 28, sizeof(entries));
    entries--;
    memcpy(file.p + 28, &entries, sizeof(entries));
    ck_assert(counters_parse(buf_span(&file), &places, &c));
    ck_assert_uint_eq(places.entries, entries);
    ck_assert_int_ne(c.safepoints, 16); /* the last entry with this name */

    /* Places outside the file, and more places than the limit. */
    places.at[0] = (uint32_t)file.n - 2;
    ck_assert(counters_parse(buf_span(&file), &places, &c));
    ck_assert_uint_lt(places.at[0], file.n - 2);
    places.count = COUNTERS_PLACES_MAX + 1;
    ck_assert(counters_parse(buf_span(&file), &places, &c));
    ck_assert_str_eq(c.policy, "GarbageFirst");
}
END_TEST

/* The JVM counts an entry before it has written the entry's head. */
START_TEST(reads_counters_of_a_moment_later)
{
    struct counters_places places = { .count = 0 };
    _cleanup_buf_ struct buf file = BUF_NULL;
    struct counters c;
    uint32_t length;
    char *at;

    read_file(CORPUS "hsperfdata/jdk17_g1", &file);
    at = file.p + place_of(&file, "sun.rt.safepoints");
    memcpy(&length, at, sizeof(length));
    memset(at, 0, sizeof(length));
    ck_assert(!counters_parse(buf_span(&file), &places, &c));
    memcpy(at, &length, sizeof(length));
    ck_assert(counters_parse(buf_span(&file), &places, &c));
    ck_assert_int_ne(c.safepoints, COUNTERS_UNKNOWN);
    ck_assert_uint_gt(places.count, 40);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hsperfdata");

    tcase_add_test(tc, reads_hsperfdata);
    tcase_add_test(tc, needs_only_used_bytes);
    tcase_add_test(tc, reads_counters_that_are_added);
    tcase_add_test(tc, reads_counters);
    tcase_add_test(tc, bounds_counters);
    tcase_add_test(tc, reads_known_counters_again);
    tcase_add_test(tc, reads_counters_of_a_moment_later);
    tcase_add_loop_test(tc, refuses_broken_hsperfdata, 0, (int)ARRAY_SIZE(BROKEN_HSPERFDATA));
    return suite_run_case("hsperfdata", tc);
}
