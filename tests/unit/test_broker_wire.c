/* SPDX-License-Identifier: Apache-2.0 */
/* broker: messages that no flamed would send, peers that are no broker, sampling and how it ends.
 */
#include "broker_fixture.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/un.h>

static struct broker_request request_of(uint32_t kind)
{
    return (struct broker_request){ .version = BROKER_WIRE_VERSION, .kind = kind, .seq = 7 };
}

/* Sends @n bytes and takes one answer; its fds are closed and counted. */
static struct broker_answer ask(const void *p, size_t n, size_t *ret_fds)
{
    struct pollfd pfd = { .fd = fx.fd, .events = POLLIN };
    int fds[BROKER_FDS_MAX];
    struct broker_answer a;
    size_t count = 0;

    ck_assert_int_eq(wire_send(fx.fd, p, n, NULL, 0), 0);
    ck_assert_int_eq(poll(&pfd, 1, 5000), 1);
    ck_assert_int_eq(wire_receive(fx.fd, &a, sizeof(a), fds, BROKER_FDS_MAX, &count), sizeof(a));
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    if (ret_fds)
        *ret_fds = count;
    return a;
}

/* ---- the pure check, and the broker's answer to the same ---- */

enum field { NO_FIELD, VERSION, PID, TICKS, START, PERIOD, SET, SETS, NAME_N, ZERO, NAME };

static const struct {
    uint32_t kind;
    enum field field;
    uint64_t value;
    int r;
} CHECKS[] = {
    { 0, NO_FIELD, 0, -EOPNOTSUPP },
    { BROKER_KIND_END, NO_FIELD, 0, -EOPNOTSUPP },
    { UINT32_MAX, NO_FIELD, 0, -EOPNOTSUPP },
    { BROKER_KALLSYMS, VERSION, 0, -EBADMSG },
    { BROKER_KALLSYMS, VERSION, 2, -EBADMSG },
    { BROKER_KALLSYMS, PID, 1, -EINVAL },
    { BROKER_KALLSYMS, TICKS, 1, -EINVAL },
    { BROKER_KALLSYMS, START, 4096, -EINVAL },
    { BROKER_KALLSYMS, PERIOD, 1, -EINVAL },
    { BROKER_KALLSYMS, SET, 1, -EINVAL },
    { BROKER_KALLSYMS, SETS, 1, -EINVAL },
    { BROKER_KALLSYMS, NAME_N, 1, -EINVAL },
    { BROKER_KALLSYMS, NAME, 'x', -EINVAL },
    { BROKER_KALLSYMS, ZERO, 1, -EINVAL },
    { BROKER_MEM, PID, 0, -EINVAL },
    { BROKER_MEM, PID, UINT32_MAX, -EINVAL }, /* -1 */
    { BROKER_MEM, PID, BROKER_PID_MAX + 1, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, 0, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, 99999, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, UINT64_MAX, -EINVAL },
    { BROKER_SAMPLE_STOP, SET, 4, -EINVAL },
    { BROKER_SAMPLE_STOP, SET, UINT32_MAX, -EINVAL },
    { BROKER_FILTER_ALL, SETS, 16, -EINVAL },
    { BROKER_FILTER_PROCESS, SETS, UINT32_MAX, -EINVAL },
    { BROKER_FILTER_PROCESS, TICKS, 5, -EINVAL },
    { BROKER_DEBUG, NAME_N, 21, -EINVAL },
    { BROKER_DEBUG, NAME_N, UINT32_MAX, -EINVAL },
    { BROKER_CONTAINER_CONFIG, NAME_N, 64, -EINVAL }, /* of zero bytes */
    { BROKER_MAPPED, START, 4096, -EINVAL },          /* end 0 */
    { BROKER_MAPPED, START, UINT64_MAX, -EINVAL },
    { BROKER_UNWIND_LIMIT, SET, BROKER_FRAMES_MIN - 1, -EINVAL },
    { BROKER_UNWIND_LIMIT, SET, BROKER_FRAMES_MAX + 1, -EINVAL },
    { BROKER_PUT_THREAD, SET, 1, -EINVAL },      /* address 0 */
    { BROKER_PUT_THREAD, START, 4096, -EINVAL }, /* thread 0 */
};

