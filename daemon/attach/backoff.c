/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/backoff.h"

#include "base/clock.h"

#include <signal.h>
#include <sys/wait.h>

#define BACK_OFF_FIRST_NS (10 * NSEC_PER_SEC)
#define BACK_OFF_MOST_NS (600 * NSEC_PER_SEC)
/* CRASH_NS: a crash this soon after our agent's order to end counts as the agent's.
 * CRASH_PERHAPS_NS: an end that may be a crash counts this soon after an attach. */
#define CRASH_NS (60 * NSEC_PER_SEC)
#define CRASH_PERHAPS_NS (10 * NSEC_PER_SEC)
/* How often, and for how long, flamed queries the broker how a process ended while the kernel is
 * still freeing it. */
#define CLEARING_LOOK_NS NSEC_PER_SEC
#define CLEARING_NS (60 * NSEC_PER_SEC)

/* Writes the text that @p and its restarted JVM have in common. It leaves out names of pod and
 * container, which change. */
static void like_of(const struct process *p, char *buf, size_t size)
{
    const char *where = p->container.pod_namespace[0] ? p->container.pod_namespace
                        : p->container.id[0]          ? p->container.runtime
                                                      : p->cgroup;

    snprintf(buf, size, "%.100s %.60s %.120s", p->main ? p->main : "", p->java_version, where);
}

/* Returns the entry of @id; NULL: none. */
static struct backoff_entry *entry_of(const struct backoff *b, const struct proc_id *id)
{
    for (size_t i = 0; i < BACKOFF_MAX; i++) {
        if (b->entries[i].begun_ns && proc_id_equal(&b->entries[i].id, id))
            return (struct backoff_entry *)&b->entries[i];
    }
    return NULL;
}

/* Returns an entry to overwrite. Entries with a crash or an agent are overwritten last. */
static struct backoff_entry *take_entry(struct backoff *b)
{
    for (size_t i = 0; i < BACKOFF_MAX; i++) {
        struct backoff_entry *e = &b->entries[b->next++ % BACKOFF_MAX];

        if (!e->crash[0] && !e->open)
            return e;
    }
    return &b->entries[b->next++ % BACKOFF_MAX];
}

void backoff_begin(struct backoff *b, const struct process *p)
{
    struct backoff_entry *e = entry_of(b, &p->id);

    if (!e) {
        e = take_entry(b);
        *e = (struct backoff_entry){ .id = p->id };
        like_of(p, e->like, sizeof(e->like));
    }
    e->earlier_ns = e->begun_ns;
    e->begun_ns = clock_monotonic_ns();
    e->open++;
}

void backoff_note(struct backoff *b, const struct proc_id *id, bool failed)
{
    struct backoff_entry *e = entry_of(b, id);
    uint64_t wait_ns = BACK_OFF_FIRST_NS;

    if (!e)
        return;
    if (!failed) {
        e->failures = 0;
        e->again_ns = 0;
        return;
    }
    for (unsigned i = 0; i < e->failures && wait_ns < BACK_OFF_MOST_NS; i++)
        wait_ns *= 2;
    e->failures++;
    e->again_ns = clock_monotonic_ns() + MIN(wait_ns, BACK_OFF_MOST_NS);
}

void backoff_set_way(struct backoff *b, const struct proc_id *id, const struct attach_way *way)
{
    struct backoff_entry *e = entry_of(b, id);

    if (e && (way->tmp || way->mode == ATTACH_MOUNT))
        e->way = *way;
}

struct attach_way backoff_way(const struct backoff *b, const struct proc_id *id, uint32_t mode)
{
    const struct backoff_entry *e = entry_of(b, id);
    struct attach_way way = { .mode = mode };

    if (!e)
        return way;
    way.tmp = e->way.tmp;
    if (mode == ATTACH_LOAD && e->way.mode == ATTACH_MOUNT)
        way.mode = ATTACH_MOUNT;
    return way;
}

