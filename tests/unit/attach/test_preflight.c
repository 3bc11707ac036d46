/* SPDX-License-Identifier: Apache-2.0 */
/* attach/preflight.h: which JVMs may be attached to, and which source `auto` takes. */
#include "suite.h"

#include "attach/preflight.h"

#include <errno.h>

/* Returns the facts of a JVM that meets all conditions. */
static struct preflight_facts facts_of(int jdk)
{
    return (struct preflight_facts){
        .injection_allowed = true,
        .vm_known = true,
        .vm_problem = "",
        .jdk = jdk,
        .java_version = jdk == 8 ? "25.452-b09" : "17.0.15+6",
        .vm_name = "OpenJDK 64-Bit Server VM",
        .age_ns = 60 * NSEC_PER_SEC,
        .attach_disabled = PREFLIGHT_FALSE,
        .reduced_signals = PREFLIGHT_FALSE,
        .dynamic_agents = jdk == 8 ? PREFLIGHT_UNKNOWN : PREFLIGHT_TRUE,
        .state_problem = "",
        .state_remedy = "",
        .backing_off = "",
    };
}

START_TEST(what_auto_takes)
{
    static const struct {
        int jdk;
        bool vm_known, dynamic; /* flags are read if the VM is known */
        const char *source;
        bool agent, perfmap;
    } CASES[] = {
        { 8, true, true, "memory", true, false },   { 11, true, true, "memory", true, false },
        { 17, true, true, "memory", true, false },  { 20, true, true, "memory", true, false },
        { 21, true, true, "memory", true, false },  { 22, true, true, "memory", true, true },
        { 25, true, true, "memory", true, true },   { 17, true, false, "memory", false, false },
        { 25, true, false, "memory", false, true }, { 17, false, false, "none", false, false },
        { 25, false, false, "none", false, false },
    };
    struct preflight_facts f = facts_of(CASES[_i].jdk);
    struct preflight p;
    size_t n = strlen(CASES[_i].source);

    f.vm_known = CASES[_i].vm_known;
    if (!CASES[_i].dynamic)
        f.dynamic_agents = PREFLIGHT_FALSE;
    if (!f.vm_known)
        f.attach_disabled = f.reduced_signals = f.dynamic_agents = PREFLIGHT_UNKNOWN;
    preflight_run(&f, &p);
    ck_assert_msg(strncmp(p.auto_reason, CASES[_i].source, n) == 0 && p.auto_reason[n] == ':',
                  "case %d: %s", _i, p.auto_reason);
    ck_assert_int_eq(p.agent, CASES[_i].agent);
    ck_assert_int_eq(p.perfmap, CASES[_i].perfmap);
    ck_assert_int_eq(p.nameless, !CASES[_i].vm_known);
}
END_TEST

/* The owner of a container without root may not attach to processes inside it. */
START_TEST(what_its_owner_has_without_root_is_not_attached_to)
{
    struct preflight_facts f = facts_of(25);
    struct preflight p;

    f.rootless = true;
    preflight_run(&f, &p);
    ck_assert(!p.agent && !p.perfmap && p.memory);
    f.vm_known = false;
    preflight_run(&f, &p);
    ck_assert(strncmp(p.auto_reason, "none:", 5) == 0);
}
END_TEST

/* A warning to a client that asks for an agent by name; it forbids nothing. */
START_TEST(tells_of_the_vms_own_race)
{
    struct preflight_facts f = facts_of(17);
    struct preflight p;
    bool told = false;

    preflight_run(&f, &p);
    for (size_t i = 0; i < p.count; i++)
        told |= strcmp(p.steps[i].name, "race") == 0 && p.steps[i].ok;
    ck_assert(told);
    ck_assert_uint_le(p.count, PREFLIGHT_STEPS_MAX);
}
END_TEST

START_TEST(one_that_starts_is_named_when_it_has_started)
{
    struct preflight_facts f = facts_of(17);
    struct preflight p;

    f.vm_known = false;
    f.vm_starting = true;
    f.attach_disabled = f.reduced_signals = f.dynamic_agents = PREFLIGHT_UNKNOWN;
    preflight_run(&f, &p);
    ck_assert(!p.agent && !p.perfmap && !p.memory && !p.nameless);
    ck_assert_msg(strncmp(p.auto_reason, "memory:", 7) == 0, "%s", p.auto_reason);
}
END_TEST

