/* SPDX-License-Identifier: Apache-2.0 */
/* Connections with owners that only the broker knows: which requests wait for it, and for how
 * long. */
#include "serve_fixture.h"

#include "access/peers_impl.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <sys/stat.h>
#include <unistd.h>

#define ROUTE "/api/v1/jvms"
#define CONTAINER 7 /* a process in the fake /proc */
#define HOST 8
#define ALICES 9 /* a process of another user of the host */
#define ALICE 61001
#define MANY 24 /* connections */

/* The fake broker. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stands_still;
    int late;           /* this many looks take too long */
    int32_t holder;     /* the holder of all sockets */
    size_t looks, most; /* looks, and the most sockets in one */
} broker;
static char proc[64];

static int ask_holders(void *cookie, const uint64_t *keys, size_t n, uint64_t net_ns,
                       struct socket_holding *ret)
{
    int r = 0;

    (void)cookie;
    (void)net_ns;
    pthread_mutex_lock(&broker.lock);
    broker.looks++;
    broker.most = MAX(broker.most, n);
    pthread_cond_broadcast(&broker.changed);
    while (broker.stands_still)
        pthread_cond_wait(&broker.changed, &broker.lock);
    if (broker.late > 0) {
        broker.late--;
        r = -ETIMEDOUT;
    }
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_ne(keys[i], 0);
        ret[i] = (struct socket_holding){
            .told = true,
            .count = broker.holder ? 1 : 0,
            .holders = { { .pid = broker.holder,
                           .flags = broker.holder == CONTAINER
                                        ? HOLDER_OUR_PIDS
                                        : HOLDER_OUR_PIDS | HOLDER_OUR_USERS } },
        };
    }
    pthread_mutex_unlock(&broker.lock);
    return r;
}

static void stand_still(bool still)
{
    pthread_mutex_lock(&broker.lock);
    broker.stands_still = still;
    pthread_cond_broadcast(&broker.changed);
    pthread_mutex_unlock(&broker.lock);
}

static void await_look(size_t looks)
{
    pthread_mutex_lock(&broker.lock);
    while (broker.looks < looks)
        pthread_cond_wait(&broker.changed, &broker.lock);
    pthread_mutex_unlock(&broker.lock);
}

static const char *path_of(int pid, const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
    return path;
}

static void write_text(int pid, const char *name, const char *text)
{
    FILE *f = fopen(path_of(pid, name), "we");

    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void add_process(int pid)
{
    char status[8192] = "", *uids;
    FILE *f = fopen("/proc/self/status", "re");

    ck_assert(f && fread(status, 1, sizeof(status) - 1, f) > 0 && fclose(f) == 0);
    if (pid == ALICES) {
        static const char LINE[] = "Uid:\t61001\t61001\t61001\t61001\n"; /* ALICE */
        char *next;

        ck_assert_ptr_nonnull(uids = strstr(status, "Uid:"));
        next = strchr(uids, '\n') + 1;
        memmove(uids + strlen(LINE), next, strlen(next) + 1);
        memcpy(uids, LINE, strlen(LINE));
    }
    ck_assert_int_eq(mkdir(path_of(pid, ""), 0755), 0);
    write_text(pid, "status", status);
    write_text(pid, "cgroup", "0::/\n");
}

/* Links to /proc/self, for the real cgroups. */
static const char *link_path(void)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/self", proc);
    return path;
}

static void setup_with(void (*start_it)(void))
{
    pthread_mutex_init(&broker.lock, NULL);
    pthread_cond_init(&broker.changed, NULL);
    broker.stands_still = false;
    broker.late = 0;
    broker.holder = HOST;
    broker.looks = broker.most = 0;
    start_it();
    peers_ask_holders(peers, ask_holders, NULL);
    peers->enclosed = false;
    snprintf(proc, sizeof(proc), "%.*s", (int)(strrchr(socket_path, '/') - socket_path),
             socket_path);
    add_process(CONTAINER);
    add_process(HOST);
    add_process(ALICES);
    ck_assert_int_eq(symlink("8", link_path()), 0);
}

