/* SPDX-License-Identifier: Apache-2.0 */
/* The states of threads that wait, on the running kernel: their room, and their end. As a kernel
 * without task work, and as it is. Needs root. */
#include "sampler_fixture.h"

#include "base/clock.h"
#include "sample/off_abi.h"
#include "sample/program.h"
#include "sample/sampler_off.h"

#include <bpf/bpf.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define INTERVAL_NS NSEC_PER_MSEC
#define NAP_US 5000
#define NAPS 40

static struct sampler_off *off;

static void load_off(const char *old_kernel)
{
    struct sampler_shared shared = SAMPLER_SHARED_NONE;
    void *loaded = NULL;

    err = ERROR_NULL;
    setenv("FLAMED_OLD_KERNEL", old_kernel, 1);
    open_sampler(-1);
    ck_assert_int_eq(sampler_share(sampler, &shared), 0);
    ck_assert_msg(sampler_program_off.load(&shared, &loaded, &err) == 0, "%s", err.msg);
    sampler_shared_close(&shared);
    sampler_take(sampler, PROGRAM_OFF, loaded);
    off = loaded;
    unsetenv("FLAMED_OLD_KERNEL");
}

static void load_early(void)
{
    load_off("task_work");
}

static void load_late(void)
{
    load_off("");
}

/* Returns the fd of this process's map @name. */
static int find_map(const char *name)
{
    int found = -1;

    for (int fd = 0; fd < 1024; fd++) {
        struct bpf_map_info info = { 0 };
        uint32_t n = sizeof(info);

        if (fcntl(fd, F_GETFD) >= 0 && bpf_obj_get_info_by_fd(fd, &info, &n) == 0 &&
            strcmp(info.name, name) == 0)
            found = fd;
    }
    ck_assert_msg(found >= 0, "no map %s", name);
    return found;
}

/* Fills the map @name with states of threads of processes that ended long ago. */
static void fill(const char *name)
{
    static char value[1 << 16];
    struct bpf_map_info info = { 0 };
    uint32_t n = sizeof(info);
    int map = find_map(name);

    ck_assert_int_eq(bpf_obj_get_info_by_fd(map, &info, &n), 0);
    ck_assert_uint_le(info.value_size, sizeof(value));
    for (n = 0; n <= OFF_EARLY_THREADS; n++) {
        uint64_t tid = INT32_MAX - n, key = OFF_EARLY_KEY(tid, tid);

        if (bpf_map_update_elem(map, &key, value, BPF_NOEXIST) < 0)
            break;
    }
    ck_assert_uint_le(n, info.max_entries);
}

/* Deletes the states of others than @pid. */
static void empty(const char *name, pid_t pid)
{
    int map = find_map(name), r;
    uint64_t key, next;

    for (r = bpf_map_get_next_key(map, NULL, &next); r == 0;) {
        key = next;
        r = bpf_map_get_next_key(map, &key, &next);
        if (OFF_EARLY_TGID(key) != (uint64_t)pid)
            bpf_map_delete_elem(map, &key);
    }
}

static uint32_t start_waits(void)
{
    struct sampler_event event;
    uint32_t set;

    ck_assert_int_eq(sampler_describe(EVENT_OFFCPU, SPAN_NULL, -1, &event, &err), 0);
    ck_assert_msg(sampler_start_event(sampler, &event, INTERVAL_NS, &set, &err) == 0, "%s",
                  err.msg);
    return set;
}

static void want(pid_t pid, uint32_t sets)
{
    ck_assert_int_eq(sampler_filter_process(sampler, pid, sets), 0);
}

/* A child that naps, until it is told to run, and then to wait for ever. */
static pid_t start_child(int *ret_tell)
{
    bool naps = true;
    int told[2];
    pid_t pid;

    ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        char byte = 'n';

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fcntl(told[0], F_SETFL, O_NONBLOCK);
        while (read(told[0], &byte, 1) != 1 || byte == 'r') {
            naps = naps && byte != 'r';
            if (naps)
                usleep(NAP_US);
        }
        for (;;)
            pause();
    }
    close(told[0]);
    *ret_tell = told[1];
    return pid;
}

/* Tells a child to run ('r') or to wait ('w'). */
static void tell_child(int tell, char what)
{
    ck_assert_int_eq(write(tell, &what, 1), 1);
    usleep(3 * NAP_US);
}

static void end_child(pid_t pid, int tell)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(tell);
}

/* Receives the samples of @pid for at least @seconds, until there are @count. Returns for how long
 * it did so. */
static uint64_t receive(pid_t pid, double seconds, unsigned count)
{
    uint64_t began_ns, now_ns;

    drain(); /* takes long after a pause */
    memset(&got, 0, sizeof(got));
    got.pid = (uint32_t)pid;
    began_ns = now_ns = clock_monotonic_ns();
    while (now_ns - began_ns < (uint64_t)(seconds * 1e9) || got.samples < count) {
        ck_assert_uint_lt(now_ns - began_ns, 60 * NSEC_PER_SEC);
        usleep(10000);
        drain();
        now_ns = clock_monotonic_ns();
    }
    return now_ns - began_ns;
}

static uint64_t lost(void)
{
    struct sample_stats stats;

    sampler_stats(sampler, &stats);
    return stats.lost_other;
}

/* Returns for how long @pid has run. */
static uint64_t ran_ns(pid_t pid)
{
    _cleanup_close_ int fd = -1;
    char text[128] = "";

    snprintf(text, sizeof(text), "/proc/%d/schedstat", pid);
    fd = open(text, O_RDONLY | O_CLOEXEC);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    return strtoull(text, NULL, 10);
}