static void set_field(struct broker_request *q, enum field field, uint64_t v)
{
    switch (field) {
    case NO_FIELD:
        break;
    case VERSION:
        q->version = (uint32_t)v;
        break;
    case PID:
        q->host_pid = (int32_t)v;
        break;
    case TICKS:
        q->start_ticks = v;
        break;
    case START:
        q->start = v;
        break;
    case PERIOD:
        q->period_ns = v;
        break;
    case SET:
        q->set = (uint32_t)v;
        break;
    case SETS:
        q->sets = (uint32_t)v;
        break;
    case NAME_N:
        q->name_n = (uint32_t)v;
        break;
    case ZERO:
        q->zero = (uint32_t)v;
        break;
    case NAME:
        q->name[9] = (uint8_t)v;
        break;
    }
}

START_TEST(checks_one_request)
{
    struct broker_request q = request_of(CHECKS[_i].kind), out;
    const struct broker_request_info *info = broker_request_info(q.kind);
    struct error err = ERROR_NULL;
    struct broker_answer a;

    if (info && (info->fields & (BROKER_FIELD_TARGET | BROKER_FIELD_PID)))
        q.host_pid = 1;
    set_field(&q, CHECKS[_i].field, CHECKS[_i].value);
    ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, &err), CHECKS[_i].r);
    ck_assert(err.msg[0]);
    if (fx.fd < 0)
        return;
    a = ask(&q, sizeof(q), NULL);
    ck_assert_int_eq(a.result, CHECKS[_i].r);
    ck_assert_uint_eq(a.seq, 7);
    ck_assert(a.failure.msg[0]);
}
END_TEST

START_TEST(wrong_sizes_get_an_error)
{
    uint8_t bytes[4096] = { 0 };
    struct broker_request q = request_of(BROKER_KALLSYMS);

    memcpy(bytes, &q, sizeof(q));
    for (size_t n = 1; n < sizeof(bytes); n += n < 400 ? 1 : 97) {
        struct broker_answer a;
        size_t fds;

        a = ask(bytes, n, &fds);
        ck_assert_int_eq(a.result, n == sizeof(q) ? 0 : -EBADMSG);
        ck_assert_uint_eq(fds, n == sizeof(q) ? 1 : 0);
    }
}
END_TEST

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Takes every message of one answer. */
static int drain_answer(void)
{
    struct broker_answer a;

    do {
        struct pollfd pfd = { .fd = fx.fd, .events = POLLIN };
        int fds[BROKER_FDS_MAX];
        size_t count = 0;

        ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
        ck_assert_int_eq(wire_receive(fx.fd, &a, sizeof(a), fds, BROKER_FDS_MAX, &count),
                         sizeof(a));
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
    } while (a.more);
    return a.result;
}

START_TEST(ten_thousand_random_messages_do_no_harm)
{
    int fds_before, fds_after, refused = 0;
    struct broker_request facts = request_of(BROKER_FACTS), tables = request_of(BROKER_TABLES);

    /* What it keeps for its client from the first time on: the programs, the shared tables. */
    ck_assert_int_eq(ask(&tables, sizeof(tables), NULL).result, 0);
    ck_assert_int_eq(ask(&facts, sizeof(facts), NULL).result, 0);
    fds_before = count_fds(fx.broker);
    for (int i = 0; i < 10000; i++) {
        uint64_t noise[64];
        struct broker_request q;
        size_t n = sizeof(q);

        for (size_t k = 0; k < ARRAY_SIZE(noise); k++)
            noise[k] = next_random();
        memcpy(&q, noise, sizeof(q));
        if (i % 4) { /* one that gets further: the right version, a kind of the list */
            q.version = BROKER_WIRE_VERSION;
            q.kind = (uint32_t)(next_random() % BROKER_KIND_END);
            q.zero = 0;
        }
        if (i % 4 >= 2) { /* and further: only what the kind takes, mostly in range */
            struct broker_request r = { .version = q.version, .kind = q.kind, .seq = q.seq };
            const struct broker_request_info *info = broker_request_info(q.kind);
            unsigned fields = info ? info->fields : 0;

            if (fields & (BROKER_FIELD_TARGET | BROKER_FIELD_PID))
                r.host_pid = (int32_t)(next_random() % 40000);
            if (fields & BROKER_FIELD_TARGET)
                r.start_ticks = next_random() % 100;
            if (fields & BROKER_FIELD_RANGE) {
                r.start = next_random() & 0xffffffff000u;
                r.end = r.start + 4096 * (next_random() % 5);
            }
            if (fields & BROKER_FIELD_SET)
                r.set = (uint32_t)(next_random() % 5);
            if (fields & BROKER_FIELD_SETS)
                r.sets = (uint32_t)(next_random() % 17);
            if (fields & BROKER_FIELD_PERIOD)
                r.period_ns = next_random() % 2000000000;
            if (fields & (BROKER_FIELD_BASENAME | BROKER_FIELD_BUILD_ID | BROKER_FIELD_CONTAINER)) {
                r.name_n = (uint32_t)(next_random() % 66);
                memcpy(r.name, noise, r.name_n);
            }
            q = r;
        }
        if (i % 16 == 0)
            n = 1 + next_random() % sizeof(noise);
        ck_assert_int_eq(wire_send(fx.fd, n == sizeof(q) ? (void *)&q : (void *)noise, n, NULL, 0),
                         0);
        if (drain_answer() < 0)
            refused++;
    }
    ck_assert_int_gt(refused, 5000);
    /* Sets that were started hold events; nothing else may have stayed. */
    for (uint32_t set = 0; set < BROKER_SETS_MAX; set++) {
        struct broker_request stop = request_of(BROKER_SAMPLE_STOP);

        stop.set = set;
        ask(&stop, sizeof(stop), NULL);
    }
    fds_after = count_fds(fx.broker);
    ck_assert_int_eq(fds_before, fds_after);
    ck_assert_int_eq(ask(&facts, sizeof(facts), NULL).result, 0);
}
END_TEST

