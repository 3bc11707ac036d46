/* SPDX-License-Identifier: Apache-2.0 */
/* A text kept compressed: it is read back unchanged, piece by piece, in a fraction of its
 * memory. */
#include "suite.h"

#include "base/cleanup.h"
#include "render/zstd_buf.h"

#include <sys/resource.h>

#define LINE_BYTES 100
#define LINES (1 << 19) /* 50 MiB */

static void line_of(uint32_t i, char line[LINE_BYTES + 1])
{
    snprintf(line, LINE_BYTES + 1,
             "[http-nio-8080-exec-%06u tid=%07u];java.lang.Thread.run;%038u\n", i % 997,
             i % 997 + 2000, i);
}

static size_t most_memory(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss << 10;
}

static struct zstd_buf *pack_lines(void)
{
    struct zstd_buf *p = NULL;
    char line[LINE_BYTES + 1];
    int r = 0;

    /* The limit of memory is a quarter of the text. */
    ck_assert_int_eq(zstd_buf_new((size_t)1 << 30, (size_t)LINES * LINE_BYTES / 4, &p), 0);
    for (uint32_t i = 0; i < LINES && r == 0; i++) {
        line_of(i, line);
        r = zstd_buf_add(p, span_of(line));
    }
    ck_assert_int_eq(r, 0);
    ck_assert_int_eq(zstd_buf_end(p), 0);
    return p;
}

/* The whole text is never in memory, neither while writing nor while reading. */
START_TEST(is_unpacked_only_as_it_is_read)
{
    size_t before = most_memory(), whole = (size_t)LINES * LINE_BYTES, at = 0;
    struct zstd_buf *p = pack_lines();
    char line[LINE_BYTES + 1], got[LINE_BYTES * 7];
    ssize_t n;

    ck_assert_uint_eq(zstd_buf_bytes(p), whole);
    while ((n = zstd_buf_read(p, got, sizeof(got))) > 0) {
        if (n > (ssize_t)sizeof(got)) /* an assertion per loop would use memory of Check */
            ck_abort_msg("%zd bytes where there is room for %zu", n, sizeof(got));
        for (ssize_t i = 0; i < n; i++, at++) {
            if (i == 0 || at % LINE_BYTES == 0)
                line_of((uint32_t)(at / LINE_BYTES), line);
            if (got[i] != line[at % LINE_BYTES])
                ck_abort_msg("another byte at %zu", at);
        }
    }
    ck_assert_int_eq(n, 0);
    ck_assert_uint_eq(at, whole);
    ck_assert_uint_lt(most_memory() - before, whole / 2);
    zstd_buf_free(p);
}
END_TEST

START_TEST(refuses_what_is_over_its_limits)
{
    char noise[4096];
    struct zstd_buf *p = NULL;
    uint64_t x = 88172645463325252u;
    int r = 0;

    ck_assert_int_eq(zstd_buf_new(10, (size_t)1 << 20, &p), 0);
    ck_assert_int_eq(zstd_buf_add(p, SPAN("0123456789")), 0);
    ck_assert_int_eq(zstd_buf_add(p, SPAN("0")), -EFBIG);
    zstd_buf_free(p);
    ck_assert_int_eq(zstd_buf_new((size_t)1 << 30, (size_t)1 << 20, &p), 0);
    for (uint32_t i = 0; i < 1024 && r == 0; i++) { /* 4 MiB that do not compress */
        for (size_t k = 0; k < sizeof(noise); k++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            noise[k] = (char)x;
        }
        r = zstd_buf_add(p, (struct span){ noise, sizeof(noise) });
    }
    ck_assert_int_eq(r, -EFBIG);
    /* The memory is full, except for at most one block of zstd. */
    ck_assert_uint_ge(zstd_buf_bytes(p), (size_t)1 << 19);
    ck_assert_uint_le(zstd_buf_bytes(p), ((size_t)1 << 20) + ((size_t)1 << 18));
    zstd_buf_free(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("packed");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, is_unpacked_only_as_it_is_read);
    tcase_add_test(tc, refuses_what_is_over_its_limits);
    return suite_run_case("packed", tc);
}
