/* SPDX-License-Identifier: Apache-2.0 */
/* profile/thread_kinds.h: virtual threads, carriers and platform threads, by frames and names. Also
 * their views, json and pprof. */
#include "recorded.h"

#include "profile/thread_kinds.h"
#include "render/render.h"

#include "suite.h"

#define FRAMES_MAX 8

#define J(class, name)                                                                             \
    {                                                                                              \
        class, name, FRAME_C2                                                                      \
    }
#define K(name)                                                                                    \
    {                                                                                              \
        "", name, FRAME_KERNEL                                                                     \
    }
#define RUN J("java.lang.VirtualThread", "run")
#define ENTER J("jdk.internal.vm.Continuation", "enter")
#define SPECIAL J("jdk.internal.vm.Continuation", "enterSpecial")
#define SCHEDULER J("java.lang.VirtualThread", "runContinuation")
#define WORKER J("java.util.concurrent.ForkJoinWorkerThread", "run")
#define APP J("App", "serve")

/* Samples, each of a thread with its own name and number. */
static const struct {
    const char *thread;
    int32_t tid;
    enum thread_state state;
    unsigned flags;
    struct {
        const char *class_name, *name;
        enum frame_kind kind;
    } stack[FRAMES_MAX]; /* leaf first; no name ends it */
    enum thread_kind kind;
} SAMPLES[] = {
    { "main", 10, STATE_RUNNING, 0, { APP }, THREAD_PLATFORM },
    { "ForkJoinPool-1-worker-1",
      11,
      STATE_RUNNING,
      0,
      { APP, RUN, ENTER, SPECIAL, SCHEDULER, WORKER },
      THREAD_VIRTUAL },
    { "ForkJoinPool-1-worker-1", 11, STATE_RUNNING, 0, { SCHEDULER, WORKER }, THREAD_CARRIER },
    /* The frames of a virtual thread are about to be thawed. */
    { "ForkJoinPool-1-worker-1",
      11,
      STATE_RUNNING,
      0,
      { SPECIAL, SCHEDULER, WORKER },
      THREAD_CARRIER },
    /* Its oldest frames lie in the heap. */
    { "ForkJoinPool-1-worker-1",
      11,
      STATE_RUNNING,
      PROFILE_SAMPLE_FROZEN,
      { APP, SPECIAL, SCHEDULER, WORKER },
      THREAD_VIRTUAL },
    /* Two threads that wait for work: one of this pool, one of another. */
    { "ForkJoinPool-1-worker-22",
      12,
      STATE_BLOCKED,
      0,
      { J("java.util.concurrent.ForkJoinPool", "awaitWork"), WORKER },
      THREAD_CARRIER },
    { "ForkJoinPool-2-worker-1",
      13,
      STATE_BLOCKED,
      0,
      { J("java.util.concurrent.ForkJoinPool", "awaitWork"), WORKER },
      THREAD_PLATFORM },
    { "ForkJoinPool-1-worker-22",
      12,
      STATE_RUNNING,
      PROFILE_SAMPLE_TRUNCATED,
      { APP },
      THREAD_UNCLEAR },
    { "main", 10, STATE_RUNNING, PROFILE_SAMPLE_TRUNCATED, { APP }, THREAD_PLATFORM },
    /* A virtual thread waits on its carrier. */
    { "ForkJoinPool-1-worker-3",
      14,
      STATE_BLOCKED,
      0,
      { K("futex_wait"), J("jdk.internal.misc.Unsafe", "park"), APP, RUN, ENTER, SPECIAL },
      THREAD_PINNED },
    { "ForkJoinPool-1-worker-3",
      14,
      STATE_BLOCKED,
      0,
      { K("handle_mm_fault"), APP, RUN, ENTER, SPECIAL },
      THREAD_VIRTUAL },
    { "ForkJoinPool-1-worker-3", 14, STATE_RUNNABLE, 0, { APP, RUN, ENTER }, THREAD_VIRTUAL },
    { THREAD_KIND_UNMOUNTED, 0, STATE_BLOCKED, 0, { APP, RUN, ENTER }, THREAD_VIRTUAL },
    { THREAD_KIND_UNMOUNTED, 0, STATE_BLOCKED, PROFILE_SAMPLE_TRUNCATED, {}, THREAD_VIRTUAL },
    /* A thread of the kernel may have any name. */
    { THREAD_KIND_UNMOUNTED, 15, STATE_BLOCKED, 0, { APP }, THREAD_PLATFORM },
    { "other", 16, STATE_RUNNING, 0, { J("App", "enter"), J("App", "runContinuation") }, 0 },
    /* Pools of the history. */
    { "ForkJoinPool-3-worker-*",
      -7,
      STATE_RUNNING,
      0,
      { APP, RUN, ENTER, SPECIAL, SCHEDULER, WORKER },
      THREAD_VIRTUAL },
    { "ForkJoinPool-3-worker-*",
      -7,
      STATE_BLOCKED,
      0,
      { J("java.util.concurrent.ForkJoinPool", "awaitWork"), WORKER },
      THREAD_CARRIER },
    { "ForkJoinPool-3-worker-*",
      -7,
      STATE_RUNNING,
      PROFILE_SAMPLE_TRUNCATED,
      { APP },
      THREAD_UNCLEAR },
    { "ForkJoinPool-4-worker-*",
      -8,
      STATE_BLOCKED,
      0,
      { J("java.util.concurrent.ForkJoinPool", "awaitWork"), WORKER },
      THREAD_PLATFORM },
};

static uint32_t thread_of(const char *name, int32_t tid)
{
    struct profile_thread t = { .host_tid = tid };
    uint32_t id;

    t.name = recorded_string(name);
    ck_assert_int_eq(record_thread(rec, &t, &id), 0);
    return id;
}