START_TEST(fds_sent_to_the_broker_go_nowhere)
{
    struct broker_request q = request_of(BROKER_KALLSYMS), none = request_of(0);
    int before, fds[8];

    ask(&none, sizeof(none), NULL); /* it is up, and has closed what it answered with before */
    before = count_fds(fx.broker);
    for (int i = 0; i < 8; i++)
        fds[i] = fx.proc_fd;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(wire_send(fx.fd, &q, sizeof(q), fds, 8), 0);
        ck_assert_int_eq(drain_answer(), 0);
    }
    ask(&none, sizeof(none), NULL);
    ck_assert_int_eq(count_fds(fx.broker), before);
}
END_TEST

/* ---- the client against peers that are no broker ---- */

enum lie {
    NO_LIE,
    SEQ,
    KIND,
    VERSION_OF,
    SHORT,
    TOO_MANY_FDS,
    NO_FD,
    FD_COUNT,
    MORE,
    UNTERMINATED,
    OUTCOME,
    CLOSE,
    LIES
};

struct liar {
    int fd;
    enum lie lie;
};

static void *lie_once(void *p)
{
    const struct liar *l = p;
    struct broker_answer a = { .version = BROKER_WIRE_VERSION, .fd_count = 1 };
    int fds[2] = { fx.proc_fd, fx.proc_fd };
    size_t n = sizeof(a), fd_count = 1, got;
    struct broker_request q;

    if (wire_receive(l->fd, &q, sizeof(q), NULL, 0, &got) != sizeof(q))
        return NULL;
    a.kind = q.kind;
    a.seq = q.seq;
    switch (l->lie) {
    case SEQ:
        a.seq++;
        break;
    case KIND:
        a.kind++;
        break;
    case VERSION_OF:
        a.version++;
        break;
    case SHORT:
        n--;
        break;
    case TOO_MANY_FDS:
        a.fd_count = 2;
        fd_count = 2;
        break;
    case NO_FD:
        a.fd_count = 0;
        fd_count = 0;
        break;
    case FD_COUNT:
        a.fd_count = 0;
        break;
    case MORE:
        a.more = 1;
        break;
    case UNTERMINATED:
        a.result = -EPERM;
        a.fd_count = 0;
        fd_count = 0;
        memset(a.failure.msg, 'x', sizeof(a.failure.msg));
        break;
    case OUTCOME:
        a.result = 77;
        a.fd_count = 0;
        fd_count = 0;
        break;
    default:
        break;
    }
    if (l->lie != CLOSE)
        wire_send(l->fd, &a, n, fds, fd_count);
    else
        shutdown(l->fd, SHUT_RDWR);
    return NULL;
}

START_TEST(the_client_believes_no_lie)
{
    struct error err = ERROR_NULL;
    int pair[2], fd = -1, before = count_fds(getpid()), r;
    struct broker *b = NULL;
    struct liar liar;
    pthread_t t;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(broker_new(pair[0], &b), 0);
    liar = (struct liar){ pair[1], (enum lie)_i };
    pthread_create(&t, NULL, lie_once, &liar);
    r = broker_kallsyms(b, &fd, &err);
    pthread_join(t, NULL);
    if (_i == NO_LIE) {
        ck_assert_int_eq(r, 0);
        ck_assert(!broker_lost(b));
        close(fd);
    } else {
        struct pollfd p = { .fd = broker_fd(b), .events = POLLIN };

        ck_assert_int_eq(r, -ENOTCONN);
        ck_assert_int_eq(fd, -1);
        ck_assert(broker_lost(b));
        ck_assert_int_eq(poll(&p, 1, 0), 1); /* who watches the fd sees it */
        ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
    }
    broker_free(b);
    close(pair[1]);
    ck_assert_int_eq(count_fds(getpid()), before);
}
END_TEST

