/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/stall_readers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/turns.h"
#include "proc/owner_budget.h"
#include "proc/owner_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10)

enum state { IDLE, ASKED, RUNNING, DONE, LEFT, OWES };

/* What the owner of a read is charged for. */
struct cost {
    uint64_t asleep_ns, cpu_ns;
};

struct reader {
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    enum state state;
    struct reading *reading;
    int result;
    struct cost cost;
    int tid;
    clockid_t cpu_clock;
    uint64_t charged_ns;    /* its CPU clock when it was abandoned; the owner paid until then */
    uint64_t owed_ns;       /* CPU time after that, for which the owner has not paid yet */
    atomic_bool is_left;    /* state is LEFT, for its own thread */
    uint64_t pages;         /* pages that the current read has begun after its first */
    struct reader_held who; /* the process that is being read */
};

/* Readers that were started; none ever ends. Only the thread that uses them adds one. */
static struct reader *pool[READERS_MAX];
static atomic_size_t pool_count, held_count, owing_count;
static atomic_uint_least64_t left_count, refused_count, put_off_count;

static _Thread_local bool is_user;
static _Thread_local struct reader *self; /* NULL in a thread that is no reader */
static int proc_fd = -1;

/* Used only by the thread of readers_use(). */
static struct owner_cache owners;
static struct owner_budgets waits,
    looks = { .at_once_ns = READERS_LOOKS_AT_ONCE_NS },
    work = { .at_once_ns = READERS_WORK_AT_ONCE_NS, .share = READERS_WORK_SHARE };

static struct budget all_work;

void readers_use(int fd)
{
    budget_init(&all_work, READERS_ALL_WORK_SHARE, READERS_WORK_AT_ONCE_NS, clock_monotonic_ns());
    is_user = true;
    proc_fd = fd;
    turns_short();
}

bool readers_are_used(void)
{
    return is_user;
}

/* Returns the owner of @id. The first call computes it, before the first read of the process: the
 * process may end right after that. */
static uint64_t owner_of(const struct proc_id *id)
{
    return is_user ? owner_cache_get(&owners, proc_fd, id, UINT64_MAX) : proc_owner(proc_fd, id);
}

/* ---- a reader ---- */

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_usec * (NSEC_PER_SEC / 1000000);
}

/* Runs the read. The owner is charged for the time asleep in it and for its CPU time. Time spent
 * waiting for a processor is charged only if the read also slept. */
static int run(struct reading *reading, struct cost *ret_cost)
{
    uint64_t began_ns = clock_monotonic_ns(), cpu_ns, took_ns;
    struct rusage before, after;
    int result;

    getrusage(RUSAGE_THREAD, &before);
    result = reading->run(reading);
    getrusage(RUSAGE_THREAD, &after);
    cpu_ns = ns_of(after.ru_utime) + ns_of(after.ru_stime) - ns_of(before.ru_utime) -
             ns_of(before.ru_stime);
    took_ns = after.ru_nvcsw == before.ru_nvcsw ? 0 : clock_monotonic_ns() - began_ns;
    *ret_cost = (struct cost){ took_ns - MIN(cpu_ns, took_ns), reading->asleep_only ? 0 : cpu_ns };
    return result;
}

/* Hands the result over, or drops it if the read was abandoned. Wakes the waiting thread after
 * unlocking: otherwise it may run at once on a busy processor, only to sleep for the lock. */
static void give_answer(struct reader *r, struct reading *reading, int result, struct cost cost)
{
    bool left;

    pthread_mutex_lock(&r->lock);
    left = r->state == LEFT;
    if (!left) {
        r->result = result;
        r->cost = cost;
        r->state = DONE;
    }
    pthread_mutex_unlock(&r->lock);
    if (!left) {
        pthread_cond_signal(&r->answered);
        return;
    }
    reading->drop(reading);
    pthread_mutex_lock(&r->lock);
    r->owed_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - r->charged_ns;
    r->state = OWES;
    atomic_store(&r->is_left, false);
    atomic_fetch_add(&owing_count, 1);
    atomic_fetch_sub(&held_count, 1);
    pthread_mutex_unlock(&r->lock);
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;

    pthread_setname_np(pthread_self(), "flamed-reader");
    self = r;
    turns_short();
    r->tid = gettid(); /* the caller reads this only after a request */
    for (;;) {
        struct reading *reading;
        struct cost cost;
        int result;

        pthread_mutex_lock(&r->lock);
        while (r->state != ASKED)
            pthread_cond_wait(&r->asked, &r->lock);
        r->state = RUNNING;
        reading = r->reading;
        pthread_mutex_unlock(&r->lock);
        result = run(reading, &cost);
        give_answer(r, reading, result, cost);
    }
    return NULL;
}

