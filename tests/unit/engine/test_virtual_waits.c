/* SPDX-License-Identifier: Apache-2.0 */
/* engine/virtual_waits.c: the time before a pass that its samples do not cover, and the threads
 * that the look at the end of probes misses. */
#include "../capture/capture_rig.h"

#include "engine/virtual_waits.h"

#include <sys/mman.h>

#define THREADS 50
#define LACK "of waits of virtual threads are missing"

static struct rig rig;
static struct virtual_waits waits;
static struct process *jvm;
/* The result of the next pass. */
static int found;
static uint32_t broken, places;
static uint8_t stack;
static bool lists_all;
/* If not NULL: the result of the next passes, in place of THREADS alike. */
static const struct hotspot_dump_thread *of_table;
static uint32_t table_count, table_broken, passes, bad_passes, draws_max;
static double table_weight; /* threads that each of the table stands for */

int __wrap_hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b);
int __wrap_hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b)
{
    (void)vm;
    passes++;
    if (b->draws > draws_max)
        return -E2BIG;
    b->weight = 2;
    if (of_table) {
        b->places = 64;
        b->tracks_all = true;
        b->weight = table_weight;
        b->broken = passes > bad_passes ? 0 : table_broken ? table_broken : table_count;
        b->count = table_count;
        memcpy(b->threads, of_table, table_count * sizeof(*of_table));
        return 0;
    }
    jvm->vm = NULL; /* a JVM without a VM to read */
    b->broken = broken;
    b->places = places;
    b->weight = 1;
    b->tracks_all = lists_all;
    b->count = places ? THREADS : 0;
    for (uint32_t i = 0; i < b->count; i++)
        b->threads[i] = (struct hotspot_dump_thread){ .is_virtual = true,
                                                      .state = THREAD_STATE_WAITING,
                                                      .stack = stack };
    return found;
}

/* The waits that the probes know before and after a pass. */
static struct yields_start known[2][8];
static uint32_t known_count[2], readings;
static int reading_fails;

int __wrap_broker_yields_waits(struct broker *b, int32_t host_pid, int *ret_fd, struct error *err);
int __wrap_broker_yields_waits(struct broker *b, int32_t host_pid, int *ret_fd, struct error *err)
{
    (void)b;
    (void)host_pid;
    (void)err;
    if (reading_fails)
        return reading_fails;
    ck_assert_uint_lt(readings, 2);
    *ret_fd = memfd_create("waits", MFD_CLOEXEC);
    ck_assert_int_ge(
        write(*ret_fd, known[readings], known_count[readings] * sizeof(struct yields_start)), 0);
    readings++;
    return 0;
}

/* The samples of the look at the end of probes. */
static struct sample_record records[8];
static uint32_t record_count;

void __wrap_dispatch_known(struct dispatch *d, struct process *p, const struct sample_record *rec,
                           const uint64_t *frames);
void __wrap_dispatch_known(struct dispatch *d, struct process *p, const struct sample_record *rec,
                           const uint64_t *frames)
{
    (void)d;
    (void)p;
    (void)frames;
    if (of_table)
        records[record_count++ % 8] = *rec;
}

uint64_t __wrap_hotspot_lock_word(const struct hotspot_vm *vm, uint64_t klass);
uint64_t __wrap_hotspot_lock_word(const struct hotspot_vm *vm, uint64_t klass)
{
    (void)vm;
    return klass + 1;
}

static void look(void)
{
    struct virtual_wishes *wishes = &rig.captures.virtual_threads.wishes;
    uint64_t now_ns = clock_monotonic_ns();

    jvm->jvm = JVM_READY;
    jvm->vm = (struct hotspot_vm *)&waits; /* the pointer is only compared with NULL */
    virtual_wishes_add(wishes, &jvm->id, 1, 0, /* locks= */ false, now_ns);
    wishes->of[0].due_ns = waits.paid_ns = 0;
    virtual_waits_tick(&waits, wishes, &rig.dispatch, now_ns);
    ck_assert_ptr_null(jvm->vm); /* the pass has run */
    jvm->jvm = JVM_NO;
}

/* Begins a capture, 30 s in the past. */
static void setup(void)
{
    struct capture_request req;

    rig_open(&rig);
    memset(&waits, 0, sizeof(waits));
    req = rig_request(&rig, "offcpu", 10 * NSEC_PER_MSEC);
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
    rig.captures.running->start_ns -= 30 * NSEC_PER_SEC;
    jvm = rig_process(&rig);
    jvm->exec_time_ns = 0;
    found = 0;
    broken = places = 0;
    stack = DUMP_STACK_NONE;
    lists_all = true;
    of_table = NULL;
    passes = bad_passes = readings = record_count = known_count[0] = known_count[1] = 0;
    table_broken = 0;
    table_weight = 2;
    draws_max = UINT32_MAX;
    reading_fails = 0;
}