START_TEST(a_silent_peer_is_lost_after_10_s)
{
    struct error err = ERROR_NULL;
    uint64_t began = clock_monotonic_ns(), took;
    int pair[2], fd = -1;
    struct broker *b = NULL;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(broker_new(pair[0], &b), 0);
    ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
    took = clock_monotonic_ns() - began;
    ck_assert_uint_ge(took, 9900 * NSEC_PER_MSEC);
    ck_assert_uint_le(took, 12 * NSEC_PER_SEC);
    broker_free(b);
    close(pair[1]);
}
END_TEST

START_TEST(a_dead_broker_is_lost_at_once)
{
    struct error err = ERROR_NULL;
    struct broker *b = NULL;
    int fd = -1, sock, status;
    pid_t pid = start_broker(&sock);

    ck_assert_int_eq(broker_new(sock, &b), 0);
    ck_assert_int_eq(broker_kallsyms(b, &fd, &err), 0);
    close(fd);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
    ck_assert(broker_lost(b));
    broker_free(b);
}
END_TEST

/* ---- sampling ---- */

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

static void burn(void *cookie)
{
    uint64_t until = clock_monotonic_ns() + 300 * NSEC_PER_MSEC;

    (void)cookie;
    while (clock_monotonic_ns() < until)
        ;
}

START_TEST(samples_are_taken_and_sets_are_bounded)
{
    struct broker_sample_stats st = { 0 };
    struct error err = ERROR_NULL;
    struct broker_facts f;
    uint32_t sets[BROKER_SETS_MAX], one;
    size_t bytes = 0;
    int fd = -1;
    void *p;

    fixture_client();
    ck_assert_int_eq(broker_facts(fx.b, &f, &err), 0);
    if (!f.bpf_loaded)
        return; /* the machine has no BPF: f.bpf_problem says why */
    ck_assert_int_eq(broker_ring(fx.b, &fd, &bytes, &err), 0);
    p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    munmap(p, 4096);
    close(fd);
    for (int i = 0; i < BROKER_SETS_MAX; i++)
        ck_assert_msg(broker_sample_start(fx.b, 5000000 + (uint64_t)i, &sets[i], &err) == 0, "%s",
                      err.msg);
    ck_assert_int_eq(broker_sample_start(fx.b, 6000000, &one, &err), -EBUSY);
    ck_assert_int_eq(broker_filter_all(fx.b, 1u << sets[0], &err), 0);
    burn(NULL);
    ck_assert_int_eq(broker_sample_stats(fx.b, &st, &err), 0);
    ck_assert_uint_gt(st.samples, 10);
    ck_assert_int_eq(broker_filter_process(fx.b, getpid(), 1, &err), 0);
    ck_assert_int_eq(broker_filter_process(fx.b, getpid(), 0, &err), 0);
    for (int i = 0; i < BROKER_SETS_MAX; i++)
        ck_assert_int_eq(broker_sample_stop(fx.b, sets[i], &err), 0);
    ck_assert_int_lt(broker_sample_stop(fx.b, sets[0], &err), 0);
    ck_assert_int_eq(broker_sample_start(fx.b, 7000000, &one, &err), 0);
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
    struct buf text = BUF_NULL;
    size_t count = 0;
    uint32_t set;
    int sock, maps = -1, fd = -1, status;
    pid_t pid = start_broker_without(WITHOUT, &sock), child = start_child(NULL, NULL);

    ck_assert_int_eq(broker_new(sock, &b), 0);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    ck_assert_uint_eq(f.capabilities & WITHOUT, 0);
    ck_assert_uint_ne(f.capabilities & CAP(CAP_SYS_PTRACE), 0);
    ck_assert(!f.bpf_loaded && !f.sideband);
    ck_assert_msg(strstr(f.sideband_problem, "CAP_PERFMON"), "%s", f.sideband_problem);
    ck_assert_msg(strstr(f.bpf_problem, "CAP_"), "%s", f.bpf_problem);
    ck_assert_int_lt(broker_sideband(b, fds, &count, &err), 0);
    ck_assert(err.msg[0] && err.remedy[0]);
    err = ERROR_NULL;
    ck_assert_int_lt(broker_sample_start(b, 10000000, &set, &err), 0);
    ck_assert(err.msg[0]);
    /* map_files is closed: by name, and the inode decides. */
    id = id_of(child);
    buf_init(&text, MAPS_MAX_BYTES);
    ck_assert_int_eq(broker_maps(b, &id, &maps, &err), 0);
    ck_assert_int_eq(buf_read_fd(&text, maps), 0);
    ck_assert_int_eq(maps_parse(&text, &m), 0);
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

/* ---- the service ---- */

static char socket_path[128];

static pid_t start_service(void)
{
    pid_t pid;

    snprintf(socket_path, sizeof(socket_path), "%s/broker.sock", fx.dir);
    pid = fork();
    if (pid == 0) {
        char option[160];

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        snprintf(option, sizeof(option), "--socket=%s", socket_path);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execl(FLAMED_BROKER, "flamed-broker", option, "--log-level=error", NULL);
        _exit(127);
    }
    return pid;
}

static int connect_service(void)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    memcpy(sa.sun_path, socket_path, sizeof(sa.sun_path));
    for (int i = 0; i < 500; i++) {
        if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
            return fd;
        usleep(10000);
    }
    ck_abort_msg("the service does not listen");
    return -1;
}