static void setup(void)
{
    setup_with(start);
}

static void start_with_models(void)
{
    struct serve_opts o = USUAL;

    o.mcp = true;
    start_full_with(&o);
}

static void setup_full(void)
{
    setup_with(start_with_models);
}

static void teardown(void)
{
    static const char *const FILES[] = { "status", "cgroup" };

    stand_still(false);
    for (int pid = CONTAINER; pid <= ALICES; pid++) {
        for (size_t i = 0; i < ARRAY_SIZE(FILES); i++)
            unlink(path_of(pid, FILES[i]));
        rmdir(path_of(pid, ""));
    }
    unlink(link_path());
    stop();
}

static unsigned status_of(const char *target)
{
    _cleanup_reply_ struct reply r;

    ask("GET", target, NULL, &r);
    return r.status;
}

static void begin(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", ROUTE, NULL);
}

/* Checks that all of them get @status. */
static void end(int *fds, size_t n, unsigned status)
{
    for (size_t i = 0; i < n; i++) {
        _cleanup_reply_ struct reply r;

        client_read(fds[i], /* head_only= */ false, &r);
        ck_assert_uint_eq(r.status, status);
        if (status == 503) {
            assert_problem(&r, 503, NULL, "does not know the caller yet");
            ck_assert_str_eq(header(&r, "Retry-After"), "1");
        }
        close_fd(fds[i]);
    }
}

START_TEST(who_holds_the_socket_counts)
{
    ck_assert_uint_eq(status_of(ROUTE), 200);
    broker.holder = CONTAINER;
    ck_assert_uint_eq(status_of(ROUTE), 403);
    broker.holder = 0; /* no holder */
    ck_assert_uint_eq(status_of(ROUTE), 403);
    ck_assert_uint_eq(broker.looks, 6); /* two per connection */
    broker.holder = 10;                 /* the holder is gone each time */
    ck_assert_uint_eq(status_of(ROUTE), 503);
}
END_TEST

START_TEST(what_cannot_be_told_at_once_is_asked_again)
{
    struct serve_stats stats;

    broker.late = 2;
    ck_assert_uint_eq(status_of(ROUTE), 200);
    ck_assert_uint_eq(broker.looks, 4);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.looks, 3);
    ck_assert_uint_eq(stats.looks_late, 2);
    ck_assert_uint_eq(stats.callers_untold, 0);
}
END_TEST

/* The broker is stalled. Waiting requests get an answer, later ones at once, and everything else
 * continues. */
START_TEST(a_broker_that_stands_still_holds_up_nobody_else)
{
    uint64_t begun_ns;
    struct serve_stats stats;
    int fds[8];

    stand_still(true);
    begun_ns = clock_monotonic_ns();
    begin(fds, ARRAY_SIZE(fds));
    await_look(1);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_eq(status_of("/healthz"), 200);
    ck_assert_msg(clock_monotonic_ns() - begun_ns < 2 * NSEC_PER_SEC, "health waits for nobody");
    end(fds, ARRAY_SIZE(fds), 503);
    ck_assert_msg(clock_monotonic_ns() - begun_ns < 10 * NSEC_PER_SEC, "5 s at most");
    begun_ns = clock_monotonic_ns();
    begin(fds, ARRAY_SIZE(fds));
    end(fds, ARRAY_SIZE(fds), 503);
    ck_assert_msg(clock_monotonic_ns() - begun_ns < 2 * NSEC_PER_SEC, "the next do not wait");
    ck_assert_uint_eq(broker.looks, 1);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.callers_untold, 2 * ARRAY_SIZE(fds));
    stand_still(false);
    for (int i = 0; i < 100 && status_of(ROUTE) != 200; i++)
        usleep(10000);
    ck_assert_uint_eq(status_of(ROUTE), 200);
}
END_TEST