static void teardown(void)
{
    virtual_waits_deinit(&waits);
    rig_close(&rig);
}

/* Returns the seconds of waits that the profile says are missing. */
static double seconds_missing(void)
{
    double seconds = 0;

    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    rig_finish(&rig);
    if (!rig_warned(&rig, LACK))
        return 0;
    for (size_t i = 0; i < rig.end.profile->warning_count && seconds <= 0; i++) {
        const char *text = rig.end.profile->warnings[i];

        seconds = strstr(text, LACK) ? strtod(text, NULL) : 0;
    }
    return seconds;
}

START_TEST(a_look_without_threads_covers_its_time)
{
    static const struct {
        int found;
        uint32_t broken;
        bool warns;
    } LOOKS[] = { { 0, 0, false }, { 1, 0, false }, { 0, 1, true }, { -ETIMEDOUT, 0, true } };

    found = LOOKS[_i].found;
    broken = LOOKS[_i].broken;
    look();
    ck_assert_uint_lt(rig.captures.virtual_threads.wishes.of[0].due_ns,
                      clock_monotonic_ns() + NSEC_PER_SEC);
    found = 0;
    broken = 0;
    places = 64;
    look();
    ck_assert_int_eq(seconds_missing() > 0, LOOKS[_i].warns);
}
END_TEST

/* The last look of a capture is long before its end. A look that comes after all, before the
 * profile is made, has a second of that time. */
START_TEST(the_time_after_the_last_look_is_missing)
{
    static const struct {
        uint64_t tail_ns;
        bool comes;
        double seconds;
    } ENDS[] = { { 3 * NSEC_PER_SEC, false, 3.0 * THREADS },
                 { 3 * NSEC_PER_SEC, true, 2.0 * THREADS },
                 { 900 * NSEC_PER_MSEC, false, 0 } };
    double seconds;

    places = 64;
    jvm->exec_time_ns = clock_monotonic_ns();
    look();
    jvm->exec_time_ns = 0;
    rig.captures.virtual_threads.wishes.of[0].looked_ns -= ENDS[_i].tail_ns;
    fake_broker_flush(rig.fake, 7, 3);
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    rig_tick(&rig);
    ck_assert_int_eq(rig.captures.running->state, CAPTURE_FLUSHING);
    if (ENDS[_i].comes)
        look();
    seconds = seconds_missing();
    ck_assert_double_ge(seconds, ENDS[_i].seconds);
    ck_assert_double_le(seconds, ENDS[_i].seconds * 1.2);
}
END_TEST

START_TEST(a_jvm_without_a_look_is_said)
{
    static const struct {
        uint64_t past_ns;
        int found;
        bool comes, warns;
    } LOOKS[] = { { 0, -ETIMEDOUT, false, true },
                  { 0, -ENOENT, false, true },
                  { 0, 1, false, false },
                  { 0, -ETIMEDOUT, true, false },
                  { 29500 * NSEC_PER_MSEC, -ETIMEDOUT, false, false } };

    rig.captures.running->start_ns += LOOKS[_i].past_ns;
    found = LOOKS[_i].found;
    look();
    fake_broker_flush(rig.fake, 7, 3);
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    rig_tick(&rig);
    found = 0;
    if (LOOKS[_i].comes)
        look();
    rig_finish(&rig);
    ck_assert_int_eq(rig_warned(&rig, "of 1 JVM: no look at them succeeded"), LOOKS[_i].warns);
    ck_assert(!rig_warned(&rig, LACK));
}
END_TEST