/* ---- in which way ---- */

#define NO_PROC "1 0 0:1 / / rw - overlay o rw\n"
#define READ_ONLY "1 0 0:1 / / ro - overlay o rw\n2 1 0:2 / /proc rw - proc proc rw\n"
#define NOEXEC "1 0 0:1 / / ro - overlay o rw\n3 1 0:3 / /tmp rw,noexec - tmpfs tmpfs rw\n"
#define ALL READ_ONLY "3 1 0:3 / /tmp rw - tmpfs tmpfs rw\n"

static const struct {
    const char *mounts;
    uint32_t mode;
    bool tmp, may_mount;
    int result;
    uint32_t next; /* the next way to try; ATTACH_MODE_END: none */
    bool next_tmp;
} WAYS[] = {
    /* Without the option: only a copy, if the memory file is refused. */
    { ALL, ATTACH_LOAD, false, false, -ENOEXEC, ATTACH_COPY, false },
    { NO_PROC, ATTACH_LOAD, false, false, -ENOEXEC, ATTACH_COPY, false },
    { NOEXEC, ATTACH_LOAD, false, false, -ENOEXEC, ATTACH_COPY, false },
    { ALL, ATTACH_COPY, false, false, -ENOEXEC, ATTACH_MODE_END, false },
    { ALL, ATTACH_COPY, false, false, -EACCES, ATTACH_MODE_END, false },
    { READ_ONLY, ATTACH_LOAD, false, false, -EROFS, ATTACH_MODE_END, false },
    { ALL, ATTACH_LOAD, false, false, -EACCES, ATTACH_MODE_END, false },
    { ALL, ATTACH_PERFMAP, false, false, -ENOEXEC, ATTACH_MODE_END, false },
    /* With the option. */
    { ALL, ATTACH_LOAD, false, true, -ENOEXEC, ATTACH_COPY, false },
    { NO_PROC, ATTACH_LOAD, false, true, -ENOEXEC, ATTACH_MOUNT, false },
    { NOEXEC, ATTACH_LOAD, false, true, -ENOEXEC, ATTACH_MOUNT, false },
    { READ_ONLY, ATTACH_LOAD, false, true, -EROFS, ATTACH_LOAD, true },
    { READ_ONLY, ATTACH_LOAD, true, true, -EROFS, ATTACH_MODE_END, false },
    { READ_ONLY, ATTACH_LOAD, true, true, -ENOEXEC, ATTACH_MOUNT, true },
    { READ_ONLY, ATTACH_PERFMAP, false, true, -EROFS, ATTACH_PERFMAP, true },
    { ALL, ATTACH_LOAD, false, true, -EACCES, ATTACH_MOUNT, false },
    { ALL, ATTACH_COPY, false, true, -ENOSPC, ATTACH_MOUNT, false },
    { ALL, ATTACH_COPY, false, true, -ETIMEDOUT, ATTACH_MODE_END, false },
    { ALL, ATTACH_MOUNT, false, true, -ENOEXEC, ATTACH_MODE_END, false },
    { ALL, ATTACH_PERFMAP, false, true, -ENOEXEC, ATTACH_MODE_END, false },
};

START_TEST(one_way_after_another)
{
    struct attach_way w = { WAYS[_i].mode, WAYS[_i].tmp };
    struct attach_places places = attach_places_read(span_of(WAYS[_i].mounts));
    bool more = attach_way_next(&w, WAYS[_i].result, &places, WAYS[_i].may_mount);

    ck_assert(places.known);
    ck_assert_int_eq(more, WAYS[_i].next != ATTACH_MODE_END);
    if (more) {
        ck_assert_uint_eq(w.mode, WAYS[_i].next);
        ck_assert_int_eq(w.tmp, WAYS[_i].next_tmp);
    }
}
END_TEST