static bool closed_by_peer(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char c;

    return poll(&p, 1, 2000) == 1 && recv(fd, &c, 1, 0) <= 0;
}

START_TEST(one_client_at_a_time_and_its_sampling_ends_with_it)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_service();
    struct broker *b = NULL;
    struct broker_facts f;
    int first = connect_service(), second, idle, status;
    struct stat st;
    uint32_t set;

    ck_assert_int_eq(stat(socket_path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    ck_assert_uint_eq(st.st_uid, 0);
    idle = count_fds(pid);
    ck_assert_int_eq(broker_new(first, &b), 0);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    if (f.bpf_loaded) {
        ck_assert_int_eq(broker_sample_start(b, 10000000, &set, &err), 0);
        ck_assert_int_gt(count_fds(pid), idle + 4);
    }
    second = connect_service();
    ck_assert(closed_by_peer(second));
    close(second);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    b = broker_free(b);
    for (int i = 0; i < 200 && count_fds(pid) > idle; i++)
        usleep(10000);
    ck_assert_int_le(count_fds(pid), idle);
    /* And the next one is served afresh. */
    ck_assert_int_eq(broker_new(connect_service(), &b), 0);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    if (f.bpf_loaded)
        ck_assert_int_eq(broker_sample_start(b, 10000000, &set, &err), 0);
    broker_free(b);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
}
END_TEST

START_TEST(another_user_is_turned_away)
{
    pid_t pid = start_service(), child;
    int status;

    close(connect_service());
    ck_assert_int_eq(chmod(socket_path, 0666), 0); /* past the file's mode: SO_PEERCRED decides */
    child = fork();
    if (child == 0) {
        int fd;

        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(2);
        fd = connect_service();
        _exit(closed_by_peer(fd) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
}
END_TEST

static void without_broker(void)
{
    fx = (struct fixture){ .fd = -1 };
    fx.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void without_broker_end(void)
{
    close(fx.proc_fd);
}

int main(void)
{
    Suite *s = suite_create("broker_wire");
    TCase *pure = tcase_create("pure"), *real = tcase_create("real");
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(pure, without_broker, without_broker_end);
    tcase_set_timeout(pure, 30);
    tcase_add_loop_test(pure, checks_one_request, 0, ARRAY_SIZE(CHECKS));
    tcase_add_loop_test(pure, the_client_believes_no_lie, 0, LIES);
    tcase_add_test(pure, a_silent_peer_is_lost_after_10_s);
    suite_add_tcase(s, pure);
    tcase_add_checked_fixture(real, fixture_start, fixture_stop);
    tcase_set_timeout(real, 100);
    tcase_add_loop_test(real, checks_one_request, 0, ARRAY_SIZE(CHECKS));
    tcase_add_test(real, wrong_sizes_get_an_error);
    tcase_add_test(real, ten_thousand_random_messages_do_no_harm);
    tcase_add_test(real, fds_sent_to_the_broker_go_nowhere);
    tcase_add_test(real, a_dead_broker_is_lost_at_once);
    tcase_add_test(real, sideband_shows_exits_on_the_monotonic_clock);
    tcase_add_test(real, samples_are_taken_and_sets_are_bounded);
    tcase_add_test(real, what_is_missing_is_said_and_the_rest_works);
    tcase_add_test(real, one_client_at_a_time_and_its_sampling_ends_with_it);
    tcase_add_test(real, another_user_is_turned_away);
    if (can_test_broker() == 0)
        suite_add_tcase(s, real);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
