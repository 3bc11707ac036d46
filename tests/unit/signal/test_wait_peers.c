/* SPDX-License-Identifier: Apache-2.0 */
/* signal: the server that a pool waits for, in words. */
#include "suite.h"

#include "profile/waits.h"
#include "signal/watched.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static const struct {
    uint16_t family, port;
    const char *address;
    size_t n;
    const char *text;
} PEERS[] = {
    { AF_INET, 5432, "\x0a\0\0\x07", 4, "10.0.0.7:5432 (postgresql)" },
    { AF_INET, 5433, "\x0a\0\0\x07", 4, "10.0.0.7:5433" },
    { AF_INET6, 6379, "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1", 16, "[2001:db8::1]:6379 (redis)" },
    { AF_INET6, 80, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x07", 16, "10.0.0.7:80 (http)" },
    { AF_UNIX, 0, "/run/db.sock", 13, "unix:/run/db.sock" },
    { AF_UNIX, 0, "\0db\0x", 5, "unix:@db" },
    { AF_UNIX, 0, "", 1, "" },
    { AF_UNIX, 0, "/a\x1b[31m\n", 9, "unix:/a\xef\xbf\xbd[31m\xef\xbf\xbd" },
    { 0, 0, "", 0, "" },
    { AF_PACKET, 3, "x", 1, "" },
};

START_TEST(writes_addresses)
{
    struct waiting_peer p = { .family = PEERS[_i].family, .port = PEERS[_i].port };
    char text[RULE_PEER_BYTES];

    memcpy(p.address, PEERS[_i].address, PEERS[_i].n);
    wait_peers_text(&p, text);
    ck_assert_str_eq(text, PEERS[_i].text);
}
END_TEST

START_TEST(cuts_long_paths)
{
    struct waiting_peer p = { .family = AF_UNIX };
    char text[RULE_PEER_BYTES];

    memset(p.address, 'a', sizeof(p.address));
    wait_peers_text(&p, text);
    ck_assert_uint_eq(strlen(text), RULE_PEER_BYTES - 1);
    ck_assert_str_eq(text + strlen(text) - 4, "a...");
}
END_TEST

static const struct {
    uint64_t call, first, second;
    int fd;
    uint64_t poll;
    bool writes;
} CALLS[] = {
    { SYS_read, 7, 0, 7, 0, false },           { SYS_recvfrom, 0, 0, 0, 0, false },
    { SYS_write, 7, 0, 7, 0, true },           { SYS_connect, 7, 0, 7, 0, true },
    { SYS_read, UINT64_MAX, 0, -1, 0, false }, { SYS_ppoll, 0x7f00, 1, -1, 0x7f00, false },
    { SYS_ppoll, 0x7f00, 2, -1, 0, false }, /* which of them, nobody says */
    { SYS_epoll_pwait, 7, 0, -1, 0, false },   { SYS_accept4, 7, 0, -1, 0, false },
    { SYS_futex, 7, 0, -1, 0, false },         { UINT64_MAX, 7, 1, -1, 0, false },
};

START_TEST(finds_the_descriptor_of_a_call)
{
    struct waiting_peer p = {
        .host_tid = 1, .call = CALLS[_i].call, .first = CALLS[_i].first, .second = CALLS[_i].second
    };
    uint64_t poll;
    bool writes;

    ck_assert_int_eq(wait_peers_descriptor(&p, &poll, &writes), CALLS[_i].fd);
    ck_assert_uint_eq(poll, CALLS[_i].poll);
    ck_assert_int_eq(writes, CALLS[_i].writes);
}
END_TEST

static const struct waiting_peer DB = { .family = AF_INET,
                                        .port = 5432,
                                        .address = { 10, 0, 0, 7 } },
                                 MAIL = { .family = AF_INET,
                                          .port = 25,
                                          .address = { 10, 0, 0, 8 } },
                                 NONE = { .family = 0 };

START_TEST(chooses_the_peer_of_most_threads)
{
    const struct waiting_peer peers[] = { NONE, MAIL, DB, DB };
    bool writes[4] = { false };
    struct rule_peer p = { .looked = 4 };

    wait_peers_choose(peers, writes, 4, &p);
    ck_assert_str_eq(p.text, "10.0.0.7:5432 (postgresql)");
    ck_assert_uint_eq(p.waiting, 2);
    ck_assert(!p.writes);
    p = (struct rule_peer){ .looked = 2 };
    writes[1] = true;
    wait_peers_choose(peers, writes, 2, &p);
    ck_assert_str_eq(p.text, "10.0.0.8:25 (smtp)");
    ck_assert(p.writes);
    p = (struct rule_peer){ .looked = 1 };
    wait_peers_choose(peers, writes, 1, &p);
    ck_assert_str_eq(p.text, "");
}
END_TEST

/* ---- a thread that polls ---- */

#define POLLFD_AT UINT64_C(0x7f0000001000)

/* What the thread polls at each reading of its memory, the last one from then on. */
static struct pollfd polled[2];
static size_t readings;
static int refused;      /* what the broker returns in place of an answer; 0: it answers */
static bool cannot_read; /* a reader waits for the JVM */
static unsigned asked;

/* Take the place of the functions without __wrap_. */
int __wrap_hotspot_vm_word(struct hotspot_vm *vm, uint64_t address, uint64_t *ret);
int __wrap_broker_wait_peers(struct broker *b, const struct proc_id *id,
                             const struct peers_wanted *threads, size_t n,
                             struct waiting_peer ret[PEERS_MAX], struct error *err);

bool __wrap_readers_wait_for(const struct proc_id *id);

bool __wrap_readers_wait_for(const struct proc_id *id)
{
    (void)id;
    return cannot_read;
}

int __wrap_hotspot_vm_word(struct hotspot_vm *vm, uint64_t address, uint64_t *ret)
{
    (void)vm;
    ck_assert_uint_eq(address, POLLFD_AT);
    memcpy(ret, &polled[MIN(readings, ARRAY_SIZE(polled) - 1)], sizeof(*ret));
    readings++;
    return 0;
}

/* Each look finds the thread in the same call, and 10.0.0.7 at descriptor 5. */
int __wrap_broker_wait_peers(struct broker *b, const struct proc_id *id,
                             const struct peers_wanted *threads, size_t n,
                             struct waiting_peer ret[PEERS_MAX], struct error *err)
{
    (void)b, (void)id;
    ck_assert_uint_eq(n, 1);
    asked++;
    if (refused)
        return error_set(err, refused, "no");
    ret[0] = threads[0].fd == 5 ? DB : NONE;
    ret[0].host_tid = threads[0].host_tid;
    ret[0].call = SYS_ppoll;
    ret[0].first = POLLFD_AT;
    ret[0].second = 1;
    return 0;
}

static const struct {
    struct pollfd before, after;
    bool believed;
} POLLS[] = {
    { { 5, POLLIN, 0 }, { 5, POLLIN, 0 }, true },
    { { 5, POLLIN, 0 }, { 7, POLLIN, 0 }, false },
    { { 5, POLLIN, 0 }, { 5, POLLOUT, 0 }, false },
};

START_TEST(believes_a_descriptor_that_stays)
{
    struct process p = { .jvm = JVM_READY, .vm = (void *)&p };
    struct watched w = { .p = &p };

    w.pool.host_tids[0] = 9;
    w.pool.wait = WAIT_NAMES[WAIT_NETWORK];
    polled[0] = POLLS[_i].before;
    polled[1] = POLLS[_i].after;
    readings = 0;
    ck_assert(!wait_peers_look(&w, NULL, NULL));
    ck_assert_uint_eq(w.peer.looked, 1);
    ck_assert_str_eq(w.peer.text, POLLS[_i].believed ? "10.0.0.7:5432 (postgresql)" : "");
}
END_TEST

static const struct {
    int refused;
    bool cannot_read, again;
    unsigned asked;
    const char *why;
} REFUSALS[] = {
    { -EOPNOTSUPP, false, false, 1, "no" },
    { -EINPROGRESS, false, true, 1, "no" },
    { -EAGAIN, false, true, 1, "no" },
    { PROC_GONE, false, false, 1, "no" },
    { 0, true, false, 0, "" }, /* the broker would wait for it, too */
};

START_TEST(says_why_no_peer_is_known)
{
    struct process p = { .jvm = JVM_READY, .vm = (void *)&p };
    struct watched w = { .p = &p };
    struct error err = ERROR_NULL;

    w.pool.host_tids[0] = 9;
    w.pool.wait = WAIT_NAMES[WAIT_NETWORK];
    refused = REFUSALS[_i].refused;
    cannot_read = REFUSALS[_i].cannot_read;
    asked = 0;
    ck_assert_int_eq(wait_peers_look(&w, NULL, &err), REFUSALS[_i].again);
    ck_assert_uint_eq(asked, REFUSALS[_i].asked);
    ck_assert_str_eq(err.msg, REFUSALS[_i].why);
    ck_assert_uint_eq(w.peer.looked, 0);
    refused = 0;
    cannot_read = false;
}
END_TEST

static const struct {
    size_t looked, waiting;
    bool writes;
    double pool, late;
    const char *text, *want;
} SENTENCES[] = {
    { 0, 0, false, 4, 0, "", "[network] in Rates.fetch; 100 %" },
    { 4, 4, false, 4, 0, "10.0.0.7:5432", "in Rates.fetch; they read from 10.0.0.7:5432; 100 %" },
    { 4, 4, true, 4, 0, "10.0.0.7:5432", "in Rates.fetch; they write to 10.0.0.7:5432; 100 %" },
    { 4, 3, false, 4, 0, "db:1", "; 3 of 4 that were looked at read from db:1; 100 %" },
    { 4, 4, false, 40, 0, "db:1", "; 4 of 4 that were looked at read from db:1; 100 %" },
    { 0, 0, false, 4, 2, "", "in Rates.fetch; 2 threads of web-* wait for results; 100 %" },
    { 3, 3, false, 3, 6, "db:1",
      "they read from db:1; 6 threads of web-* wait for results; 100 %" },
};

START_TEST(says_the_peer_of_a_pool)
{
    struct waits_pool pool = { .threads = SENTENCES[_i].pool,
                               .late = SENTENCES[_i].late,
                               .waiting = SENTENCES[_i].pool,
                               .name = "http-*",
                               .late_name = "web-*",
                               .code = "Rates.fetch",
                               .wait = "network" };
    struct rule_peer peer = { .looked = SENTENCES[_i].looked,
                              .waiting = SENTENCES[_i].waiting,
                              .writes = SENTENCES[_i].writes };
    struct waits_virtual none = { .waiting = 0 };
    struct numbers numbers = { .count = 0 };
    struct rule_view v = { .numbers = &numbers, .pool = &pool, .peer = &peer, .virtual = &none };
    struct rule_finding f = { .severity = 1 };
    struct number_reading r;

    snprintf(peer.text, sizeof(peer.text), "%s", SENTENCES[_i].text);
    reading_clear(&r);
    r.v[NUMBER_POOL_WAITING] = 1;
    r.v[NUMBER_POOL_HELD] = pool.threads + pool.late;
    r.v[NUMBER_BUSY_THREADS] = pool.threads + pool.late;
    for (uint64_t at = 1; at < 6; at++)
        ck_assert(numbers_add(&numbers, at * NUMBERS_STEP_NS, &r));
    rule_of(RULE_POOL_EXHAUSTED)->look(&v, &f);
    ck_assert_ptr_nonnull(strstr(f.sentence, SENTENCES[_i].want));
    ck_assert_int_eq(f.severity, 3); /* all that are busy */
    numbers_deinit(&numbers);
}
END_TEST

/* Of other threads than the pool's, the last look says nothing: severities are of 30 s. */
START_TEST(has_the_severity_of_its_mean)
{
    struct waits_pool pool = { .threads = 2, .waiting = 2, .late = 18, .name = "audit-*" };
    struct rule_peer peer = { .looked = 0 };
    struct waits_virtual none = { .waiting = 0 };
    struct numbers numbers = { .count = 0 };
    struct rule_view v = { .numbers = &numbers, .pool = &pool, .peer = &peer, .virtual = &none };
    struct rule_finding f = { .severity = 0 };
    struct number_reading r;

    reading_clear(&r);
    r.v[NUMBER_POOL_WAITING] = 1;
    r.v[NUMBER_POOL_HELD] = 2;
    r.v[NUMBER_BUSY_THREADS] = 44;
    for (uint64_t at = 1; at < 6; at++)
        ck_assert(numbers_add(&numbers, at * NUMBERS_STEP_NS, &r));
    rule_of(RULE_POOL_EXHAUSTED)->look(&v, &f);
    ck_assert_double_ge(f.strength, 1);
    ck_assert_int_eq(f.severity, 1);
    numbers_deinit(&numbers);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("wait_peers");
    Suite *suite = suite_create("wait_peers");

    tcase_add_loop_test(tc, writes_addresses, 0, ARRAY_SIZE(PEERS));
    tcase_add_test(tc, cuts_long_paths);
    tcase_add_loop_test(tc, finds_the_descriptor_of_a_call, 0, ARRAY_SIZE(CALLS));
    tcase_add_test(tc, chooses_the_peer_of_most_threads);
    tcase_add_loop_test(tc, believes_a_descriptor_that_stays, 0, ARRAY_SIZE(POLLS));
    tcase_add_loop_test(tc, says_why_no_peer_is_known, 0, ARRAY_SIZE(REFUSALS));
    tcase_add_loop_test(tc, says_the_peer_of_a_pool, 0, ARRAY_SIZE(SENTENCES));
    tcase_add_test(tc, has_the_severity_of_its_mean);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
