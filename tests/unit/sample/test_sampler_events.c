/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF sampler on the running kernel: events that count, at an interval and at a pace. Needs
 * root. */
#include "sampler_fixture.h"

#include "base/clock.h"
#include "sample/program.h"
#include "sample/sampler_alloc.h"
#include "sample/tracepoint.h"
#include "sample/uprobe_hook.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PACED_NS NSEC_PER_MSEC
#define PACED_PAGES 16384u /* touched at a time */
#define PACED_TIMES 24u    /* number of times */

/* Starts a child that calls @fn for each byte that it receives, and answers. */
static pid_t start_child(bool (*fn)(void), int *ret_tell, int *ret_hear)
{
    int tell[2], hear[2];
    pid_t pid;

    ck_assert_int_eq(pipe(tell), 0);
    ck_assert_int_eq(pipe(hear), 0);
    pid = fork();
    if (pid == 0) {
        char told;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(tell[0], &told, 1) == 1 && fn() && write(hear[1], &told, 1) == 1)
            ;
        _exit(0);
    }
    close(tell[0]);
    close(hear[1]);
    *ret_tell = tell[1];
    *ret_hear = hear[0];
    return pid;
}

static bool touch_pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, PACED_PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return false;
    madvise(pages, PACED_PAGES * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PACED_PAGES; i++)
        pages[i * page] = 1;
    return munmap(pages, PACED_PAGES * page) == 0;
}

static bool call_often(void)
{
    for (int i = 0; i < 1000; i++)
        syscall(SYS_getppid);
    return true;
}

/* The result of hz for an event that counts: by the BPF program's own count, and by the kernel's
 * value of each sample. The kernel gives values only for counters of the processor, which few test
 * machines have. */
static const struct {
    const char *what;
    bool picks;
    double least, most; /* of the sum: the kernel samples all processes of a CPU together */
} PACES[] = {
    { "the program picks", true, 0.98, 1.02 },
    { "the kernel steers", false, 0.25, 4 },
};

START_TEST(paced)
{
    struct sampler_event event;
    int tell, hear, status;
    pid_t toucher = start_child(touch_pages, &tell, &hear);
    uint32_t set;
    unsigned pages = PACED_PAGES * PACED_TIMES;
    char c = 'x';

    ck_assert_int_eq(sampler_describe(EVENT_PAGE_FAULTS, SPAN_NULL, -1, &event, &err), 0);
    event.picks = PACES[_i].picks;
    ck_assert_msg(sampler_start_event(sampler, &event, EVENT_PACED | PACED_NS, &set, &err) == 0,
                  "%s", err.msg);
    ck_assert_int_eq(sampler_filter_process(sampler, toucher, 1U << set), 0);
    for (unsigned i = 0; i < PACED_TIMES; i++) {
        ck_assert_int_eq(write(tell, &c, 1), 1);
        ck_assert_int_eq(read(hear, &c, 1), 1);
    }
    memset(&got, 0, sizeof(got));
    got.pid = (uint32_t)toucher;
    drain();
    printf("%s: %llu of %u in %llu samples\n", PACES[_i].what, (unsigned long long)got.value[set],
           pages, (unsigned long long)got.weight[set]);
    ck_assert_uint_lt(got.weight[set], pages / 2);
    ck_assert_double_ge((double)got.value[set] / pages, PACES[_i].least);
    ck_assert_double_le((double)got.value[set] / pages, PACES[_i].most);
    ck_assert_int_eq(sampler_stop(sampler, set), 0);
    close(tell);
    close(hear);
    kill(toucher, SIGKILL);
    ck_assert_int_eq(waitpid(toucher, &status, 0), toucher);
}
END_TEST

/* Events that can have a pace, and others. */
START_TEST(paces_that_cannot_be)
{
    ck_assert(event_period_valid(EVENT_CYCLES, EVENT_PACED | PACED_NS));
    ck_assert(event_period_valid(EVENT_FUNCTION, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_CPU, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_SAFEPOINT, EVENT_PACED | PACED_NS));
    ck_assert(event_period_valid(EVENT_ALLOC, EVENT_PACED | PACED_NS)); /* of the recorder */
    ck_assert(!event_period_valid(EVENT_MALLOC, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_CYCLES, EVENT_PACED));
    ck_assert(!event_period_valid(EVENT_CYCLES, EVENT_PACED | (EVENT_PERIOD_MIN_NS - 1)));
    ck_assert(!event_period_valid(EVENT_KINDS_ALL, EVENT_PACED | PACED_NS));
}
END_TEST