/* The engine may drain samples for a second, and renews wishes after its looks. */
START_TEST(a_long_tick_does_not_end_a_wish)
{
    struct virtual_wishes *wishes = &rig.captures.virtual_threads.wishes;
    const uint64_t tick_ns = 700 * NSEC_PER_MSEC;

    jvm->exec_time_ns = clock_monotonic_ns();
    places = 64;
    for (int tick = 0; tick < 2; tick++) {
        struct virtual_wish *wish = &wishes->of[0];

        look();
        rig.captures.filter.reconciled_ns = wish->wished_ns -= tick_ns;
        wish->looked_ns -= tick_ns;
        wish->due_ns = waits.paid_ns = 0;
        jvm->jvm = JVM_READY;
        jvm->vm = (struct hotspot_vm *)&waits;
        virtual_waits_tick(&waits, wishes, &rig.dispatch, clock_monotonic_ns());
        jvm->jvm = JVM_NO;
        ck_assert_ptr_null(jvm->vm); /* the pass has run */
        ck_assert_uint_eq(wishes->count, 1);
    }
    rig.captures.filter.reconciled_ns = clock_monotonic_ns(); /* without its wish */
    virtual_waits_tick(&waits, wishes, &rig.dispatch, clock_monotonic_ns());
    ck_assert_uint_eq(wishes->count, 0);
    jvm->exec_time_ns = 0;
    ck_assert_double_eq(seconds_missing(), 0);
}
END_TEST

/* A look of the recorder that finds no thread without a carrier replaces the kept one of before. */
START_TEST(a_look_without_waits_is_kept)
{
    static const struct {
        int found;
        uint32_t broken, places;
        bool replaces;
    } LOOKS[] = { { 0, 0, 0, true },
                  { 1, 0, 0, true },
                  { 0, 0, 64, true },
                  { -ETIMEDOUT, 0, 0, false },
                  { 0, 1, 0, false } };
    uint64_t now_ns = clock_monotonic_ns();
    struct frame_table *table;
    struct recorder recorder = { .set = 1 };
    struct looked_virtuals *kept;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
    ck_assert_int_eq(looks_new(&(struct looks_opts){ .frames = table }, &recorder.looks), 0);
    kept = &recorder.looks->virtuals;
    looked_virtual_add(looked_virtuals_keep(kept, jvm->id.host_pid, now_ns - NSEC_PER_SEC), 1, 40);
    ck_assert_ptr_nonnull(looked_virtuals_get(kept, jvm->id.host_pid, now_ns));
    rig.recorder = &recorder;
    found = LOOKS[_i].found;
    broken = LOOKS[_i].broken;
    places = LOOKS[_i].places;
    stack = DUMP_STACK_MOUNTED;
    jvm->jvm = JVM_READY;
    jvm->vm = (struct hotspot_vm *)&waits;
    virtual_wishes_add(&waits.recorded, &jvm->id, 1, LOOKS_SET, /* locks= */ false, now_ns);
    waits.recorded_ns = now_ns;
    virtual_waits_tick(&waits, &rig.captures.virtual_threads.wishes, &rig.dispatch, now_ns);
    ck_assert_ptr_null(jvm->vm); /* the look has run */
    jvm->jvm = JVM_NO;
    ck_assert_int_eq(!looked_virtuals_get(kept, jvm->id.host_pid, clock_monotonic_ns()),
                     LOOKS[_i].replaces);
    rig.recorder = NULL;
    looks_free(recorder.looks);
    frame_table_free(table);
}
END_TEST

START_TEST(a_jvm_waits_from_its_start_on)
{
    double seconds;

    jvm->exec_time_ns = clock_monotonic_ns() - (_i ? 11 : 0) * NSEC_PER_SEC;
    places = 64;
    look();
    seconds = seconds_missing(); /* the pass covers the last second */
    if (_i) {
        ck_assert_double_ge(seconds, 10.0 * THREADS);
        ck_assert_double_lt(seconds, 20.0 * THREADS);
    } else {
        ck_assert_double_eq(seconds, 0);
    }
}
END_TEST

START_TEST(the_look_at_the_end_says_what_it_misses)
{
    static const struct {
        uint8_t stack;
        bool missed, lists_all, incomplete;
    } LOOKS[] = { { DUMP_STACK_WHOLE, false, true, false },
                  { DUMP_STACK_WHOLE, false, false, false },
                  { DUMP_STACK_WHOLE, true, true, true }, /* the begins of all are unknown */
                  { DUMP_STACK_CHANGED, false, true, true },
                  { DUMP_STACK_NONE, true, true, false } };
    struct waits_closing closing = { .missed = LOOKS[_i].missed, .from_ns = 1 };

    stack = LOOKS[_i].stack;
    lists_all = LOOKS[_i].lists_all;
    places = 64;
    jvm->jvm = JVM_READY;
    jvm->vm = (struct hotspot_vm *)&waits;
    ck_assert_uint_gt(virtual_waits_close(&waits, &rig.dispatch, jvm, &closing), 0);
    jvm->jvm = JVM_NO;
    ck_assert_int_eq(closing.incomplete, LOOKS[_i].incomplete);
    ck_assert_int_eq(closing.untracked, !LOOKS[_i].lists_all);
}
END_TEST

