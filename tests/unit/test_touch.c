/* SPDX-License-Identifier: Apache-2.0 */
/* proc/touch.c: whether a reading of a process holds the thread that makes it. */
#include "suite.h"

#include "base/cleanup.h"
#include "proc/touch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct proc_id TARGET = { .host_pid = 4242, .start_ticks = 77 };

static char folder[64];
static int proc_fd;

/* What the kernel says of the calling thread. */
static void set_state(char state)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%d/stat", folder, gettid());
    f = fopen(path, "we");
    ck_assert_ptr_nonnull(f);
    fprintf(f,
            "%d (flamed-engine) %c 1 1 1 0 -1 4194304 0 0 0 0 3 4 0 0 20 0 1 0 99 1000 10 0 0 0 0 "
            "0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            gettid(), state);
    fclose(f);
}

static void setup(void)
{
    char path[128];

    snprintf(folder, sizeof(folder), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/%d", folder, gettid());
    ck_assert_int_eq(mkdir(path, 0700), 0);
    proc_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    touch_watch(proc_fd);
}

static void teardown(void)
{
    char path[128];

    close(proc_fd);
    snprintf(path, sizeof(path), "%s/%d/stat", folder, gettid());
    unlink(path);
    snprintf(path, sizeof(path), "%s/%d", folder, gettid());
    rmdir(path);
    rmdir(folder);
}

/* The states that are found at one look after the other, and the seconds that are then told. */
static const struct {
    const char *states;
    unsigned seconds;
    bool stands;
} LOOKS[] = {
    { "D", 0, false },              /* nothing to compare with */
    { "DDDDDDDDDD", 9, false },     /* one too few */
    { "DDDDDDDDDDD", 10, true },    /* held */
    { "SSSSSSSSSSSS", 11, true },   /* as FUSE waits first */
    { "RRRRRRRRRRRRRR", 0, false }, /* no time to run: the machine is starved */
    { "DDDDDDDDDDR", 0, false },    /* it goes on */
    { "DDDDDDDDRDDDD", 3, false },
    { "TTTTTTTTTTTTT", 0, false }, /* stopped */
};

START_TEST(tells_what_is_held)
{
    struct touch_stand s = { 0 }, told = { 0 };
    bool held = false;

    touch_begin(&TARGET, TOUCH_MEMORY);
    for (const char *state = LOOKS[_i].states; *state; state++) {
        set_state(*state);
        held = touch_look(proc_fd, &s);
    }
    ck_assert_int_eq(held, LOOKS[_i].seconds > 0);
    if (held)
        ck_assert_uint_eq(s.seconds, LOOKS[_i].seconds);
    ck_assert_int_eq(touch_stands(TOUCH_STANDS_LOOKS, &told), LOOKS[_i].stands);
    if (LOOKS[_i].stands) {
        ck_assert_int_eq(told.id.host_pid, TARGET.host_pid);
        ck_assert_uint_eq(told.id.start_ticks, TARGET.start_ticks);
        ck_assert_int_eq(told.what, TOUCH_MEMORY);
    }
    touch_end();
    ck_assert(!touch_stands(TOUCH_STANDS_LOOKS, &told)); /* at once, without a look */
    ck_assert(!touch_look(proc_fd, &s));
}
END_TEST

/* As many readings as there are looks, each asleep when it is looked at. */
START_TEST(passes_what_goes_on)
{
    struct touch_stand s;

    set_state('D');
    for (int i = 0; i < 3 * TOUCH_STANDS_LOOKS; i++) {
        touch_begin(&TARGET, TOUCH_MAPS);
        ck_assert(!touch_look(proc_fd, &s));
        touch_end();
    }
}
END_TEST

START_TEST(passes_one_that_cannot_be_seen)
{
    struct touch_stand s;

    touch_begin(&TARGET, TOUCH_CMDLINE);
    for (int i = 0; i < 3 * TOUCH_STANDS_LOOKS; i++)
        ck_assert(!touch_look(proc_fd, &s)); /* no such file */
    touch_end();
}
END_TEST

/* The target's container, as /proc has it. NULL: the target is gone. */
static void set_container(const char *cgroup)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%d", folder, TARGET.host_pid);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/cgroup", folder, TARGET.host_pid);
    unlink(path);
    f = cgroup ? fopen(path, "we") : NULL;
    if (f) {
        fputs(cgroup, f);
        fclose(f);
        return;
    }
    snprintf(path, sizeof(path), "%s/%d", folder, TARGET.host_pid);
    rmdir(path);
}

/* The owner of what is told of a reading of @id that does not come back. */
static uint64_t owner_held_by(const struct proc_id *id, bool ended)
{
    struct touch_stand s = { 0 };

    set_state('D');
    touch_begin(id, TOUCH_MEMORY);
    if (ended)
        set_container(NULL);
    touch_look(proc_fd, &s);
    ck_assert(touch_look(proc_fd, &s));
    touch_end();
    return s.owner;
}

/* Whoever holds us may end the process at that moment: its container is known by then. */
START_TEST(knows_whose_a_process_was)
{
    struct proc_id id = TARGET, neighbour = TARGET, other = { .host_pid = 77 };
    uint64_t owner, alone = proc_owner(proc_fd, &id);

    id.exec_no = 1; /* it was started for something else */
    set_container("0::/docker/" CONTAINER "\n");
    owner = proc_owner(proc_fd, &id);
    ck_assert_uint_ne(owner, alone);
    ck_assert_uint_eq(owner_held_by(&id, /* ended= */ true), owner);
    ck_assert_uint_eq(owner_held_by(&id, /* ended= */ true), owner); /* read before, then gone */
    ck_assert_uint_eq(owner_held_by(&other, /* ended= */ true), proc_owner(proc_fd, &other));
    ck_assert_uint_eq(owner_held_by(&id, /* ended= */ true), owner);
    neighbour.host_pid += 1024; /* which takes its place */
    ck_assert_uint_eq(owner_held_by(&neighbour, true), proc_owner(proc_fd, &neighbour));
    ck_assert_uint_eq(owner_held_by(&id, /* ended= */ true), alone);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("touch");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, tells_what_is_held, 0, ARRAY_SIZE(LOOKS));
    tcase_add_test(tc, passes_what_goes_on);
    tcase_add_test(tc, passes_one_that_cannot_be_seen);
    tcase_add_test(tc, knows_whose_a_process_was);
    return suite_run_case("touch", tc);
}