/* Makes a profile of SAMPLES [from, to). */
static struct profile *profile_of(size_t from, size_t to)
{
    struct profile meta = { .event_count = 1, .events = { { "wall", "nanoseconds", 10, true } } };
    struct profile *p = NULL;

    for (size_t i = from; i < to; i++) {
        struct profile_sample s = { .time_ns = i,
                                    .count = 1,
                                    .value = 1,
                                    .flags = SAMPLES[i].flags | (unsigned)SAMPLES[i].state
                                                                    << PROFILE_SAMPLE_STATE_SHIFT };
        uint32_t frames[FRAMES_MAX];
        size_t n = 0;

        for (; n < FRAMES_MAX && SAMPLES[i].stack[n].name; n++)
            frames[n] = recorded_frame(SAMPLES[i].stack[n].class_name, SAMPLES[i].stack[n].name,
                                       SAMPLES[i].stack[n].kind, 0);
        s.thread = thread_of(SAMPLES[i].thread, SAMPLES[i].tid) & 0xffffff;
        ck_assert_int_eq(record_sample(rec, &s, frames, n), 0);
    }
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    return p;
}

START_TEST(tells_kinds_apart)
{
    struct profile *p = profile_of(0, ARRAY_SIZE(SAMPLES));
    struct thread_kinds *k = NULL;

    ck_assert_int_eq(thread_kinds_new(p, &k), 0);
    ck_assert_uint_eq(p->sample_count, ARRAY_SIZE(SAMPLES));
    for (size_t i = 0; i < p->sample_count; i++) {
        enum thread_kind kind = thread_kinds_of(k, &p->samples[i]);

        ck_assert_msg(kind == SAMPLES[i].kind, "sample %zu is %s, not %s", i,
                      THREAD_KIND_NAMES[kind], THREAD_KIND_NAMES[SAMPLES[i].kind]);
        ck_assert_int_eq(thread_kinds_carries(k, p->samples[i].thread),
                         SAMPLES[i].tid == 11 || SAMPLES[i].tid == 12 || SAMPLES[i].tid == 14 ||
                             SAMPLES[i].tid == -7);
    }
    ck_assert(!thread_kinds_carries(k, UINT32_MAX));
    thread_kinds_free(k);
    profile_unref(p);
}
END_TEST

START_TEST(has_platform_threads_alone)
{
    struct profile *p = profile_of(0, 1);
    struct thread_kinds *k = NULL;

    ck_assert_int_eq(thread_kinds_new(p, &k), 0);
    ck_assert_int_eq(thread_kinds_of(k, &p->samples[0]), THREAD_PLATFORM);
    thread_kinds_free(k);
    profile_unref(p);
}
END_TEST

/* Renders samples 5 and 6, of equal stacks, as @format. */
static char *rendered(const char *format, const struct view_opts *o, struct buf *out)
{
    struct profile *p = profile_of(0, ARRAY_SIZE(SAMPLES));
    const struct render_opts how = { 0 };
    struct view *v = NULL;

    buf_init(out, 1 << 20);
    ck_assert_int_eq(view_new(p, o, &v, NULL), 0);
    ck_assert_int_eq(render_format_find(span_of(format))->render(v, &how, out, NULL), 0);
    buf_add_char(out, '\0');
    view_free(v);
    profile_unref(p);
    return out->p;
}

START_TEST(groups_by_kind)
{
    struct view_opts o = { .by = { VIEW_BY_KIND, VIEW_BY_STATE } };
    _cleanup_buf_ struct buf out = BUF_NULL;
    const char *text = rendered("collapsed", &o, &out);

    ck_assert_ptr_nonnull(strstr(text, "[pinned];[blocked];jdk.internal.vm.Continuation."));
    ck_assert_ptr_nonnull(strstr(text, "[virtual];[runnable];jdk.internal.vm.Continuation.enter;"));
    ck_assert_ptr_nonnull(
        strstr(text, "[carrier];[blocked];java.util.concurrent.ForkJoinWorkerThread.run;"));
    ck_assert_ptr_nonnull(
        strstr(text, "[platform];[blocked];java.util.concurrent.ForkJoinWorkerThread.run;"));
    ck_assert_ptr_nonnull(strstr(text, "[unclear];[running];[truncated];App.serve"));
}
END_TEST

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

START_TEST(labels_stacks_in_json)
{
    struct view_opts o = { .kinds = true };
    _cleanup_buf_ struct buf out = BUF_NULL;
    const char *text = rendered("json", &o, &out);

    ck_assert_uint_eq(count_of(text, "\"thread_kind\":\"carrier\""), 3);
    ck_assert_uint_eq(count_of(text, "\"thread_kind\":\"pinned\""), 1);
    ck_assert_uint_eq(count_of(text, "\"thread_kind\":\"unclear\""), 1);
    ck_assert_uint_eq(count_of(text, "\"thread_kind\":\"platform\""), 0);
}
END_TEST

START_TEST(counts_kinds_in_the_summary)
{
    struct view_opts o = { .kinds = true, .exact = true };
    _cleanup_buf_ struct buf out = BUF_NULL;
    const char *text = rendered("summary", &o, &out);

    ck_assert_ptr_nonnull(strstr(text, "kinds of threads\n"));
    ck_assert_ptr_nonnull(strstr(text, "  pinned\n"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("thread_kinds");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_test(tc, tells_kinds_apart);
    tcase_add_test(tc, has_platform_threads_alone);
    tcase_add_test(tc, groups_by_kind);
    tcase_add_test(tc, labels_stacks_in_json);
    tcase_add_test(tc, counts_kinds_in_the_summary);
    return suite_run_case("thread_kinds", tc);
}
