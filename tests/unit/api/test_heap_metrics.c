/* SPDX-License-Identifier: Apache-2.0 */
/* Which JVMs are in /metrics if there are too many. */
#include "../discover/discover_fixture.h"
#include "fixed_seed.h"

#include "api/heap.h"

#define CROWD 666 /* JVMs of one owner */
#define OTHERS 3  /* owners before the crowd, and as many behind it */
#define FIRST 100
#define LAST 9000

static char empty_folder[] = "/tmp/flamed-test-XXXXXX";

/* Adds a JVM with counters, as if they were read from its file. */
static void add_jvm(struct discover *d, int32_t pid, uint64_t owner)
{
    struct process *p =
        discover_get(d, pid, (uint64_t)pid * TICK_NS, 1, clock_monotonic_ns(), "java");

    ck_assert_ptr_nonnull(p);
    p->jvm = JVM_READY;
    p->exited = false;
    p->payer = owner;
    p->counters = calloc(1, sizeof(*p->counters));
    p->counters_ns = clock_monotonic_ns();
}

static size_t occurrences(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

/* Writes the lines of /metrics for @crowd JVMs of one owner and those of the others. */
static void collect(int32_t crowd, struct buf *ret)
{
    struct discover *d = make(empty_folder, false);
    struct api api = { .engine = { .discover = d } };
    struct heap_metrics m = { .count = 0 };

    for (int32_t i = 0; i < OTHERS; i++)
        add_jvm(d, FIRST + i, 7 + (uint64_t)i);
    for (int32_t i = 0; i < crowd; i++)
        add_jvm(d, 1000 + i, CROWD);
    for (int32_t i = 0; i < OTHERS; i++)
        add_jvm(d, LAST + i, 17 + (uint64_t)i);
    heap_metrics_collect(&api, &VIEWER_WHOLE, &m);
    buf_init(ret, 64 << 20);
    heap_metrics_write(&m, /* whole= */ true, ret);
    ck_assert_int_eq(ret->error, 0);
    heap_metrics_deinit(&m);
    end(d);
}

#define LINE "\nflamed_jvm_safepoints_total{"

static bool has_jvm(const char *text, int32_t pid)
{
    char line[64];

    snprintf(line, sizeof(line), LINE "pid=\"%d\"", pid);
    return occurrences(text, line) == 1;
}

START_TEST(a_crowd_leaves_room_in_metrics)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    collect(2000, &out);
    ck_assert_uint_eq(occurrences(out.p, LINE), HEAP_METRICS_JVMS_MAX);
    for (int32_t i = 0; i < OTHERS; i++) {
        ck_assert(has_jvm(out.p, FIRST + i));
        ck_assert(has_jvm(out.p, LAST + i));
    }
    ck_assert_ptr_nonnull(strstr(out.p, "{reason=\"too_many\"} 982\n"));
}
END_TEST

START_TEST(who_is_alone_has_all_of_metrics)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    collect(HEAP_METRICS_JVMS_MAX - 2 * OTHERS, &out);
    ck_assert_uint_eq(occurrences(out.p, LINE), HEAP_METRICS_JVMS_MAX);
    ck_assert_ptr_nonnull(strstr(out.p, "{reason=\"too_many\"} 0\n"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("heap_metrics");
    int failed;

    ck_assert_ptr_nonnull(mkdtemp(empty_folder));
    tcase_add_test(tc, a_crowd_leaves_room_in_metrics);
    tcase_add_test(tc, who_is_alone_has_all_of_metrics);
    tcase_set_timeout(tc, 60);
    failed = suite_run_case("heap_metrics", tc);
    rmdir(empty_folder);
    return failed;
}