/* Only timers differ from the period, and processors differ to both sides. */
START_TEST(periods_of_processors)
{
    struct sampler_event timer = { .info = events_default() },
                         faults = { .info = events_row(EVENT_PAGE_FAULTS) };
    uint64_t period = NSEC_PER_SEC / 19, even = sampler_period_on(&timer, 0, period),
             odd = sampler_period_on(&timer, 1, period);

    ck_assert_uint_eq(even + odd, 2 * period);
    ck_assert_uint_gt(odd - even, period / 400);
    ck_assert_uint_lt(odd - even, period / 200);
    ck_assert_uint_eq(sampler_period_on(&faults, 0, period), period);
    ck_assert_uint_eq(sampler_period_on(&timer, 0, 100), 100); /* and no shift to 0 */
}
END_TEST

static struct hook *held; /* a hook that is still to be taken out */
static bool holds;

/* Implements hook_worker.give. */
static void hold_hook(void *ctx, struct hook *h)
{
    (void)ctx;
    if (holds)
        held = h;
    else
        hook_work(h);
}

/* The link of a set that was stopped is there for a while. It makes no sample of the next event
 * with the same number. */
static void see_late_link(const struct sampler_event *event, pid_t caller, int tell, int hear)
{
    struct sampler_event other;
    uint32_t first, next;
    char c = 'x';

    ck_assert_int_eq(
        sampler_describe(EVENT_KINDS_ALL, SPAN("syscalls:sys_enter_getpgid"), -1, &other, &err), 0);
    sampler_hook_by(sampler, (struct hook_worker){ .give = hold_hook });
    ck_assert_int_eq(sampler_start_event(sampler, event, 1, &first, &err), 0);
    holds = true;
    ck_assert_int_eq(sampler_stop(sampler, first), 0);
    ck_assert_ptr_nonnull(held);
    holds = false;
    ck_assert_int_eq(sampler_start_event(sampler, &other, 1, &next, &err), 0);
    ck_assert_uint_eq(next, first);
    ck_assert_int_eq(sampler_filter_process(sampler, caller, 1U << next), 0);
    ck_assert_int_eq(write(tell, &c, 1), 1);
    ck_assert_int_eq(read(hear, &c, 1), 1);
    memset(&got, 0, sizeof(got));
    got.pid = (uint32_t)caller;
    drain();
    ck_assert_uint_eq(got.weight[next], 0);
    hook_work(held);
    ck_assert_int_eq(sampler_stop(sampler, next), 0);
    sampler_hook_by(sampler, (struct hook_worker){ 0 });
}