/* Asserts that set @set samples the naps of @pid as they are, with stacks. */
static void naps_are_whole(pid_t pid, uint32_t set)
{
    uint64_t lost_before, ran, ns;

    drain();
    lost_before = lost();
    ran = ran_ns(pid);
    ns = receive(pid, 0.5, NAPS);
    printf("%.0f ms of waits in %.0f ms, %llu samples, the thread ran for %.0f ms\n",
           (double)got.value[set] / 1e6, (double)ns / 1e6, (unsigned long long)got.weight[set],
           (double)(ran_ns(pid) - ran) / 1e6);
    ns -= ran_ns(pid) - ran;
    ck_assert_uint_eq(lost(), lost_before);
    ck_assert_uint_gt(got.value[set], ns / 2);
    ck_assert_uint_lt(got.value[set], ns + ns / 5);
    /* None has a stack if there is no room. On a busy machine the budget of stacks may be spent. */
    ck_assert_uint_le(got.ends[UNWIND_END_NOT_TAKEN] * 2, got.weight[set]);
}

/* Threads that ended without a capture take no room from the next one; also while another capture
 * keeps the program attached. */
START_TEST(the_dead_take_no_room)
{
    int tell, other_tell;
    pid_t pid = start_child(&tell), other = start_child(&other_tell);
    uint32_t set, stays = UINT32_MAX;

    if (_i) {
        stays = start_waits();
        want(other, 1U << stays);
        naps_are_whole(other, stays);
    }
    fill("early_waits");
    fill("kepts");
    set = start_waits();
    want(pid, 1U << set);
    naps_are_whole(pid, set);
    if (_i)
        naps_are_whole(other, stays);
    end_child(pid, tell);
    end_child(other, other_tell);
}
END_TEST

/* A thread without room for its state is lost. None of its waits counts from the set's begin. */
START_TEST(without_room_no_wait_counts)
{
    uint32_t set = start_waits(), no;
    uint64_t lost_before, late, began_ns;
    int tell;
    pid_t pid = start_child(&tell);

    fill("early_waits");
    lost_before = lost();
    want(pid, 1U << set);
    receive(pid, 0.5, 0);
    ck_assert_uint_eq(got.value[set], 0);
    ck_assert_uint_gt(lost(), lost_before + 10);
    lost_before = lost();
    tell_child(tell, 'w');
    ck_assert_int_eq(sampler_off_flush(off, set, &no, &late), 0);
    drain();
    ck_assert_uint_eq(got.value[set], 0);
    ck_assert_uint_gt(lost(), lost_before);
    end_child(pid, tell);

    pid = start_child(&tell);
    want(pid, 1U << set);
    receive(pid, 0.5, 0);
    ck_assert_uint_eq(got.value[set], 0);
    began_ns = clock_monotonic_ns();
    empty("early_waits", pid); /* now there is room */
    usleep(500000);
    drain();
    ck_assert_uint_gt(got.value[set], NSEC_PER_SEC / 4);
    ck_assert_uint_lt(got.value[set], clock_monotonic_ns() - began_ns);
    end_child(pid, tell);
}
END_TEST

/* A state is void if its process was not wanted since, though the program remains attached: the
 * thread ran then, and waits now. A set then wants its process, or all. */
START_TEST(states_end_with_the_filter)
{
    const struct sched_param lowest = { .sched_priority = 1 };
    int tell, other_tell;
    pid_t pid = start_child(&tell), other = start_child(&other_tell);
    uint32_t stays = start_waits(), set, no;
    uint64_t ns, late;

    want(other, 1U << stays);
    set = start_waits();
    want(pid, 1U << set);
    naps_are_whole(pid, set);
    if (sched_setscheduler(pid, SCHED_FIFO, &lowest) < 0) /* it runs before others, if allowed */
        printf("no real-time priority here: %s\n", strerrordesc_np(errno));
    tell_child(tell, 'r');
    want(pid, 0);
    ck_assert_int_eq(sampler_stop(sampler, set), 0);
    tell_child(tell, 'w');
    set = start_waits();
    if (_i)
        ck_assert_int_eq(sampler_filter_all(sampler, 1U << set), 0);
    else
        want(pid, 1U << set);
    ns = receive(pid, 0.5, 0);
    ck_assert_uint_eq(got.value[set], 0);
    ck_assert_int_eq(sampler_off_flush(off, set, &no, &late), 0);
    drain();
    ck_assert_uint_gt(got.value[set], ns * 9 / 10);
    end_child(pid, tell);
    end_child(other, other_tell);
}
END_TEST

static TCase *add_case(Suite *s, const char *name, void (*load)(void))
{
    TCase *tc = tcase_create(name);

    tcase_add_unchecked_fixture(tc, load, teardown);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 100);
    suite_add_tcase(s, tc);
    return tc;
}

int main(void)
{
    Suite *s = suite_create("sampler_off");
    TCase *early = add_case(s, "early", load_early), *late = add_case(s, "late", load_late);

    if (geteuid() != 0) {
        fprintf(stderr, "needs root\n");
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    tcase_add_loop_test(early, the_dead_take_no_room, 0, 2);
    tcase_add_test(early, without_room_no_wait_counts);
    tcase_add_loop_test(early, states_end_with_the_filter, 0, 2);
    tcase_add_loop_test(late, states_end_with_the_filter, 0, 2);
    return suite_run(s);
}
