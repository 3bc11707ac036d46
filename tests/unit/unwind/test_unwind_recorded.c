/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of real JVMs, recorded by tests/bench/record_stacks.c from tests/bench/Mixed.java. The
 * unwinder must find the same frames from the same registers and memory. It walks without its
 * cache, with it, after the cache was checked again, and without the hot path. A file has one JVM:
 * v its struct unwind_vm, a its mappings; per stack: g registers, m memory, r rows, w the words.
 */
#include "suite.h"

#include "unwind_host.h"

#include "base/buf.h"
#include "base/span.h"

#include <fcntl.h>

#define ROWS_MAX 65536
#define MEMORY_MAX (8u << 20)

#ifdef UNWIND_AARCH64
static const char *const FILES[] = { "jdk17_aarch64.txt", "jdk25_aarch64.txt" };
#else
static const char *const FILES[] = { "jdk17.txt", "jdk25.txt" };
#endif

static struct unwind_process jvm;
static struct unwind_walk w;

static struct {
    uint32_t index;
    struct unwind_row row;
} rows[ROWS_MAX];
static size_t row_count;

static struct piece {
    uint64_t low;
    size_t at, n; /* of the region in memory */
} pieces[ROWS_MAX];
static size_t piece_count;
static uint8_t memory[MEMORY_MAX];
static size_t memory_n;
#define REGION_BYTES 8192 /* a page and the next one: reads may cross */
static uint8_t flat[HOST_REGIONS_MAX * REGION_BYTES];

static bool find_row(uint32_t index, struct unwind_row *ret)
{
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].index == index) {
            *ret = rows[i].row;
            return true;
        }
    }
    return false;
}

static size_t take_hex(struct span *line, void *to, size_t max)
{
    uint8_t *p = to;
    size_t n = 0;

    while (line->n >= 2 && n < max) {
        struct span digits = { line->p, 2 };
        uint64_t v;

        if (!span_take_hex(&digits, &v))
            break;
        p[n++] = (uint8_t)v;
        *line = span_from(*line, 2);
    }
    return n;
}

static uint64_t take_number(struct span *line)
{
    uint64_t v = 0;

    *line = span_trim(*line);
    ck_assert(span_take_hex(line, &v));
    return v;
}

static uint64_t take_decimal(struct span *line)
{
    uint64_t v = 0;

    *line = span_trim(*line);
    ck_assert(span_take_dec(line, &v));
    return v;
}

/* Lays out all memory of the walk as one flat piece of pages, so that reads may begin anywhere in
 * it. */
static void lay_out(void)
{
    size_t used = 0;

    host.region_count = 0;
    host.find_row = find_row;
    ck_assert_uint_lt(piece_count, ROWS_MAX);
    for (size_t i = 0; i < piece_count; i++) {
        uint64_t page = pieces[i].low & ~UINT64_C(4095);
        uint64_t last = (pieces[i].low + pieces[i].n - 1) & ~UINT64_C(4095);

        for (uint64_t at = page; at <= last; at += 4096) {
            bool there = false;

            for (size_t k = 0; k < host.region_count; k++)
                there |= host.regions[k].low == at;
            if (there)
                continue;
            ck_assert_uint_lt(host.region_count, HOST_REGIONS_MAX);
            ck_assert_uint_le(used + REGION_BYTES, sizeof(flat));
            memset(flat + used, 0, REGION_BYTES);
            host.regions[host.region_count++] =
                (struct host_region){ at, REGION_BYTES, flat + used };
            used += REGION_BYTES;
        }
    }
    for (size_t i = 0; i < piece_count; i++) {
        for (size_t b = 0; b < pieces[i].n; b++) {
            uint64_t at = pieces[i].low + b;

            for (size_t k = 0; k < host.region_count; k++) {
                if (at - host.regions[k].low < REGION_BYTES)
                    host.regions[k].p[at - host.regions[k].low] = memory[pieces[i].at + b];
            }
        }
    }
}