START_TEST(tells_the_way)
{
    static const struct {
        const char *mounts, *reason;
        bool may_mount, ok;
    } TOLD[] = {
        { ALL, "memory file", false, true },    { READ_ONLY, "no place to listen", false, false },
        { NO_PROC, "no /proc", false, false },  { NOEXEC, "cannot open the agent", false, false },
        { READ_ONLY, "over /tmp", true, true }, { NO_PROC, "over an empty /mnt", true, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(TOLD); i++) {
        struct preflight_facts f = facts_of(17);
        const struct preflight_step *step = NULL;
        struct preflight p;

        f.places = attach_places_read(span_of(TOLD[i].mounts));
        f.mounts_allowed = TOLD[i].may_mount;
        preflight_run(&f, &p);
        for (size_t k = 0; k < p.count; k++) {
            if (strcmp(p.steps[k].name, "way") == 0)
                step = &p.steps[k];
        }
        ck_assert_ptr_nonnull(step);
        ck_assert_int_eq(step->ok, TOLD[i].ok);
        ck_assert_msg(strstr(step->reason, TOLD[i].reason) != NULL, "%s", step->reason);
        ck_assert_int_eq(strstr(step->remedy, "attach_mount") != NULL, !TOLD[i].ok);
        ck_assert(p.agent); /* this is no condition */
    }
}
END_TEST

static void forbidden(struct preflight_facts *f)
{
    f->injection_allowed = false;
}
static void disabled(struct preflight_facts *f)
{
    f->attach_disabled = PREFLIGHT_TRUE;
}
static void disabled_unknown(struct preflight_facts *f)
{
    f->attach_disabled = PREFLIGHT_UNKNOWN;
}
static void reduced(struct preflight_facts *f)
{
    f->reduced_signals = PREFLIGHT_TRUE;
}
static void openj9(struct preflight_facts *f)
{
    f->vm_name = "Eclipse OpenJ9 VM";
}
static void young(struct preflight_facts *f)
{
    f->age_ns = PREFLIGHT_AGE_MIN_NS - 1;
}
static void old_build(struct preflight_facts *f)
{
    f->jdk = 8;
    f->java_version = "1.8.0_372-b07";
}
static void strange_build(struct preflight_facts *f)
{
    f->jdk = 8;
    f->java_version = "1.8.0-internal";
}
static void stopped(struct preflight_facts *f)
{
    f->state_result = -EBUSY;
    f->state_problem = "process 1 is stopped";
    f->state_remedy = "let it go on";
}
static void crashed(struct preflight_facts *f)
{
    f->crash = "it was ended by signal 11 2 s after an attach began";
}
static void failed(struct preflight_facts *f)
{
    f->backing_off = "2 attaches have failed: the next may be in 20 s";
}

START_TEST(what_stands_against_it)
{
    static const struct {
        void (*change)(struct preflight_facts *f);
        const char *step, *reason;
        bool passes;
    } CASES[] = {
        { forbidden, "configuration", "symbols: memory", false },
        { disabled, "attach mechanism", "thread dump", false },
        { disabled_unknown, "attach mechanism", "cannot be read", false },
        { reduced, "signals", "-Xrs", false },
        { openj9, "vm", "OpenJ9", false },
        { young, "age", "less than 2 s", true },
        { old_build, "build", "JDK-8173361", false },
        { strange_build, "build", "cannot be read", false },
        { stopped, "state", "stopped", false },
        { crashed, "history", "signal 11", false },
        { failed, "history", "20 s", false },
    };
    struct preflight_facts f = facts_of(17);
    struct preflight p;
    size_t found = 0;

    CASES[_i].change(&f);
    preflight_run(&f, &p);
    ck_assert(!p.agent && !p.perfmap);
    for (size_t i = 0; i < p.count; i++) {
        if (p.steps[i].ok)
            continue;
        found++;
        ck_assert_str_eq(p.steps[i].name, CASES[_i].step);
        ck_assert_ptr_nonnull(strstr(p.steps[i].reason, CASES[_i].reason));
        ck_assert_str_ne(p.steps[i].remedy, "");
        ck_assert_int_eq(p.steps[i].passes, CASES[_i].passes);
    }
    ck_assert_uint_eq(found, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("preflight");

    tcase_add_test(tc, tells_of_the_vms_own_race);
    tcase_add_test(tc, one_that_starts_is_named_when_it_has_started);
    tcase_add_test(tc, what_its_owner_has_without_root_is_not_attached_to);
    tcase_add_loop_test(tc, what_auto_takes, 0, 11);
    tcase_add_loop_test(tc, what_stands_against_it, 0, 11);
    tcase_add_loop_test(tc, one_way_after_another, 0, ARRAY_SIZE(WAYS));
    tcase_add_test(tc, tells_the_way);
    return suite_run_case("preflight", tc);
}
