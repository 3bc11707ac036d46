/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM uses its memory for, from made-up mappings, and counting of pages. */
#include "suite.h"

#include "base/cleanup.h"
#include "discover/residence.h"
#include "proc/pagemap.h"
#include "tests/maps_of.h"

#define FILE_LINE " 00000000 08:01 7 "

static const char MAPS[] =
    "08000000-08400000 rw-p" FILE_LINE "/jdk/lib/server/classes.jsa\n"
    "08400000-08800000 rw-p 00000000 00:00 0\n" /* the class space */
    "08800000-48400000 ---p 00000000 00:00 0\n"
    "50000000-50100000 rw-p 00000000 00:00 0 [heap]\n"
    "60000000-68000000 rw-p 00000000 00:00 0\n" /* the Java heap, and memory behind it */
    "70000000-70010000 rw-p" FILE_LINE "/tmp/hsperfdata_me/1\n"
    "80000000-80004000 ---p 00000000 00:00 0\n" /* guard of a Java thread */
    "80004000-80100000 rw-p 00000000 00:00 0\n"
    "80100000-80101000 ---p 00000000 00:00 0\n" /* guard of a native thread */
    "80101000-80201000 rw-p 00000000 00:00 0\n"
    "80300000-80400000 r--s" FILE_LINE "/app/lib/app.jar\n"
    "80400000-80500000 r-xp" FILE_LINE "/jdk/lib/server/libjvm.so\n"
    "80500000-80510000 rw-p" FILE_LINE "/jdk/lib/server/libjvm.so\n"
    "80510000-80520000 rw-p 00000000 00:00 0\n" /* its zero pages */
    "80600000-80700000 r--p" FILE_LINE "/lib/libc.so.6\n"
    "90000000-91000000 rw-p 00000000 00:00 0\n" /* metaspace in the middle */
    "a0000000-a0100000 rw-s" FILE_LINE "/memfd:java_heap (deleted)\n"
    "b0000000-b0200000 rw-p 00000000 00:0f 3 /anon_hugepage (deleted)\n"
    "7fff00000000-7fff00100000 rw-p 00000000 00:00 0 [stack]\n"
    "7fff00200000-7fff00202000 r-xp 00000000 00:00 0 [vdso]\n";

static const struct memory_piece PIECES[] = {
    { 0x08000000, 0x08400000, MEMORY_CDS, false },
    { 0x08400000, 0x08800000, MEMORY_CLASS_SPACE, false },
    { 0x50000000, 0x50100000, MEMORY_MALLOC, false },
    { 0x60000000, 0x64000000, MEMORY_HEAP, false },
    { 0x64000000, 0x68000000, MEMORY_OTHER, true },
    { 0x70000000, 0x70010000, MEMORY_FILES, false },
    { 0x80004000, 0x80100000, MEMORY_JAVA_STACKS, false },
    { 0x80101000, 0x80201000, MEMORY_NATIVE_STACKS, false },
    { 0x80300000, 0x80400000, MEMORY_JARS, false },
    { 0x80400000, 0x80500000, MEMORY_LIBJVM, false },
    { 0x80500000, 0x80510000, MEMORY_LIBJVM, false },
    { 0x80510000, 0x80520000, MEMORY_LIBJVM, false },
    { 0x80600000, 0x80700000, MEMORY_LIBRARIES, false },
    { 0x90000000, 0x90400000, MEMORY_OTHER, true },
    { 0x90400000, 0x90800000, MEMORY_METASPACE, false },
    { 0x90800000, 0x91000000, MEMORY_OTHER, true },
    { 0xa0000000, 0xa0100000, MEMORY_HEAP, false },
    { 0x7fff00000000, 0x7fff00100000, MEMORY_NATIVE_STACKS, false },
};

static struct maps maps_of_text(const char *text)
{
    _cleanup_close_ int fd = maps_file(span_of(text));
    struct maps maps;

    ck_assert_int_eq(maps_of(fd, &maps), 0);
    return maps;
}

START_TEST(cuts_mappings)
{
    static const struct vm_areas VM = {
        .heap = { 0x60000000, 0x64000000 },
        .class_base = 0x08000000,
        .class_space = 0x40000000,
        .stacks = { { 0x80000000, 0x80100000 } },
        .stack_count = 1,
        /* The first range lies in a file's mapping, and does not count there. */
        .metaspace = { { 0x08000000, 0x08400000 }, { 0x90400000, 0x90800000 } },
        .metaspace_count = 2,
    };
    struct maps maps = maps_of_text(MAPS);
    struct memory_pieces p;

    ck_assert_int_eq(memory_pieces_of(&maps, &VM, &p), 0);
    for (size_t i = 0; i < MIN(p.count, ARRAY_SIZE(PIECES)); i++) {
        ck_assert_msg(p.list[i].start == PIECES[i].start && p.list[i].end == PIECES[i].end &&
                          p.list[i].area == PIECES[i].area && p.list[i].probe == PIECES[i].probe,
                      "piece %zu: %llx-%llx %s", i, (unsigned long long)p.list[i].start,
                      (unsigned long long)p.list[i].end, memory_area_name(p.list[i].area));
    }
    ck_assert_uint_eq(p.count, ARRAY_SIZE(PIECES));
    ck_assert_uint_eq(p.huge_bytes, 0x200000);
    memory_pieces_deinit(&p);
    maps_deinit(&maps);
}
END_TEST