#define IS(id, how, ...)                                                                           \
    {                                                                                              \
        .java_id = (id), .is_virtual = true, .state = THREAD_STATE_WAITING, .stack = (how),        \
        __VA_ARGS__                                                                                \
    }
#define WAITS(id, ...) IS(id, DUMP_STACK_WHOLE, __VA_ARGS__)

static void know(int when, uint64_t tid, struct yields_wait wait)
{
    known[when][known_count[when]++] = (struct yields_start){ tid, wait };
}

static uint64_t close_table(const struct hotspot_dump_thread *threads, uint32_t count,
                            struct waits_closing *closing)
{
    uint64_t at_ns;

    of_table = threads;
    table_count = count;
    jvm->jvm = JVM_READY;
    jvm->vm = (struct hotspot_vm *)&waits;
    at_ns = virtual_waits_close(&waits, &rig.dispatch, jvm, closing);
    jvm->jvm = JVM_NO;
    jvm->vm = NULL;
    return at_ns;
}

/* Each that waits before and after the pass is a sample from its begin on. */
START_TEST(the_look_at_the_end_has_the_waits_that_go_on)
{
    static const struct hotspot_dump_thread TABLE[] = {
        WAITS(1), WAITS(2), WAITS(3), WAITS(4), WAITS(5), IS(6, DUMP_STACK_MOUNTED, ), WAITS(7),
    };
    struct waits_closing closing = { .set = 3, .no = 9, .from_ns = 500, .missed = _i };
    uint64_t at_ns;

    for (int when = 1; when >= 0; when--) {
        know(when, 7, (struct yields_wait){ .since_ns = 700, .runnable = 1 });
        know(when, 1, (struct yields_wait){ .since_ns = 1000 });
        know(when, 2, (struct yields_wait){ .since_ns = when ? 2000 : 1500 }); /* waits again */
        know(when, 6, (struct yields_wait){ .since_ns = 600 });
    }
    know(0, 3, (struct yields_wait){ .since_ns = 300 });
    know(1, 4, (struct yields_wait){ .since_ns = 400 });
    at_ns = close_table(TABLE, ARRAY_SIZE(TABLE), &closing);
    ck_assert_uint_gt(at_ns, 2000);
    ck_assert_int_eq(closing.incomplete, _i); /* that of 5, which has no begin */
    ck_assert_uint_eq(closing.unbegun_ns, _i ? 2 * (at_ns - 500) : 0);
    ck_assert_uint_eq(record_count, _i ? 2 : 3);
    ck_assert_uint_eq(records[0].wait_ns, at_ns - 1000);
    ck_assert_uint_eq(records[0].value, 2 * (at_ns - 1000)); /* it stands for two threads */
    ck_assert_uint_eq(records[0].time_ns, at_ns);
    ck_assert_uint_eq(records[0].flags, 0);
    ck_assert(records[0].set == 3 && records[0].flush == 9);
    if (!_i)
        ck_assert_uint_eq(records[1].wait_ns, at_ns - 500);
    ck_assert_uint_eq(records[record_count - 1].wait_ns, at_ns - 700);
    ck_assert_uint_eq(records[record_count - 1].flags, SAMPLE_RUNNABLE);
}
END_TEST

/* The probe knows a monitor, and the thread itself any other lock. */
START_TEST(the_look_at_the_end_has_locks)
{
    static const struct hotspot_dump_thread TABLE[] = {
        WAITS(1), WAITS(2, .lock = DUMP_LOCK_LOCK, .lock_klass = 20),
        WAITS(3, .lock = DUMP_LOCK_LOCK, .lock_klass = 30)
    };
    struct waits_closing closing = { .locks = true, .from_ns = 1 };

    for (int when = 0; when < 2; when++) {
        know(when, 1, (struct yields_wait){ .since_ns = 1 }); /* sleeps */
        know(when, 2, (struct yields_wait){ .since_ns = 1 });
        know(when, 3,
             (struct yields_wait){ .since_ns = 1, .lock = UNWIND_LOCK_WAIT, .lock_class = 7 });
    }
    ck_assert_uint_gt(close_table(TABLE, ARRAY_SIZE(TABLE), &closing), 0);
    ck_assert_uint_eq(record_count, 2);
    ck_assert(records[0].lock == UNWIND_LOCK_PARK && records[0].lock_class == 21);
    ck_assert(records[1].lock == UNWIND_LOCK_WAIT && records[1].lock_class == 7);
}
END_TEST