/* Walks, and compares with the remaining words of @line. */
static void expect_words(struct span line, const struct host_registers *r, const char *file,
                         unsigned number)
{
    static uint64_t want[HOST_WORDS_MAX];
    uint32_t count = 0;

    while (span_trim(line).n)
        want[count++] = take_number(&line);
    lay_out();
    memset(host.known, 0, sizeof(host.known));
    for (uint32_t tick = 1; tick <= 5; tick++) {
        uint32_t got;

        host.one_by_one = tick == 5;
        got = host_walk(&w, &jvm, r, tick / 2, HOST_WORDS_MAX);

        for (uint32_t i = 0; i < MIN(got, count); i++)
            ck_assert_msg(host.out[i] == want[i],
                          "%s, stack %u, walk %u: word %u is %llx, not %llx", file, number, tick, i,
                          (unsigned long long)host.out[i], (unsigned long long)want[i]);
        ck_assert_msg(w.end == UNWIND_END_ROOT && got == count &&
                          memcmp(host.out, want, count * sizeof(*want)) == 0,
                      "%s, stack %u, walk %u: end %u after %u words, not %u", file, number, tick,
                      w.end, got, count);
    }
}

START_TEST(finds_the_same_frames)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct host_registers r = { 0 };
    struct span rest, line;
    char path[256];
    unsigned number = 0;

    snprintf(path, sizeof(path), "%s/unwind/%s", FLAMED_TEST_DATA, FILES[_i]);
    buf_init(&text, 64u << 20);
    ck_assert_msg(buf_read_at(&text, AT_FDCWD, path) == 0, "cannot read %s", path);
    rest = buf_span(&text);
    jvm = (struct unwind_process){ .slot = 3 };
    while (span_take_until(&rest, '\n', &line)) {
        char kind = line.n ? line.p[0] : '#';
        struct unwind_mapping *m = &jvm.mappings[jvm.mapping_count];
        struct piece *piece = &pieces[piece_count];

        line = span_from(line, MIN(line.n, (size_t)2));
        switch (kind) {
        case 'v':
            ck_assert_uint_eq(take_hex(&line, &jvm.vm, sizeof(jvm.vm)),
                              offsetof(struct unwind_vm, locks));
            break;
        case 'a':
            m->start = take_number(&line);
            m->end = take_number(&line);
            m->bias = take_number(&line);
            m->first_row = (uint32_t)take_decimal(&line);
            m->row_count = (uint32_t)take_decimal(&line);
            jvm.mapping_count++;
            break;
        case 'g':
            r.pc = take_number(&line);
            r.sp = take_number(&line);
            r.fp = take_number(&line);
            r.more.link = take_number(&line);
            r.more.method = take_number(&line);
            r.more.bcp = take_number(&line);
            r.more.thread = take_number(&line);
#ifdef UNWIND_AARCH64
            r.more.sender = take_number(&line);
            r.more.sender_17 = take_number(&line);
#endif
            row_count = piece_count = memory_n = 0;
            number++;
            break;
        case 'm':
            piece->low = take_number(&line);
            line = span_trim(line);
            piece->at = memory_n;
            piece->n = take_hex(&line, memory + memory_n, sizeof(memory) - memory_n);
            memory_n += piece->n;
            piece_count++;
            break;
        case 'r':
            rows[row_count].index = (uint32_t)take_decimal(&line);
            line = span_trim(line);
            take_hex(&line, &rows[row_count].row, sizeof(rows[row_count].row));
            row_count++;
            break;
        case 'w':
            expect_words(line, &r, FILES[_i], number);
            break;
        default:
            break;
        }
    }
    ck_assert_uint_gt(number, 10);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("recorded");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, finds_the_same_frames, 0, (int)ARRAY_SIZE(FILES));
    return suite_run_case("unwind_recorded", tc);
}
