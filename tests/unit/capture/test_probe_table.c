/* SPDX-License-Identifier: Apache-2.0 */
/* capture/probe/probe_table.c: requesting probes, keeping wanted ones, and removing the others. */
#include "fixed_seed.h"
#include "suite.h"

#include "base/clock.h"
#include "capture/probe/probe_table.h"

#define SET 3
#define CROWD 666 /* an owner */
#define TWIN 699  /* an owner with the same place in struct shares */

static int result; /* result of the next put() */
static unsigned puts_done, taken_out, looks;

static int put(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err)
{
    (void)t;
    (void)env;
    ck_assert_int_eq(e->id.host_pid, p->id.host_pid);
    ck_assert_str_eq(what, "what");
    puts_done++;
    return result < 0 ? error_set(err, result, "because") : result;
}

static void take_out(struct broker *b, const struct probe_entry *e)
{
    (void)b;
    (void)e;
    taken_out++;
}

static void look(struct broker *b, struct probe_entry *e)
{
    (void)b;
    ck_assert(e->asked.there && e->asked.wanted);
    looks++;
}

static const struct probe_kind KIND = { .entry_bytes = sizeof(struct probe_entry),
                                        .entries_max = 3,
                                        .standing_max = 2,
                                        .have_all = "processes are probed",
                                        .put = put,
                                        .take_out = take_out,
                                        .look = look };
static struct probe_table table;
static struct process processes[4];

static void setup(void)
{
    table = (struct probe_table){ .kind = &KIND };
    result = 0;
    puts_done = taken_out = looks = 0;
    for (int i = 0; i < 4; i++)
        processes[i] =
            (struct process){ .id = { .host_pid = 100 + i, .start_ticks = 7 }, .payer = CROWD };
}

static void teardown(void)
{
    probe_table_deinit(&table);
    ck_assert_uint_eq(table.count, 0);
}

static int probe_of(int i, uint32_t set, uint64_t until_ns, struct error *err)
{
    const struct probe_env env = { NULL, NULL };

    return probe_table_put(&table, &env, &processes[i], set, "what", until_ns, err);
}

static int probe(int i, uint64_t until_ns, struct error *err)
{
    return probe_of(i, SET, until_ns, err);
}

static void sweep_all(void)
{
    probe_table_sweep_begin(&table);
    probe_table_sweep_end(&table, NULL);
    ck_assert_uint_eq(table.count, 0);
}

START_TEST(they_stay_while_they_are_wanted)
{
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_uint_eq(puts_done, 1);
    probe_table_sweep_begin(&table);
    probe_table_want(&table, &processes[0].id, SET);
    probe_table_want(&table, &processes[1].id, SET); /* this process has no probes */
    probe_table_sweep_end(&table, NULL);
    ck_assert_uint_eq(looks, 1);
    ck_assert_uint_eq(table.count, 1);
    probe_table_sweep_begin(&table);
    probe_table_want(&table, &processes[0].id, SET + 1);
    probe_table_sweep_end(&table, NULL);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_ptr_null(probe_table_find(&table, &processes[0].id, SET));
}
END_TEST

START_TEST(lost_ones_are_put_again)
{
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    probe_table_lost(&table, SET + 1);
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_uint_eq(puts_done, 1);
    probe_table_lost(&table, SET);
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_uint_eq(puts_done, 2);
    probe_table_lost(&table, SET);
    sweep_all();
    ck_assert_uint_eq(taken_out, 0); /* they were removed with their set */
}
END_TEST

START_TEST(those_that_another_set_keeps_are_taken_out)
{
    ck_assert_int_eq(probe_of(0, PROBE_NO_SET, 0, NULL), 0);
    ck_assert_int_eq(probe_of(1, PROBE_NO_SET, 0, NULL), 0);
    probe_table_lost(&table, PROBE_NO_SET);
    probe_table_sweep_begin(&table);
    ck_assert_int_eq(probe_of(1, PROBE_NO_SET, 0, NULL), 0); /* of the other set */
    probe_table_sweep_end(&table, NULL);
    ck_assert_uint_eq(puts_done, 3);
    ck_assert_uint_eq(taken_out, 1);
    sweep_all();
    ck_assert_uint_eq(taken_out, 2);
}
END_TEST

