/* SPDX-License-Identifier: Apache-2.0 */
/* capture/symbol_source.c: when the JVM is asked for its map, and what the profile says without
 * it. */
#include "capture_rig.h"

#include "attach/attachment.h"

static struct rig rig;

static void setup(void)
{
    rig_open(&rig);
}

static void teardown(void)
{
    rig_close(&rig);
}

/* The map is asked for at once when sampling ends, even if no time is left to wait for it. */
START_TEST(the_map_is_asked_for_when_sampling_ends)
{
    static const struct {
        bool exited, stopping;
        const char *says;
    } ENDS[] = { { false, false, "there was no time to ask the JVM" },
                 { false, true, "there was no time to ask the JVM" },
                 { true, false, "the JVM has exited" } };
    struct capture *c;

    rig_begin(&rig, "cpu", 10 * NSEC_PER_MSEC);
    c = rig.captures.running;
    c->names.attach_mode = ATTACH_PERFMAP;
    c->names.attach_id = rig_process(&rig)->id;
    c->names.attach_id.start_ticks += ENDS[_i].exited;
    ck_assert_int_eq(deferred_new(rig.captures.frames, /* owner= */ 1, &c->names.later), 0);
    rig.captures.stopping = ENDS[_i].stopping;
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    c->start_ns -= 10 * NSEC_PER_SEC;
    c->end_ns -= 5 * NSEC_PER_SEC; /* the engine comes late */
    capture_enter(&rig.captures, c, CAPTURE_FLUSHING);
    ck_assert_int_eq(!c->names.attachment, ENDS[_i].exited || ENDS[_i].stopping);
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, ENDS[_i].says));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_names");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, the_map_is_asked_for_when_sampling_ends, 0, 3);
    return suite_run_case("capture_names", tc);
}