static struct reader *reader_start(void)
{
    struct reader *r = calloc(1, sizeof(*r));
    pthread_attr_t attr;
    pthread_t thread;
    int e;

    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->asked, NULL);
    pthread_cond_init(&r->answered, NULL);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    e = pthread_create(&thread, &attr, reader_main, r);
    pthread_attr_destroy(&attr);
    e = e ?: pthread_getcpuclockid(thread, &r->cpu_clock);
    if (e) {
        pthread_mutex_destroy(&r->lock);
        pthread_cond_destroy(&r->asked);
        pthread_cond_destroy(&r->answered);
        free(r);
        return NULL;
    }
    return r;
}

/* Returns an idle reader; NULL if all are held and no more can be started. */
static struct reader *find_idle(void)
{
    size_t n = atomic_load(&pool_count);
    struct reader *r;

    for (size_t i = 0; i < n; i++) {
        bool idle;

        pthread_mutex_lock(&pool[i]->lock);
        idle = pool[i]->state == IDLE;
        pthread_mutex_unlock(&pool[i]->lock);
        if (idle)
            return pool[i];
    }
    r = n < READERS_MAX ? reader_start() : NULL;
    if (r) {
        pool[n] = r;
        atomic_store(&pool_count, n + 1);
    }
    return r;
}

/* ---- callers ---- */

static bool owner_is_held(uint64_t owner)
{
    size_t n = atomic_load(&held_count) ? atomic_load(&pool_count) : 0;
    bool held = false;

    for (size_t i = 0; !held && i < n; i++) {
        pthread_mutex_lock(&pool[i]->lock);
        held = pool[i]->state == LEFT && pool[i]->who.owner == owner;
        pthread_mutex_unlock(&pool[i]->lock);
    }
    return held;
}

/* Returns whether the reader sleeps in the kernel instead of waiting for a processor. With FUSE,
 * state S comes first. */
static bool is_asleep(const struct reader *r)
{
    struct proc_stat stat;

    return r->state == RUNNING && proc_read_stat(proc_fd, r->tid, &stat) == 0 &&
           (stat.state == 'D' || stat.state == 'S');
}

/* Waits until @until_ns for the answer of @r. Call it with the lock of @r held. */
static void await(struct reader *r, uint64_t until_ns)
{

    while (r->state != DONE && clock_wait(&r->answered, &r->lock, until_ns))
        ;
}

/* Returns how long the caller may wait for @r in all. @used_ns: the CPU time of its read so far.
 * @goes_on: it has come to another page lately. Lock held. */
static uint64_t longest_wait_ns(const struct reader *r, uint64_t used_ns, bool goes_on)
{
    if (used_ns >= READERS_CPU_NS)
        return 0;
    if (!is_asleep(r))
        return READERS_TURN_NS;
    return goes_on ? READERS_SLOW_NS : 0;
}

/* Returns the answer of @r, or abandons it. @before_ns: what its CPU clock said before the read. */
static int take_answer(struct reader *r, uint64_t began_ns, uint64_t before_ns,
                       struct reading **reading, struct cost *ret_cost)
{
    uint64_t now_ns = began_ns, used_ns, limit_ns, pages;
    int result = -ETIMEDOUT;
    LOCK_SCOPE(&r->lock);

    do {
        pages = r->pages;
        await(r, now_ns + READERS_WAIT_NS);
        now_ns = clock_monotonic_ns();
        used_ns = clock_ns(r->cpu_clock) - before_ns;
        limit_ns = longest_wait_ns(r, used_ns, r->pages != pages);
    } while (r->state != DONE && now_ns - began_ns < limit_ns);
    *ret_cost = (struct cost){ .asleep_ns = now_ns - began_ns - MIN(used_ns, now_ns - began_ns),
                               .cpu_ns = used_ns };
    if (r->state == DONE) {
        result = r->result;
        *ret_cost = r->cost;
        r->state = IDLE;
    } else if (r->state == ASKED) { /* the reader has not begun */
        r->state = IDLE;
    } else {
        r->state = LEFT;
        r->charged_ns = before_ns + used_ns;
        atomic_store(&r->is_left, true);
        *reading = NULL;
        atomic_fetch_add(&held_count, 1);
        atomic_fetch_add(&left_count, 1);
    }
    return result;
}