/* Waits of threads that the look did not find are in no sample. Their time is known from the
 * probes, if the look was at all threads. */
START_TEST(the_look_at_the_end_has_the_time_of_what_it_misses)
{
    static const struct {
        uint32_t bad, broken;
        double weight;
        bool incomplete, has_time;
    } LOOKS[] = { { 9, 1, 1, true, true },
                  { 9, 1, 2, true, false },
                  { 9, 0, 1, true, true },
                  { 3, 1, 1, false, false },
                  { 0, 0, 1, false, false } };
    static const struct hotspot_dump_thread TABLE[] = { WAITS(1), WAITS(2),  WAITS(3),  WAITS(4),
                                                        WAITS(5), WAITS(6),  WAITS(7),  WAITS(8),
                                                        WAITS(9), WAITS(10), WAITS(11), WAITS(12) };
    struct waits_closing closing = { .from_ns = 500 };
    uint64_t at_ns;

    for (int when = 0; when < 2; when++) {
        know(when, 1, (struct yields_wait){ .since_ns = 600 });
        know(when, 20, (struct yields_wait){ .since_ns = 700 });
        know(when, 21, (struct yields_wait){ .since_ns = 100 }); /* since before the capture */
        know(when, 22, (struct yields_wait){ .since_ns = 700, .preempted = 1 }); /* may run */
    }
    bad_passes = LOOKS[_i].bad;
    table_broken = LOOKS[_i].broken;
    table_weight = LOOKS[_i].weight;
    at_ns = close_table(TABLE, ARRAY_SIZE(TABLE), &closing);
    ck_assert_uint_gt(at_ns, 700);
    ck_assert_int_eq(closing.incomplete, LOOKS[_i].incomplete);
    ck_assert_uint_eq(closing.unlisted_ns, LOOKS[_i].has_time ? (at_ns - 700) + (at_ns - 500) : 0);
    ck_assert_uint_eq(passes, MIN(LOOKS[_i].bad, 3U) + 1);
}
END_TEST

START_TEST(the_look_at_the_end_tries_again)
{
    static const struct hotspot_dump_thread TABLE[] = { WAITS(1) };
    static const struct {
        uint32_t bad, draws_max, passes;
        int fails;
        bool incomplete, done;
    } LOOKS[] = { { 0, UINT32_MAX, 1, 0, false, true },
                  { 3, UINT32_MAX, 4, 0, false, true }, /* a collection moved the threads */
                  { 9, UINT32_MAX, 4, 0, true, true },  /* again and again */
                  { 0, 600, 4, 0, false, true },        /* too many at once */
                  { 0, 1, 9, 0, false, false },         /* always */
                  { 0, UINT32_MAX, 0, -EIO, false, false } };
    struct waits_closing closing = { .from_ns = 1 };

    bad_passes = LOOKS[_i].bad;
    draws_max = LOOKS[_i].draws_max;
    reading_fails = LOOKS[_i].fails;
    ck_assert_int_eq(close_table(TABLE, 1, &closing) > 0, LOOKS[_i].done);
    ck_assert_uint_eq(passes, LOOKS[_i].passes);
    ck_assert_int_eq(closing.incomplete, LOOKS[_i].incomplete);
    ck_assert_uint_eq(record_count, LOOKS[_i].done);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("virtual_waits");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_set_timeout(tc, 120); /* processes start slowly on a busy machine */
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_long_tick_does_not_end_a_wish);
    tcase_add_loop_test(tc, a_look_without_waits_is_kept, 0, 5);
    tcase_add_loop_test(tc, a_look_without_threads_covers_its_time, 0, 4);
    tcase_add_loop_test(tc, the_time_after_the_last_look_is_missing, 0, 3);
    tcase_add_loop_test(tc, a_jvm_without_a_look_is_said, 0, 5);
    tcase_add_loop_test(tc, a_jvm_waits_from_its_start_on, 0, 2);
    tcase_add_loop_test(tc, the_look_at_the_end_says_what_it_misses, 0, 5);
    tcase_add_loop_test(tc, the_look_at_the_end_has_the_waits_that_go_on, 0, 2);
    tcase_add_test(tc, the_look_at_the_end_has_locks);
    tcase_add_loop_test(tc, the_look_at_the_end_has_the_time_of_what_it_misses, 0, 5);
    tcase_add_loop_test(tc, the_look_at_the_end_tries_again, 0, 6);
    return suite_run_case("virtual_waits", tc);
}
