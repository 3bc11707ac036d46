/* SPDX-License-Identifier: Apache-2.0 */
/* engine/dispatch.c: how a sample reaches the captures that want it. */
#include "../capture/capture_rig.h"

#include "unwind/unwind.h"

#include <unistd.h>

#define PERIOD (10 * NSEC_PER_MSEC)

static struct rig rig;

static void setup(void)
{
    struct capture_request req;

    rig_open(&rig);
    req = rig_request(&rig, "cpu", PERIOD);
    req.target.pid_count = 0; /* of every process: files are read only once samples need them */
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
}

static void teardown(void)
{
    rig_close(&rig);
}

static const struct profile *finish(void)
{
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    rig_finish(&rig);
    return rig.end.profile;
}

START_TEST(a_sample_of_a_set_that_nobody_wants_goes)
{
    rig_sample(&rig, 3, 0);
    ck_assert_uint_eq(rig.dispatch.samples, 1);
    ck_assert_uint_eq(rig.dispatch.unmatched, 0);
    ck_assert_uint_eq(finish()->sample_count, 0);
}
END_TEST

START_TEST(a_sample_of_a_hidden_process_is_counted)
{
    struct sample_record rec = rig_sample_of(&rig, 0);

    rec.host_pid = rec.host_tid = 0; /* in another pid namespace */
    rig_take(&rig, &rec);
    ck_assert_uint_eq(rig.dispatch.samples, 1);
    ck_assert_uint_eq(rig.dispatch.unmatched, 1);
    ck_assert_uint_eq(finish()->sample_count, 0);
}
END_TEST

static struct perf_sample copied;

START_TEST(a_copied_sample_of_a_hidden_process_is_counted_as_hidden)
{
    copied.rec = rig_sample_of(&rig, 0);
    copied.rec.host_pid = copied.rec.host_tid = 0;
    dispatch_copied(&rig.dispatch, &copied);
    ck_assert_uint_eq(rig.captures.counts.hidden_copies, 1);
    ck_assert_uint_eq(rig.dispatch.unmatched, 0);
    ck_assert_uint_eq(finish()->sample_count, 0);
    ck_assert(rig_warned(&rig, "outside flamed's own pid namespace"));
}
END_TEST

/* Its pc is still known. */
START_TEST(a_copy_of_nothing_has_its_reason)
{
    const struct profile *p;

    copied.rec = rig_sample_of(&rig, 0);
    copied.rec.flags = SAMPLE_REGISTERS;
    copied.rec.user_count = SAMPLE_REGISTER_COUNT;
    copied.frames[SAMPLE_REGISTER_PC] = 0x1000;
    dispatch_copied(&rig.dispatch, &copied);
    ck_assert_uint_eq(rig.dispatch.waiting.count, 0);
    p = finish();
    ck_assert_uint_eq(p->sample_count, 1);
    ck_assert_uint_eq(p->truncated_by[UNWIND_END_NO_COPY], 1);
}
END_TEST

START_TEST(a_copy_of_a_process_without_room_is_counted)
{
    struct capture *c = rig.captures.running;

    copied.rec = rig_sample_of(&rig, 0);
    c->members.processes.max = 0;
    ck_assert(captures_want_process(&rig.captures, 0, rig_process(&rig), copied.rec.time_ns));
    dispatch_copied(&rig.dispatch, &copied);
    finish();
    ck_assert(rig_warned(&rig, "1 samples were dropped"));
}
END_TEST

START_TEST(a_sample_is_named_once_for_all_captures)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);
    uint64_t named = 0;

    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
    rig_sample(&rig, 0, 0);
    for (size_t i = 0; i < ARRAY_SIZE(rig.dispatch.delays.counts); i++)
        named += rig.dispatch.delays.counts[i];
    ck_assert_uint_eq(named, 1);
    ck_assert_uint_eq(finish()->sample_count, 1);
}
END_TEST