/* Charges owners for what their abandoned reads computed, which have returned since. */
static void settle_debts(uint64_t now_ns)
{
    size_t n = atomic_load(&owing_count) ? atomic_load(&pool_count) : 0;

    for (size_t i = 0; i < n; i++) {
        struct reader *r = pool[i];
        LOCK_SCOPE(&r->lock);

        if (r->state != OWES)
            continue;
        budget_spend_all(owner_budget_of(&work, r->who.owner, now_ns), r->owed_ns);
        budget_spend(&all_work, r->owed_ns);
        r->state = IDLE;
        atomic_fetch_sub(&owing_count, 1);
    }
}

static int refuse(void)
{
    atomic_fetch_add(&refused_count, 1);
    return -ETIMEDOUT;
}

int readers_run(const struct proc_id *id, struct reading **reading)
{
    uint64_t owner, began_ns = clock_monotonic_ns(), cpu_ns;
    struct budget *waits_left, *work_left;
    struct cost cost;
    struct reader *r;
    int result;

    if (!is_user)
        return (*reading)->run(*reading);
    settle_debts(began_ns);
    owner = owner_of(id);
    waits_left = owner_budget_of(&waits, owner, began_ns);
    work_left = owner_budget_of(&work, owner, began_ns);
    if (owner_is_held(owner) || !budget_has(waits_left, began_ns))
        return refuse();
    if (!(*reading)->asleep_only &&
        (!budget_has(work_left, began_ns) || !budget_has(&all_work, began_ns)))
        return refuse();
    r = find_idle();
    if (!r)
        return refuse();
    cpu_ns = clock_ns(r->cpu_clock);
    pthread_mutex_lock(&r->lock);
    r->who = (struct reader_held){ *id, owner, (*reading)->jvm };
    r->reading = *reading;
    r->state = ASKED;
    pthread_mutex_unlock(&r->lock);
    pthread_cond_signal(&r->asked);
    result = take_answer(r, began_ns, cpu_ns, reading, &cost);
    budget_spend(waits_left, cost.asleep_ns);
    budget_spend_all(work_left, cost.cpu_ns);
    budget_spend(&all_work, cost.cpu_ns);
    return result;
}

bool readers_next_page(void)
{
    if (!self)
        return true;
    LOCK_SCOPE(&self->lock);
    self->pages++;
    return self->state == RUNNING;
}

bool readers_is_left(void)
{
    return self && atomic_load_explicit(&self->is_left, memory_order_relaxed);
}

/* ---- state of readers ---- */

bool readers_wait_for(const struct proc_id *id)
{
    return atomic_load(&held_count) && owner_is_held(owner_of(id));
}

bool readers_afford(const struct proc_id *id)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!is_user || budget_has(owner_budget_of(&looks, owner_of(id), now_ns), now_ns))
        return true;
    atomic_fetch_add(&put_off_count, 1);
    return false;
}

void readers_spend(const struct proc_id *id, uint64_t took_ns)
{
    if (is_user)
        budget_spend(owner_budget_of(&looks, owner_of(id), clock_monotonic_ns()), took_ns);
}

bool readers_afford_work(const struct proc_id *id)
{
    uint64_t now_ns = clock_monotonic_ns();

    return !is_user || (budget_has(owner_budget_of(&work, owner_of(id), now_ns), now_ns) &&
                        budget_has(&all_work, now_ns));
}

void readers_spend_work(const struct proc_id *id, uint64_t cpu_ns)
{
    if (!is_user)
        return;
    budget_spend_all(owner_budget_of(&work, owner_of(id), clock_monotonic_ns()), cpu_ns);
    budget_spend(&all_work, cpu_ns);
}

uint64_t readers_owner(const struct proc_id *id)
{
    return owner_of(id);
}

uint64_t readers_cpu_ns(void)
{
    size_t n = atomic_load(&pool_count);
    uint64_t ns = 0;

    for (size_t i = 0; i < n; i++)
        ns += clock_ns(pool[i]->cpu_clock);
    return ns;
}

void readers_stats(struct readers_stats *ret)
{
    size_t n = atomic_load(&pool_count);

    *ret = (struct readers_stats){ .left = atomic_load(&left_count),
                                   .refused = atomic_load(&refused_count),
                                   .looks_put_off = atomic_load(&put_off_count) };
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(&pool[i]->lock);
        if (pool[i]->state == LEFT)
            ret->who[ret->held++] = pool[i]->who;
        pthread_mutex_unlock(&pool[i]->lock);
    }
}