/* A client may leave during the wait, and the service may end. */
START_TEST(those_who_leave_are_let_go)
{
    size_t looks;
    int fds[8];

    stand_still(true);
    begin(fds, ARRAY_SIZE(fds));
    await_look(1);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    usleep(500000);
    stand_still(false);
    ck_assert_uint_eq(status_of(ROUTE), 200);
    looks = broker.looks;
    stand_still(true);
    begin(fds, ARRAY_SIZE(fds));
    await_look(looks + 1);
    usleep(100000);
    stand_still(false);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

START_TEST(one_look_is_for_many)
{
    int first[1], fds[MANY];

    stand_still(true);
    begin(first, 1);
    await_look(1);
    begin(fds, MANY);
    usleep(300000);
    stand_still(false);
    end(first, 1, 200);
    end(fds, MANY, 200);
    ck_assert_uint_ge(broker.most, 12);
    ck_assert_uint_le(broker.looks, 8);
}
END_TEST

/* A request that waits for its body has been judged as root's. Before it acts, its socket becomes
 * another user's, and a process of that user holds it. The user belongs to the host, but is not the
 * judged caller. */
static const struct act {
    const char *path, *body;
    size_t looks;           /* looks until its client is judged */
    const unsigned *begun;  /* counts the acts */
    const char *good, *bad; /* parts of the answer */
} ACTS[] = {
    { "/api/v1/captures", "{\"pid\":1000}", 2, &fake.created, "HTTP/1.1 201", "HTTP/1.1 403" },
    { "/mcp",
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"capture\","
      "\"arguments\":{\"pid\":1000,\"seconds\":0.1}}}",
      1, &fake.started, "\"isError\":false", "\"isError\":true" },
};

START_TEST(an_act_is_begun_for_the_user_that_was_judged)
{
    static const struct {
        int32_t holder;
        uid_t uid;
        bool begins;
    } ENDS[] = {
        { HOST, 0, true }, { ALICES, ALICE, false }, { CONTAINER, 0, false }, { 0, 0, false }
    };
    const struct act *act = &ACTS[_i];

    for (size_t i = 0; i < ARRAY_SIZE(ENDS); i++) {
        _cleanup_close_ int fd = client_connect_tcp(port);
        _cleanup_buf_ struct buf head = BUF_NULL, got = BUF_NULL;
        size_t looks = broker.looks;

        buf_init(&head, 4096);
        buf_init(&got, 65536);
        buf_printf(&head,
                   "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n",
                   act->path, strlen(act->body));
        client_send(fd, head.p, head.n);
        await_look(looks + act->looks);
        usleep(400000); /* the result of that look has expired */
        pthread_mutex_lock(&broker.lock);
        broker.holder = ENDS[i].holder;
        pthread_mutex_unlock(&broker.lock);
        ck_assert_int_eq(fchown(fd, ENDS[i].uid, (gid_t)-1), 0);
        client_send(fd, act->body, strlen(act->body));
        ck_assert_msg(
            client_read_until(fd, &got, ENDS[i].begins ? act->good : act->bad, CLIENT_TIMEOUT_MS),
            "%s", got.p);
        ck_assert_uint_eq(fake_get(&fake, act->begun), 1);
        broker.holder = HOST;
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_whose");
    TCase *tc = tcase_create("whose"), *full = tcase_create("acts");

    if (geteuid() != 0)
        return 77;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, who_holds_the_socket_counts);
    tcase_add_test(tc, what_cannot_be_told_at_once_is_asked_again);
    tcase_add_test(tc, a_broker_that_stands_still_holds_up_nobody_else);
    tcase_add_test(tc, those_who_leave_are_let_go);
    tcase_add_test(tc, one_look_is_for_many);
    tcase_add_checked_fixture(full, setup_full, teardown);
    tcase_set_timeout(full, 60);
    tcase_add_loop_test(full, an_act_is_begun_for_the_user_that_was_judged, 0, ARRAY_SIZE(ACTS));
    suite_add_tcase(s, full);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