/* Returns the address of the C library's code in the process. */
static uint64_t libc_code(void)
{
    char path[64], line[512];
    uint64_t start = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/maps", rig.pid);
    f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    while (!start && fgets(line, sizeof(line), f)) {
        if (strstr(line, "r-xp") && strstr(line, "libc.so"))
            start = strtoull(line, NULL, 16);
    }
    fclose(f);
    ck_assert_uint_ne(start, 0);
    return start;
}

START_TEST(a_sample_waits_for_the_symbols_of_its_stack)
{
    struct sample_record rec = rig_sample_of(&rig, 0);
    uint64_t frames[] = { libc_code() + 4096 }, until_ns;

    rec.user_count = 1;
    dispatch_sample(&rig.dispatch, &rec, frames);
    ck_assert_uint_eq(rig.dispatch.pending.count, 1);
    ck_assert_uint_eq(record_samples(rig.captures.running->record), 0);
    until_ns = clock_monotonic_ns() + 10 * NSEC_PER_SEC;
    while (rig.dispatch.pending.count && clock_monotonic_ns() < until_ns) {
        rig_tick(&rig);
        usleep(1000);
    }
    ck_assert_uint_eq(rig.dispatch.pending.count, 0);
    ck_assert_uint_eq(rig.dispatch.pending.hurried, 0);
    ck_assert_uint_eq(finish()->sample_count, 1);
}
END_TEST

/* Returns whether the description of the process has rows. */
static bool has_rows(const struct sample_record *rec)
{
    const struct unwind_process *known =
        unwinding_process(rig.captures.unwinding, rig_process(&rig), rec);

    return known && ANY_OF(i, known->mapping_count, known->mappings[i].row_count > 0);
}

/* Shows a sample whose walk reached the root at @now_ns, and waits until no file is being read. */
static void see(const struct sample_record *rec, uint64_t now_ns)
{
    struct captures *c = &rig.captures;
    uint64_t until_ns = clock_monotonic_ns() + 10 * NSEC_PER_SEC;

    unwinding_see(c->unwinding, rig_process(&rig), rec, NULL, /* asked_for= */ true, now_ns);
    for (int i = 0; i < 500 && !has_rows(rec) && clock_monotonic_ns() < until_ns; i++) {
        usleep(1000);
        unwinding_poll(c->unwinding, c->discover, now_ns);
    }
}

/* Files that could not be read are read again after 10 s, though no walk ends for want of them. */
START_TEST(unreadable_files_are_read_again)
{
    struct sample_record rec;
    uint64_t now_ns;

    rig_close(&rig);
    rig_open_unread(&rig);
    rec = rig_sample_of(&rig, 0);
    rec.user_end = UNWIND_END_ROOT;
    fake_broker_answer(rig.fake, BROKER_MAPPED, -EIO, 1000);
    for (int i = 0; i < 3; i++) /* a process is described so often in any case */
        unwinding_again(rig.captures.unwinding, rig_process(&rig), clock_monotonic_ns());
    fake_broker_answer(rig.fake, BROKER_MAPPED, 0, 0);
    now_ns = clock_monotonic_ns();
    see(&rec, now_ns + 8 * NSEC_PER_SEC);
    ck_assert(!has_rows(&rec));
    see(&rec, now_ns + 11 * NSEC_PER_SEC);
    ck_assert(has_rows(&rec));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("dispatch");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_sample_of_a_set_that_nobody_wants_goes);
    tcase_add_test(tc, a_sample_of_a_hidden_process_is_counted);
    tcase_add_test(tc, a_copied_sample_of_a_hidden_process_is_counted_as_hidden);
    tcase_add_test(tc, a_copy_of_nothing_has_its_reason);
    tcase_add_test(tc, a_copy_of_a_process_without_room_is_counted);
    tcase_add_test(tc, a_sample_is_named_once_for_all_captures);
    tcase_add_test(tc, a_sample_waits_for_the_symbols_of_its_stack);
    tcase_add_test(tc, unreadable_files_are_read_again);
    return suite_run_case("dispatch", tc);
}