START_TEST(some_of_them_may_stand_after_a_failure)
{
    result = -EINPROGRESS;
    ck_assert_int_eq(probe(0, 0, NULL), -EINPROGRESS);
    probe_table_find(&table, &processes[0].id, SET)->asked = (struct asked_probes){ 0 };
    result = -ENOEXEC;
    ck_assert_int_eq(probe(0, 0, NULL), -ENOEXEC);
    sweep_all();
    ck_assert_uint_eq(taken_out, 1);
    result = ASKED_PROBES_READING;
    ck_assert_int_eq(probe(0, 0, NULL), -EAGAIN);
    sweep_all();
    ck_assert_uint_eq(taken_out, 1); /* the broker was not asked */
}
END_TEST

START_TEST(those_of_the_image_before_an_exec_go)
{
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    processes[0].id.exec_no++;
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_uint_eq(puts_done, 2);
}
END_TEST

START_TEST(a_failure_is_remembered)
{
    struct error err = ERROR_NULL;

    result = -ENOEXEC;
    ck_assert_int_eq(probe(0, 0, &err), -ENOEXEC);
    ck_assert_str_eq(err.msg, "because");
    result = 0;
    ck_assert_int_eq(probe(0, 0, NULL), -ENOEXEC); /* for a capture that runs */
    ck_assert_uint_eq(puts_done, 1);
    ck_assert_int_eq(probe(0, clock_monotonic_ns() + NSEC_PER_SEC, NULL),
                     0); /* for a later capture */
}
END_TEST

START_TEST(there_is_room_for_so_many)
{
    struct error err = ERROR_NULL;

    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(probe(i, 0, NULL), 0);
    ck_assert_int_eq(probe(2, 0, &err), -E2BIG);
    ck_assert_str_eq(err.msg, "2 processes are probed already");
    ck_assert_int_eq(probe(3, 0, &err), -E2BIG); /* the process has no entry at all */
    ck_assert_uint_eq(puts_done, 2);
}
END_TEST

START_TEST(one_owner_gives_probes_up)
{
    struct error err = ERROR_NULL;

    processes[3].payer = CROWD + 1;
    for (int i = 0; i < 3; i++)
        probe(i, 0, NULL);
    ck_assert_uint_eq(table.count, 3);
    ck_assert_int_eq(probe(3, 0, NULL), 0);
    ck_assert_uint_eq(table.count, 3);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_ptr_null(probe_table_find(&table, &processes[2].id, SET));
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_int_eq(probe(1, 0, &err), -E2BIG); /* its probes were removed */
    ck_assert_int_eq(probe(2, 0, &err), -E2BIG);
    ck_assert_int_eq(probe(3, 0, NULL), 0);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_uint_eq(puts_done, 3);
    sweep_all();
    ck_assert_uint_eq(table.places.shares.used, 0);
}
END_TEST

/* The newest entry of the crowd has probes, and an older one has none. */
START_TEST(who_has_no_probes_gives_way_first)
{
    struct probe_kind roomy = KIND;

    roomy.standing_max = roomy.entries_max;
    table.kind = &roomy;
    processes[3].payer = CROWD + 1;
    result = -ENOEXEC;
    ck_assert_int_eq(probe(0, 0, NULL), -ENOEXEC);
    result = 0;
    for (int i = 1; i < 4; i++)
        ck_assert_int_eq(probe(i, 0, NULL), 0);
    ck_assert_ptr_null(probe_table_find(&table, &processes[0].id, SET));
    ck_assert_uint_eq(taken_out, 0);
}
END_TEST

/* A table whose caller has to know which probes went to make room. */
START_TEST(those_that_gave_way_are_told)
{
    struct probe_kind told = KIND;
    struct proc_id id;
    uint32_t set;

    told.keeps_gone = true;
    told.entries_max = 2;
    table.kind = &told;
    processes[3].payer = CROWD + 1;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(probe(i, 0, NULL), 0);
    ck_assert(!probe_table_take_gone(&table, &id, &set));
    ck_assert_int_eq(probe(3, 0, NULL), 0);
    ck_assert(probe_table_take_gone(&table, &id, &set));
    ck_assert(proc_id_equal(&id, &processes[1].id));
    ck_assert_uint_eq(set, SET);
    ck_assert(!probe_table_take_gone(&table, &id, &set));
    sweep_all(); /* what nobody wants any more is not told */
    ck_assert(!probe_table_take_gone(&table, &id, &set));
}
END_TEST