/* Ranges may overlap. Each byte of a mapping is still in one piece. */
START_TEST(bears_ranges_that_overlap)
{
    static struct vm_areas vm;
    struct maps maps = maps_of_text(MAPS);
    struct memory_pieces p;
    uint64_t bytes = 0;
    unsigned seed = 7;

    vm.heap = (struct vm_range){ 0, UINT64_MAX };
    for (size_t i = 0; i < VM_AREAS_STACKS_MAX; i++) {
        uint64_t start = (uint64_t)rand_r(&seed) * 2;

        vm.stacks[vm.stack_count++] = (struct vm_range){ start, start + (uint64_t)rand_r(&seed) };
    }
    ck_assert_int_eq(memory_pieces_of(&maps, &vm, &p), 0);
    for (size_t i = 0; i < p.count; i++) {
        ck_assert(p.list[i].start < p.list[i].end);
        ck_assert(i == 0 || p.list[i - 1].end <= p.list[i].start);
        bytes += p.list[i].end - p.list[i].start;
    }
    for (size_t i = 0; i < ARRAY_SIZE(PIECES); i++)
        bytes -= PIECES[i].end - PIECES[i].start;
    ck_assert_uint_eq(bytes, 0);
    memory_pieces_deinit(&p);
    maps_deinit(&maps);
}
END_TEST

static const struct {
    uint64_t start, end, words[MEMORY_PROBE_WORDS], bytes;
} PROBES[] = {
    { 0x7f0000001000, 0x7f0000101000, { 0, 0x100002 }, 0x100000 },
    { 0x7f0000001000, 0x7f0000101000, { 0, 0x20002 }, 0x20000 },
    { 0x7f0000001000, 0x7f0000101000, { 0, 0x101002 }, 0 }, /* longer than the mapping */
    { 0x7f0000001000, 0x7f0000101000, { 0, 0x100003 }, 0 },
    { 0x7f0000001000, 0x7f0000101000, { 0, 0x100010 }, 0 },
    { 0x7f0000001000, 0x7f0000101000, { 16, 0x100002 }, 0 },
    { 0x7f0000001000, 0x7f0000101000, { 0, 2 }, 0 },
    { 0x7f0000000000, 0x7f0000101000, { 0x7f0000000030, 0 }, 0x101000 }, /* an arena */
    { 0x7f0004000000, 0x7f0004101000, { 0x7f0000000030, 0 }, 0x101000 }, /* its second heap */
    { 0x7f0000000000, 0x7f0008000000, { 0x7f0000000030, 0 }, 0x4000000 },
    { 0x7f0000000000, 0x7f0000101000, { 0x7f0000001030, 0 }, 0 },
    { 0x7f0000001000, 0x7f0000101000, { 0x7f0000000030, 0 }, 0 },
};

START_TEST(knows_what_malloc_writes)
{
    ck_assert_uint_eq(memory_malloc_bytes(PROBES[_i].start, PROBES[_i].end, PROBES[_i].words),
                      PROBES[_i].bytes);
}
END_TEST

START_TEST(counts_pages)
{
    static const uint64_t ENTRIES[] = {
        0,
        UINT64_C(0x8100000000000000), /* the JVM's own page */
        UINT64_C(0xa000000000000000), /* a page of a file */
        UINT64_C(0x8000000000000000), /* a page of zeros */
        UINT64_C(0x4000000000000123), /* swapped out */
        UINT64_C(0x0080000000000000), /* soft-dirty, but not present */
    };
    struct page_counts c = { .resident = 10 };

    pagemap_count(ENTRIES, ARRAY_SIZE(ENTRIES), &c);
    ck_assert_uint_eq(c.resident, 12);
    ck_assert_uint_eq(c.lone, 1);
    ck_assert_uint_eq(c.swapped, 1);
}
END_TEST

/* A count holds for five minutes, as long as RSS stays within 1 %. */
START_TEST(holds_while_rss_does)
{
    static const struct residence LAST = { .at_ns = NSEC_PER_SEC, .now.rss_bytes = 1000 };
    const struct {
        uint64_t rss_bytes, later_s;
        bool holds;
    } CASES[] = {
        { 1000, 60, true }, { 1010, 60, true }, { 990, 60, true },   { 1011, 60, false },
        { 989, 60, false }, { 0, 60, false },   { 1000, 299, true }, { 1000, 300, false }
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        ck_assert_int_eq(residence_holds(&LAST, CASES[i].rss_bytes,
                                         LAST.at_ns + CASES[i].later_s * NSEC_PER_SEC),
                         CASES[i].holds);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory_areas");
    TCase *tc = tcase_create("areas");

    tcase_add_test(tc, cuts_mappings);
    tcase_add_test(tc, bears_ranges_that_overlap);
    tcase_add_loop_test(tc, knows_what_malloc_writes, 0, ARRAY_SIZE(PROBES));
    tcase_add_test(tc, counts_pages);
    tcase_add_test(tc, holds_while_rss_does);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
