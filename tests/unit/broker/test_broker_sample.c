/* SPDX-License-Identifier: Apache-2.0 */
/* broker: sampling and side-band events, also on machines that lack some of them. */
#include "broker_fixture.h"

#include "event/events.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

/* Looks for an exit record of @pid in the side-band ring @page. */
static bool find_exit(const uint8_t *page, size_t bytes, pid_t pid, uint64_t *ret_time)
{
    const struct perf_event_mmap_page *head = (const void *)page;
    const uint8_t *data = page + 4096;
    uint64_t at = 0, end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);

    while (at + 8 <= end && end <= bytes) {
        struct perf_event_header h;
        uint32_t got;

        memcpy(&h, data + at, sizeof(h));
        memcpy(&got, data + at + sizeof(h), sizeof(got));
        if (h.type == PERF_RECORD_EXIT && (pid_t)got == pid) {
            memcpy(ret_time, data + at + sizeof(h) + 16, sizeof(*ret_time));
            return true;
        }
        at += h.size;
    }
    return false;
}

START_TEST(sideband_shows_exits_on_the_monotonic_clock)
{
    static int fds[BROKER_CPUS_MAX];
    const size_t bytes = (size_t)64 << 10;
    uint64_t began = clock_monotonic_ns(), time_ns = 0;
    struct error err = ERROR_NULL;
    uint8_t *rings[BROKER_CPUS_MAX];
    size_t count = 0;
    bool found = false;
    pid_t pid;

    fixture_client();
    ck_assert_msg(broker_sideband(fx.b, fds, &count, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(count, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
    for (size_t i = 0; i < count; i++) {
        rings[i] = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
        ck_assert_ptr_ne(rings[i], MAP_FAILED);
    }
    pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        found = found || find_exit(rings[i], bytes, pid, &time_ns);
        munmap(rings[i], bytes + 4096);
        close(fds[i]);
    }
    ck_assert(found);
    ck_assert_uint_ge(time_ns, began);
    ck_assert_uint_le(time_ns, clock_monotonic_ns());
}
END_TEST

static uint64_t event_id(int fd)
{
    uint64_t id = 0;

    ck_assert_int_eq(ioctl(fd, PERF_EVENT_IOC_ID, &id), 0);
    return id;
}

/* The kernel may have ended an event, so that the next request gives another one. But it passes
 * each fork to all such events of its processor: with 20,000 of them a fork took 45 ms. */
START_TEST(sideband_is_few_events_of_a_processor)
{
    enum { ASKED = 40, EVENTS_MAX = 16 };
    static uint64_t ids[BROKER_CPUS_MAX][ASKED];
    static int fds[BROKER_CPUS_MAX];
    struct error err = ERROR_NULL;
    size_t count = 0, first = 0;

    fixture_client();
    for (size_t k = 0; k < ASKED; k++) {
        ck_assert_msg(broker_sideband(fx.b, fds, &count, &err) == 0, "%s", err.msg);
        ck_assert_uint_eq(count, first = first ?: count);
        for (size_t i = 0; i < count; i++) {
            ids[i][k] = event_id(fds[i]);
            for (size_t j = 0; j < i; j++)
                ck_assert_uint_ne(ids[i][k], ids[j][k]);
        }
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 1; k < ASKED; k++)
            ck_assert_msg((ids[i][k] != ids[i][k - 1]) == (k < EVENTS_MAX), "request %zu", k);
    }
}
END_TEST

/* Burns CPU time by the process's own clock: a busy machine gives less of it. */
static void burn(void)
{
    uint64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 300 * NSEC_PER_MSEC;

    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
        ;
}

START_TEST(samples_are_taken_and_sets_are_bounded)
{
    struct sample_stats st = { 0 };
    struct error err = ERROR_NULL;
    struct broker_facts f;
    uint32_t sets[BROKER_SETS_MAX], one;
    size_t bytes = 0;
    int fd = -1;
    void *p;

    fixture_client();
    facts_once_loaded(fx.b, &f);
    if (!f.bpf_loaded)
        return; /* the machine has no BPF: f.bpf_problem says why */
    ck_assert_int_eq(broker_ring(fx.b, &fd, &bytes, &err), 0);
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    munmap(p, 4096);
    close(fd);
    for (int i = 0; i < BROKER_SETS_MAX; i++)
        ck_assert_msg(broker_sample_start(fx.b, "cpu", 5000000 + (uint64_t)i, &sets[i], &err) == 0,
                      "%s", err.msg);
    ck_assert_int_eq(broker_sample_start(fx.b, "cpu", 6000000, &one, &err), -EBUSY);
    ck_assert_int_eq(broker_filter_all(fx.b, 1u << sets[0], &err), 0);
    burn();
    ck_assert_int_eq(broker_sample_stats(fx.b, &st, &err), 0);
    ck_assert_uint_gt(st.samples, 10);
    ck_assert_int_eq(broker_filter_process(fx.b, getpid(), 1, &err), 0);
    ck_assert_int_eq(broker_filter_process(fx.b, getpid(), 0, &err), 0);
    for (int i = 0; i < BROKER_SETS_MAX; i++)
        ck_assert_int_eq(broker_sample_stop(fx.b, sets[i], &err), 0);
    ck_assert_int_lt(broker_sample_stop(fx.b, sets[0], &err), 0);
    ck_assert_int_eq(broker_sample_start(fx.b, "cpu", 7000000, &one, &err), 0);
    ck_assert_int_eq(broker_sample_stop(fx.b, one, &err), 0);
}
END_TEST

/* ---- a machine that gives less ---- */

#define CAP(n) (UINT64_C(1) << (n))
#define WITHOUT (CAP(CAP_SYS_ADMIN) | CAP(CAP_PERFMON) | CAP(CAP_BPF) | CAP(CAP_SYSLOG))

START_TEST(what_is_missing_is_said_and_the_rest_works)
{
    static int fds[BROKER_CPUS_MAX];
    struct error err = ERROR_NULL;
    struct broker_facts f;
    struct broker *b = NULL;
    struct proc_id id;
    struct maps m = { 0 };
    size_t count = 0;
    uint32_t set;
    int sock, maps = -1, fd = -1, status;
    pid_t pid = start_broker_without(WITHOUT, &sock), child = start_child(NULL, NULL);

    ck_assert_int_eq(broker_new(sock, &b), 0);
    facts_once_loaded(b, &f);
    ck_assert_uint_eq(f.capabilities & WITHOUT, 0);
    ck_assert_uint_ne(f.capabilities & CAP(CAP_SYS_PTRACE), 0);
    ck_assert(!f.bpf_loaded && !f.sideband);
    ck_assert_msg(strstr(f.sideband_problem, "CAP_PERFMON"), "%s", f.sideband_problem);
    ck_assert_msg(strstr(f.bpf_problem, "CAP_"), "%s", f.bpf_problem);
    ck_assert_int_lt(broker_sideband(b, fds, &count, &err), 0);
    ck_assert(err.msg[0] && err.remedy[0]);
    err = ERROR_NULL;
    ck_assert_int_lt(broker_sample_start(b, "cpu", 10000000, &set, &err), 0);
    ck_assert(err.msg[0]);
    /* map_files is not readable: the file is opened by name and compared by inode. */
    id = id_of(child);
    ck_assert_int_eq(broker_maps(b, &id, &maps, &err), 0);
    read_maps(maps, &m);
    for (size_t i = 0; i < m.count && fd < 0; i++) {
        if (m.entries[i].exec && m.entries[i].inode && !m.entries[i].deleted)
            ck_assert_msg(broker_mapped(b, &id, m.entries[i].start, m.entries[i].end, &fd, &err) ==
                              0,
                          "%s", err.msg);
    }
    ck_assert_int_ge(fd, 0);
    maps_deinit(&m);
    close(fd);
    close(maps);
    end_child(child);
    broker_free(b);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(all_events_are_checked_at_once)
{
    struct error err = ERROR_NULL;
    _cleanup_buf_ struct buf text = BUF_NULL;
    size_t count, listed = 0;
    const struct event_info *events = events_table(&count);
    struct span rest, line;
    int fd = -1;

    fixture_client();
    ck_assert_int_eq(broker_sample_checks(fx.b, &fd, &err), 0);
    buf_init(&text, (size_t)1 << 20);
    ck_assert_int_eq(buf_read_fd(&text, fd), 0);
    close(fd);
    rest = buf_span(&text);
    while (span_take_line(&rest, &line)) {
        char name[EVENT_NAME_BYTES], said[1024], one[1024] = "";
        struct span word;

        ck_assert(span_take_until(&line, '\t', &word));
        span_copy(word, name, sizeof(name));
        if (listed < count)
            ck_assert_str_eq(name, events[listed].name);
        listed++;
        if (broker_sample_check(fx.b, name, &err) < 0)
            snprintf(one, sizeof(one), "%s%s%s", err.msg, err.remedy[0] ? "; " : "", err.remedy);
        ck_assert_str_eq(span_copy(line, said, sizeof(said)), one);
        err = ERROR_NULL;
    }
    ck_assert_uint_gt(listed, count); /* includes events of caches */
}
END_TEST

/* ---- a kernel that checks the programs slowly ---- */

START_TEST(what_else_is_asked_is_answered_while_programs_are_loaded)
{
    struct error err = ERROR_NULL;
    struct broker_facts f;
    struct broker *b = NULL;
    struct proc_id self = id_of(getpid());
    uint64_t began = clock_monotonic_ns(), before;
    size_t bytes = 0;
    uint32_t set;
    int sock, fd = -1, status;
    pid_t pid;

    setenv("FLAMED_SLOW_LOAD", "5", 1);
    pid = start_broker(&sock);
    unsetenv("FLAMED_SLOW_LOAD");
    ck_assert_int_eq(broker_new(sock, &b), 0);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0); /* waits for the programs */
    ck_assert(f.bpf_loading && !f.bpf_loaded);
    ck_assert_msg(strstr(f.bpf_problem, "still checking"), "%s", f.bpf_problem);
    before = clock_monotonic_ns();
    ck_assert_int_eq(broker_maps(b, &self, &fd, &err), 0);
    close(fd);
    ck_assert_int_eq(broker_ring(b, &fd, &bytes, &err), -EAGAIN);
    ck_assert_int_eq(broker_sample_start(b, "cpu", 10000000, &set, &err), -EAGAIN);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    ck_assert_uint_lt(clock_monotonic_ns() - before, NSEC_PER_SEC); /* it did not wait again */
    while (f.bpf_loading && clock_monotonic_ns() - began < 60 * NSEC_PER_SEC) {
        usleep(100000);
        ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    }
    ck_assert(!f.bpf_loading);
    if (f.bpf_loaded)
        ck_assert_int_eq(broker_sample_start(b, "cpu", 10000000, &set, &err), 0);
    broker_free(b);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- a kernel that puts programs in place slowly ---- */

#define HOOK_NS (3 * NSEC_PER_SEC)

/* Returns the state of set @set without waiting. */
static int begun(struct broker *b, uint32_t set)
{
    uint64_t before = clock_monotonic_ns();
    struct error err = ERROR_NULL;
    int r = broker_sample_begun(b, set, &err);

    ck_assert_uint_lt(clock_monotonic_ns() - before, HOOK_NS);
    ck_assert(r == 0 || err.msg[0]);
    return r;
}

static int start_loaded(struct broker *b, const char *event, uint32_t *ret_set)
{
    struct error err = ERROR_NULL;
    int r = broker_sample_start(b, event, 10 * NSEC_PER_MSEC, ret_set, &err);

    while (r == -EINPROGRESS) { /* until the programs are loaded */
        usleep(10000);
        r = broker_sample_start(b, event, 10 * NSEC_PER_MSEC, ret_set, &err);
    }
    return r;
}

START_TEST(others_are_answered_while_programs_are_put_in_place)
{
    struct error err = ERROR_NULL;
    struct broker *b = NULL;
    struct broker_facts f;
    uint64_t asked;
    uint32_t set, other, again;
    int sock, status;
    pid_t pid;

    setenv("FLAMED_SLOW_HOOKS", "3", 1);
    pid = start_broker(&sock);
    unsetenv("FLAMED_SLOW_HOOKS");
    ck_assert_int_eq(broker_new(sock, &b), 0);
    facts_once_loaded(b, &f);
    if (f.bpf_loaded) {
        ck_assert_int_eq(broker_sample_begun(b, 0, &err), -ENOENT);
        ck_assert_int_eq(start_loaded(b, "offcpu", &set), 0);
        asked = clock_monotonic_ns();
        ck_assert_int_eq(begun(b, set), -EINPROGRESS);
        /* An event that counts time begins at once, and stays. */
        ck_assert_int_eq(broker_sample_start(b, "cpu", 10 * NSEC_PER_MSEC, &other, &err), 0);
        ck_assert_int_eq(begun(b, other), 0);
        ck_assert_uint_lt(clock_monotonic_ns() - asked, HOOK_NS);
        while (begun(b, set) == -EINPROGRESS)
            usleep(50000);
        ck_assert_int_eq(begun(b, set), 0);
        ck_assert_uint_ge(clock_monotonic_ns() - asked, HOOK_NS - NSEC_PER_SEC / 2);
        /* The set ends and begins again, in that order. Ending it before it began has no effect. */
        asked = clock_monotonic_ns();
        ck_assert_int_eq(broker_sample_stop(b, set, &err), 0);
        ck_assert_int_eq(start_loaded(b, "offcpu", &set), 0);
        ck_assert_int_eq(broker_sample_stop(b, set, &err), 0);
        ck_assert_int_eq(broker_sample_begun(b, set, &err), -ENOENT);
        ck_assert_int_eq(start_loaded(b, "offcpu", &again), 0);
        ck_assert_uint_lt(clock_monotonic_ns() - asked, HOOK_NS);
        while (begun(b, again) == -EINPROGRESS)
            usleep(50000);
        ck_assert_int_eq(begun(b, again), 0);
        ck_assert_int_eq(broker_sample_stop(b, again, &err), 0);
    }
    broker_free(b); /* the client leaves while a set is being removed */
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_sample");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_start, fixture_stop);
    tcase_set_timeout(tc, 100);
    tcase_add_test(tc, sideband_is_few_events_of_a_processor);
    tcase_add_test(tc, sideband_shows_exits_on_the_monotonic_clock);
    tcase_add_test(tc, samples_are_taken_and_sets_are_bounded);
    tcase_add_test(tc, what_is_missing_is_said_and_the_rest_works);
    tcase_add_test(tc, all_events_are_checked_at_once);
    tcase_add_test(tc, what_else_is_asked_is_answered_while_programs_are_loaded);
    tcase_add_test(tc, others_are_answered_while_programs_are_put_in_place);
    return suite_run_case("broker_sample", tc);
}