/* Every hit of the wanted process, and none of another's; at an interval as many by value. */
START_TEST(tracepoints)
{
    struct sampler_shared shared = SAMPLER_SHARED_NONE;
    struct sampler_event event;
    void *points = NULL;
    int tell, hear, r, status;
    pid_t caller = start_child(call_often, &tell, &hear), other;
    uint32_t each, tenth;
    char c = 'x';

    other = start_child(call_often, &(int){ -1 }, &(int){ -1 });
    tracepoint_prepare();
    r = sampler_describe(EVENT_KINDS_ALL, SPAN("syscalls:sys_enter_getppid"), -1, &event, &err);
    if (r == -ENOENT) { /* tracefs cannot be mounted, or the kernel has none of these */
        ck_assert_ptr_nonnull(strstr(err.msg, "tracepoint"));
        ck_assert_int_ne(err.remedy[0], '\0');
    } else {
        uint64_t began_ns = clock_monotonic_ns();

        ck_assert_msg(r == 0, "%s", err.msg);
        ck_assert_int_eq(sampler_start_event(sampler, &event, 1, &each, &err), -EAGAIN);
        ck_assert_int_eq(sampler_share(sampler, &shared), 0);
        ck_assert_msg(sampler_program_points.load(&shared, &points, &err) == 0, "%s", err.msg);
        sampler_shared_close(&shared);
        sampler_take(sampler, PROGRAM_POINTS, points);
        ck_assert_msg(sampler_start_event(sampler, &event, 1, &each, &err) == 0, "%s", err.msg);
        printf("%.1f ms until tracepoints can be sampled\n",
               (double)(clock_monotonic_ns() - began_ns) / 1e6);
        ck_assert_int_eq(sampler_start_event(sampler, &event, 10, &tenth, &err), -EEXIST);
        ck_assert_int_eq(sampler_filter_process(sampler, caller, 1U << each), 0);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(write(tell, &c, 1), 1);
            ck_assert_int_eq(read(hear, &c, 1), 1);
        }
        sampler_set_cpus(sampler, &(uint32_t){ 0 }, 1); /* a tracepoint is not bound to a CPU */
        ck_assert_int_eq(write(tell, &c, 1), 1);
        ck_assert_int_eq(read(hear, &c, 1), 1);
        memset(&got, 0, sizeof(got));
        got.pid = (uint32_t)caller;
        drain();
        ck_assert_uint_eq(got.weight[each], 4000);
        ck_assert_uint_eq(got.others, 0);
        sampler_follow_cpus(sampler);
        ck_assert_int_eq(sampler_stop(sampler, each), 0);
        ck_assert_int_eq(sampler_start_event(sampler, &event, 10, &tenth, &err), 0);
        ck_assert_int_eq(sampler_filter_process(sampler, caller, 1U << tenth), 0);
        ck_assert_int_eq(write(tell, &c, 1), 1);
        ck_assert_int_eq(read(hear, &c, 1), 1);
        memset(&got, 0, sizeof(got));
        got.pid = (uint32_t)caller;
        drain();
        ck_assert_uint_ge(got.weight[tenth], 100 - 2);
        ck_assert_uint_le(got.weight[tenth], 100 + 2);
        ck_assert_uint_eq(got.others, 0);
        ck_assert_int_eq(sampler_stop(sampler, tenth), 0);
        see_late_link(&event, caller, tell, hear);
    }
    kill(caller, SIGKILL);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(caller, &status, 0), caller);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    close(tell);
    close(hear);
}
END_TEST

/* A process without probes is not counted, and takes no slot from others. */
START_TEST(counts_no_mallocs_without_a_probe)
{
    struct sampler_shared shared = SAMPLER_SHARED_NONE;
    struct sampler_event event = { .info = events_row(EVENT_FUNCTION) };
    void *alloc = NULL;
    uint64_t calls;
    int pid = getpid();
    const struct uprobe_target of = { .pid = pid, .pidfd = -1, .fd = -1 };

    ck_assert_int_eq(sampler_share(sampler, &shared), 0);
    if (sampler_program_alloc.load(&shared, &alloc, &err) ==
        0) { /* another test reports failures */
        ck_assert_int_eq(sampler_alloc_malloc(alloc, &of, 0, 0, ALLOC_MALLOC_FIRST, &err), -EAGAIN);
        ck_assert_int_eq(sampler_alloc_mallocs(alloc, pid, &calls), -ENOENT);
        ck_assert_int_eq(sampler_program_alloc.start(alloc, 0, &event, 1, &err), 0);
        ck_assert_int_lt(sampler_alloc_malloc(alloc, &of, 0, 0, ALLOC_MALLOC_FIRST, &err), 0);
        ck_assert_int_eq(sampler_alloc_unmalloc(alloc, &of, 0, 0), -ENOENT);
        ck_assert_int_eq(sampler_alloc_mallocs(alloc, pid, &calls), -ENOENT);
        sampler_program_alloc.free(alloc);
    }
    sampler_shared_close(&shared);
}
END_TEST

int main(void)
{
    TCase *pure = tcase_create("pure"), *tc = tcase_create("kernel");

    tcase_add_test(pure, paces_that_cannot_be);
    tcase_add_test(pure, periods_of_processors);
    tcase_add_loop_test(tc, paced, 0, (int)ARRAY_SIZE(PACES));
    tcase_add_test(tc, tracepoints);
    tcase_add_test(tc, counts_no_mallocs_without_a_probe);
    return run_cases("sampler_events", pure, tc);
}