void backoff_end(struct backoff *b, const struct proc_id *id)
{
    struct backoff_entry *e = entry_of(b, id);

    if (!e || !e->open)
        return;
    e->open--;
    e->real_ns = e->open ? e->earlier_ns : e->begun_ns; /* one that is open may be cancelled */
    e->ended_ns = clock_monotonic_ns();
}

void backoff_cancel(struct backoff *b, const struct proc_id *id)
{
    struct backoff_entry *e = entry_of(b, id);

    if (!e || !e->open)
        return;
    e->open--;
    /* The attach before was perhaps cancelled, too, unless it is open. 0 frees the entry. */
    e->begun_ns = e->open ? e->earlier_ns : e->real_ns;
}

/* Returns whether @signal means a crash: abort() by the JVM, or a fault that it did not handle.
 * SIGKILL and SIGTERM stop containers and do not count. */
static bool is_crash(int signal)
{
    return signal == SIGABRT || signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
           signal == SIGFPE || signal == SIGTRAP || signal == SIGSYS;
}

/* Returns whether @status is 1: a JVM that crashes without a core ends so, but so do other
 * programs. */
static bool is_perhaps_crash(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void judge(struct broker *broker, struct backoff_entry *e)
{
    uint64_t after_ns = e->gone_ns - MIN(e->gone_ns, e->begun_ns);
    uint64_t left_ns = e->open ? 0 : e->gone_ns - MIN(e->gone_ns, e->ended_ns);
    int status = 0, r = broker_attach_ended(broker, &e->id, &status);

    if (r == -EAGAIN)
        return; /* the kernel is still freeing its memory, for seconds if the heap is large */
    e->judged = true;
    if (r == 0 && WIFSIGNALED(status) && is_crash(WTERMSIG(status)) && left_ns <= CRASH_NS)
        snprintf(e->crash, sizeof(e->crash), "signal %d ended it %ju s after an attach",
                 WTERMSIG(status), (uintmax_t)(after_ns / NSEC_PER_SEC));
    else if ((r == BROKER_ABSENT || (r == 0 && is_perhaps_crash(status))) &&
             after_ns <= CRASH_PERHAPS_NS)
        snprintf(e->crash, sizeof(e->crash), "it ended %ju s after an attach%s",
                 (uintmax_t)(after_ns / NSEC_PER_SEC), r ? ", how is not known" : " with status 1");
}

void backoff_gone(struct backoff *b, struct broker *broker, const struct process *p)
{
    struct backoff_entry *e = entry_of(b, &p->id);

    if (!e || e->gone_ns)
        return;
    e->gone_ns = p->exited_ns ? p->exited_ns : clock_monotonic_ns();
    judge(broker, e);
}

void backoff_poll(struct backoff *b, struct broker *broker, uint64_t now_ns)
{
    if (now_ns - b->looked_ns < CLEARING_LOOK_NS)
        return;
    b->looked_ns = now_ns;
    for (size_t i = 0; i < BACKOFF_MAX; i++) {
        struct backoff_entry *e = &b->entries[i];

        if (e->begun_ns && e->gone_ns && !e->judged &&
            now_ns - MIN(now_ns, e->gone_ns) < CLEARING_NS)
            judge(broker, e);
    }
}

const char *backoff_crash(const struct backoff *b, const struct process *p)
{
    char like[sizeof(b->entries[0].like)];

    like_of(p, like, sizeof(like));
    for (size_t i = 0; i < BACKOFF_MAX; i++) {
        const struct backoff_entry *e = &b->entries[i];

        if (e->begun_ns && e->crash[0] && strcmp(e->like, like) == 0)
            return e->crash;
    }
    return NULL;
}

uint64_t backoff_wait_ns(const struct backoff *b, const struct proc_id *id, uint64_t now_ns,
                         unsigned *ret_failures)
{
    const struct backoff_entry *e = entry_of(b, id);

    if (!e || now_ns >= e->again_ns)
        return 0;
    *ret_failures = e->failures;
    return e->again_ns - now_ns;
}
