/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/backoff.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/wait.h>

#define HISTORY_MAX 256
#define BACK_OFF_FIRST_NS (10 * NSEC_PER_SEC)
#define BACK_OFF_MOST_NS (600 * NSEC_PER_SEC)
/* How long after the order to our agent to end a crash still counts as the agent's. The second: how
 * long after an attach an end counts that may or may not be a crash. */
#define CRASH_NS (60 * NSEC_PER_SEC)
#define CRASH_PERHAPS_NS (10 * NSEC_PER_SEC)
/* How often it is asked how one ended that the kernel still clears away, and how long. */
#define CLEARING_LOOK_NS NSEC_PER_SEC
#define CLEARING_NS (60 * NSEC_PER_SEC)

struct history {
    struct proc_id id;
    char like[320];
    uint64_t begun_ns; /* the last attach; 0: a free entry */
    uint64_t ended_ns; /* when our agent had the order to end; UINT64_MAX: not yet */
    uint64_t again_ns; /* no attach before */
    unsigned failures;
    struct attach_way way; /* with something mounted, that worked; else zero */
    uint64_t gone_ns;      /* it has ended; 0: not yet */
    bool judged;           /* how it ended: the broker tells that only once */
    char crash[96];        /* "": it did not */
};

static struct history history[HISTORY_MAX];
static size_t history_next;

/* A restarted one is the same to us, also in a new pod or container: those have other names. */
static void like_of(const struct process *p, char *buf, size_t size)
{
    const char *where = p->container.pod_namespace[0] ? p->container.pod_namespace
                        : p->container.id[0]          ? p->container.runtime
                                                      : p->cgroup;

    snprintf(buf, size, "%.100s %.60s %.120s", p->main ? p->main : "", p->java_version, where);
}

static struct history *find(const struct proc_id *id)
{
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        if (history[i].begun_ns && proc_id_equal(&history[i].id, id))
            return &history[i];
    }
    return NULL;
}

/* An entry to write: crashes are kept as long as there is anything else to forget. */
static struct history *take_entry(void)
{
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        struct history *h = &history[history_next++ % HISTORY_MAX];

        if (!h->crash[0])
            return h;
    }
    return &history[history_next++ % HISTORY_MAX];
}

void history_begin(const struct process *p)
{
    struct history *h = find(&p->id);

    if (!h) {
        h = take_entry();
        *h = (struct history){ .id = p->id };
        like_of(p, h->like, sizeof(h->like));
    }
    h->begun_ns = clock_monotonic_ns();
    h->ended_ns = UINT64_MAX;
}

void history_note(const struct proc_id *id, bool failed)
{
    struct history *h = find(id);
    uint64_t wait_ns = BACK_OFF_FIRST_NS;

    if (!h)
        return;
    if (!failed) {
        h->failures = 0;
        h->again_ns = 0;
        return;
    }
    for (unsigned i = 0; i < h->failures && wait_ns < BACK_OFF_MOST_NS; i++)
        wait_ns *= 2;
    h->failures++;
    h->again_ns = clock_monotonic_ns() + MIN(wait_ns, BACK_OFF_MOST_NS);
}

void history_set_way(const struct proc_id *id, const struct attach_way *way)
{
    struct history *h = find(id);

    if (h && (way->tmp || way->mode == ATTACH_MOUNT))
        h->way = *way;
}

struct attach_way history_way(const struct proc_id *id, uint32_t mode)
{
    const struct history *h = find(id);
    struct attach_way way = { .mode = mode };

    if (!h)
        return way;
    way.tmp = h->way.tmp;
    if (mode == ATTACH_LOAD && h->way.mode == ATTACH_MOUNT)
        way.mode = ATTACH_MOUNT;
    return way;
}

void history_end(const struct proc_id *id)
{
    struct history *h = find(id);

    if (h)
        h->ended_ns = clock_monotonic_ns();
}

/* What a JVM ends with when it breaks: its own abort(), or a fault that it could not handle. Not
 * SIGKILL or SIGTERM, by which containers are stopped, nor an exit code. */
static bool is_crash(int signal)
{
    return signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
           signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS;
}

/* 1 is what a JVM ends with that crashed and may leave no core, but programs too. */
static bool is_perhaps_crash(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void judge(struct broker *b, struct history *h)
{
    uint64_t after_ns = h->gone_ns - MIN(h->gone_ns, h->begun_ns);
    uint64_t left_ns = h->gone_ns - MIN(h->gone_ns, h->ended_ns);
    int status = 0, r = broker_attach_ended(b, &h->id, &status);

    if (r == -EAGAIN)
        return; /* the kernel still gives its memory back: of a large heap for seconds */
    h->judged = true;
    if (r == 0 && WIFSIGNALED(status) && is_crash(WTERMSIG(status)) && left_ns <= CRASH_NS)
        snprintf(h->crash, sizeof(h->crash), "signal %d ended it %ju s after an attach",
                 WTERMSIG(status), (uintmax_t)(after_ns / NSEC_PER_SEC));
    else if ((r == BROKER_ABSENT || (r == 0 && is_perhaps_crash(status))) &&
             after_ns <= CRASH_PERHAPS_NS)
        snprintf(h->crash, sizeof(h->crash), "it ended %ju s after an attach%s",
                 (uintmax_t)(after_ns / NSEC_PER_SEC), r ? ", how is not known" : " with status 1");
}

void history_gone(struct broker *b, const struct process *p)
{
    struct history *h = find(&p->id);

    if (!h || h->gone_ns)
        return;
    h->gone_ns = p->exited_ns ? p->exited_ns : clock_monotonic_ns();
    judge(b, h);
}

void history_poll(struct broker *b, uint64_t now_ns)
{
    static uint64_t looked_ns;

    if (now_ns - looked_ns < CLEARING_LOOK_NS)
        return;
    looked_ns = now_ns;
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        struct history *h = &history[i];

        if (h->begun_ns && h->gone_ns && !h->judged &&
            now_ns - MIN(now_ns, h->gone_ns) < CLEARING_NS)
            judge(b, h);
    }
}

const char *history_crash(const struct process *p)
{
    char like[sizeof(history[0].like)];

    like_of(p, like, sizeof(like));
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        if (history[i].begun_ns && history[i].crash[0] && strcmp(history[i].like, like) == 0)
            return history[i].crash;
    }
    return NULL;
}

uint64_t history_wait_ns(const struct proc_id *id, uint64_t now_ns, unsigned *ret_failures)
{
    const struct history *h = find(id);

    if (!h || now_ns >= h->again_ns)
        return 0;
    *ret_failures = h->failures;
    return h->again_ns - now_ns;
}