/* Two owners with one entry each keep it, though struct shares counts them in one place. */
START_TEST(owners_of_one_keep_it)
{
    processes[1].payer = TWIN;
    processes[2].payer = CROWD + 1;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(probe(i, 0, NULL), 0);
    ck_assert_uint_eq(shares_used(&table.places.shares, CROWD), 2);
    ck_assert_int_eq(probe(2, 0, NULL), -E2BIG);
    ck_assert_uint_eq(taken_out, 0);
}
END_TEST

/* Two processes of the crowd have probes, and one of another owner cannot get any. */
START_TEST(who_gets_no_probes_takes_none)
{
    const uint64_t BEGINS_NS = clock_monotonic_ns() + NSEC_PER_SEC;

    processes[3].payer = CROWD + 1;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(probe(i, 0, NULL), 0);
    for (int i = 0; i < 3; i++) {
        result = -ENOEXEC;
        ck_assert_int_eq(probe(3, 0, NULL), -ENOEXEC);
        result = 0;
        ck_assert_int_eq(probe(0, 0, NULL), 0);
        ck_assert_int_eq(probe(1, 0, NULL), 0);
    }
    probe_table_find(&table, &processes[3].id, SET)->asked.again_ns = 0;
    ck_assert_int_eq(probe(3, 0, NULL), -ENOEXEC); /* the next try may fail, too */
    ck_assert_int_eq(probe(3, BEGINS_NS, NULL), -ENOEXEC);
    ck_assert_uint_eq(puts_done, 3);
    ck_assert_uint_eq(taken_out, 0);
    probe_table_sweep_begin(&table);
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    probe_table_want(&table, &processes[3].id, SET);
    probe_table_sweep_end(&table, NULL);
    ck_assert_int_eq(probe(3, 0, NULL), 0); /* now there is room */
    ck_assert_uint_eq(taken_out, 1);
}
END_TEST

/* A process of another owner gets probes at last, in a sweep that has met the crowd already. */
START_TEST(a_crowd_gives_way_when_others_have_probes)
{
    const struct probe_entry *gave;

    processes[3].payer = CROWD + 1;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(probe(i, 0, NULL), 0);
    result = ASKED_PROBES_READING;
    ck_assert_int_eq(probe(3, 0, NULL), -EAGAIN);
    ck_assert_uint_eq(taken_out, 0);
    result = -EINPROGRESS;
    probe_table_find(&table, &processes[3].id, SET)->asked.again_ns = 0;
    probe_table_sweep_begin(&table);
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_int_eq(probe(1, 0, NULL), 0);
    gave = probe_table_find(&table, &processes[1].id, SET);
    ck_assert_int_eq(probe(3, 0, NULL), -EINPROGRESS);
    probe_table_sweep_end(&table, NULL);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_ptr_eq(probe_table_find(&table, &processes[1].id, SET), gave); /* still wanted */
    ck_assert(!asked_probes_stand(&gave->asked));
    ck_assert_int_eq(probe(1, 0, NULL), -E2BIG);
    ck_assert_int_eq(probe(0, 0, NULL), 0);
    ck_assert_uint_eq(taken_out, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("probe_table");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, they_stay_while_they_are_wanted);
    tcase_add_test(tc, lost_ones_are_put_again);
    tcase_add_test(tc, those_that_another_set_keeps_are_taken_out);
    tcase_add_test(tc, some_of_them_may_stand_after_a_failure);
    tcase_add_test(tc, those_of_the_image_before_an_exec_go);
    tcase_add_test(tc, a_failure_is_remembered);
    tcase_add_test(tc, there_is_room_for_so_many);
    tcase_add_test(tc, who_has_no_probes_gives_way_first);
    tcase_add_test(tc, those_that_gave_way_are_told);
    tcase_add_test(tc, one_owner_gives_probes_up);
    tcase_add_test(tc, owners_of_one_keep_it);
    tcase_add_test(tc, who_gets_no_probes_takes_none);
    tcase_add_test(tc, a_crowd_gives_way_when_others_have_probes);
    return suite_run_case("probe_table", tc);
}
