/* SPDX-License-Identifier: Apache-2.0 */
/* The names and their states, the owners' queues, and the thread that asks the process. */
#include "namer/namer.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/siphash.h"
#include "namer/namer_abi.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUCKETS 16384u /* buckets of the table; this and QUEUES are powers of two */
#define QUEUES 1024u   /* owners with the same hash share a queue */

enum state { WAITS, IS_ASKED, IS_KNOWN };

struct name {
    struct name *next_in_bucket;
    struct name *next; /* in its list; NULL while the namer's process works on it */
    uint64_t hash, owner;
    char *text; /* owned; NULL: the symbol itself */
    uint16_t text_n, n;
    uint8_t state; /* enum state */
    char symbol[];
};

/* A list, the oldest first. */
struct name_list {
    struct name *first, **end;
    size_t count;
};

/* The waiting names of an owner, and its share of the namer's time. */
struct queue {
    struct name_list names;
    struct budget budget;
};

struct namer {
    int fd, wake_fd, stop_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work, answered;
    struct fingerprint_key key;
    struct name *buckets[BUCKETS];
    struct queue queues[QUEUES];
    struct name_list known, remembered; /* names with an answer; names that failed */
    size_t waiting, asked, turn;        /* @turn: the queue of the last question */
    struct namer_stats stats;
    uint64_t answers;
    bool stopping, gone, idle; /* @idle: the thread waits for work */
    /* Used only by the thread. */
    struct namer_question question;
    struct namer_answer answer;
    struct name *asking[NAMER_NAMES_MAX];
};

/* ---- the table ---- */

static void list_add(struct name_list *l, struct name *e)
{
    if (!l->end)
        l->end = &l->first;
    e->next = NULL;
    *l->end = e;
    l->end = &e->next;
    l->count++;
}

static struct name *list_take(struct name_list *l)
{
    struct name *e = l->first;

    if (!e)
        return NULL;
    l->first = e->next;
    if (!l->first)
        l->end = &l->first;
    l->count--;
    return e;
}

static void list_put_back(struct name_list *l, struct name *e)
{
    if (!l->first) {
        list_add(l, e);
        return;
    }
    e->next = l->first;
    l->first = e;
    l->count++;
}

static struct name *find(const struct namer *n, uint64_t hash, struct span symbol)
{
    struct name *e = n->buckets[hash & (BUCKETS - 1)];

    while (e && (e->hash != hash || !span_eq((struct span){ e->symbol, e->n }, symbol)))
        e = e->next_in_bucket;
    return e;
}

/* Removes @e from the table and frees it. @e must be in no list. */
static void drop(struct namer *n, struct name *e)
{
    struct name **at = &n->buckets[e->hash & (BUCKETS - 1)];

    while (*at != e)
        at = &(*at)->next_in_bucket;
    *at = e->next_in_bucket;
    free(e->text);
    free(e);
}

static void keep_known(struct namer *n, struct name_list *l, size_t max, struct name *e)
{
    e->state = IS_KNOWN;
    list_add(l, e);
    if (l->count > max)
        drop(n, list_take(l));
}

/* ---- owners ---- */

static struct queue *queue_of(struct namer *n, uint64_t owner)
{
    uint64_t hash = fingerprint(&n->key, (struct span){ (const char *)&owner, sizeof(owner) });

    return &n->queues[hash & (QUEUES - 1)];
}

/* ---- asking: the thread ---- */

/* Returns the next queue in turn that has a symbol; NULL: none. */
static struct queue *next_queue(struct namer *n)
{
    for (size_t i = 1; i <= QUEUES; i++) {
        struct queue *q = &n->queues[(n->turn + i) & (QUEUES - 1)];

        if (q->names.count) {
            n->turn = (n->turn + i) & (QUEUES - 1);
            return q;
        }
    }
    return NULL;
}

/* Writes the next question, from one queue. Drops the symbols of an owner without budget. If a
 * caller asks for such a symbol again, it is refused, unless it asks for another owner. Returns the
 * number of symbols in the question. */
static size_t write_question(struct namer *n)
{
    struct namer_question *q = &n->question;
    struct queue *queue = next_queue(n);
    bool has_time = queue && budget_has(&queue->budget, clock_monotonic_ns());
    size_t bytes = 0;
    struct name *e;

    q->number++;
    q->count = 0;
    while (queue && q->count < NAMER_NAMES_MAX && (e = list_take(&queue->names))) {
        n->waiting--;
        if (!has_time) {
            drop(n, e);
            continue;
        }
        e->state = IS_ASKED;
        memcpy(q->text + bytes, e->symbol, e->n);
        bytes += e->n;
        q->n[q->count] = e->n;
        n->asking[q->count++] = e;
    }
    n->asked = q->count;
    return q->count;
}

/* Receives an answer. *ret_stale: the answer is to an earlier question, which a worker that has
 * ended got, too. Returns false if the process is gone, its answer is malformed, or the thread has
 * to stop. */
static bool receive(struct namer *n, bool *ret_stale)
{
    struct pollfd fds[] = { { .fd = n->fd, .events = POLLIN },
                            { .fd = n->stop_fd, .events = POLLIN } };
    const struct namer_question *q = &n->question;
    const struct namer_answer *a = &n->answer;
    size_t bytes = offsetof(struct namer_answer, text);
    ssize_t got;

    while (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
        if (errno != EINTR)
            return false;
    }
    if (fds[1].revents)
        return false;
    got = recv(n->fd, &n->answer, sizeof(n->answer), 0);
    if (got < (ssize_t)bytes)
        return false;
    *ret_stale = a->number != q->number;
    if (*ret_stale)
        return true;
    if (!a->count || a->count > q->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->outcome[i] >= NAMER_OUTCOMES || a->n[i] > DEMANGLED_MAX)
            return false;
        bytes += a->n[i];
    }
    return (size_t)got == bytes;
}

static bool ask(struct namer *n)
{
    const struct namer_question *q = &n->question;
    size_t bytes = offsetof(struct namer_question, text);
    bool stale = true;

    for (uint32_t i = 0; i < q->count; i++)
        bytes += q->n[i];
    if (send(n->fd, q, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        return false;
    while (stale) {
        if (!receive(n, &stale))
            return false;
    }
    return true;
}

static void take_one(struct namer *n, struct name *e, enum namer_outcome outcome, struct span text)
{
    if (outcome == NAMER_HAS_TEXT && text.n) {
        e->text = malloc(text.n);
        if (!e->text) { /* without memory; the next caller asks the process again */
            drop(n, e);
            return;
        }
        memcpy(e->text, text.p, text.n);
        e->text_n = (uint16_t)text.n;
        n->stats.named++;
    } else {
        n->stats.timed_out += outcome == NAMER_TIMED_OUT;
        n->stats.died += outcome == NAMER_DIED;
        n->stats.none += outcome == NAMER_HAS_NONE || outcome == NAMER_HAS_TEXT;
    }
    if (outcome == NAMER_TIMED_OUT || outcome == NAMER_DIED)
        keep_known(n, &n->remembered, NAMER_REMEMBERED_MAX, e);
    else
        keep_known(n, &n->known, NAMER_KNOWN_MAX, e);
}

/* Stores the answer; symbols that it does not cover go back into their queues. */
static void take_answer(struct namer *n)
{
    const struct namer_answer *a = &n->answer;
    uint64_t each_ns = a->cpu_ns / a->count;
    const char *text = a->text;

    for (uint32_t i = 0; i < a->count; i++) {
        uint64_t took_ns = a->outcome[i] == NAMER_TIMED_OUT ? NAMER_NAME_NS : each_ns;

        budget_spend(&queue_of(n, n->asking[i]->owner)->budget, took_ns);
        take_one(n, n->asking[i], (enum namer_outcome)a->outcome[i],
                 (struct span){ text, a->n[i] });
        text += a->n[i];
    }
    for (size_t i = n->asked; i-- > a->count;) {
        struct name *e = n->asking[i];

        e->state = WAITS;
        list_put_back(&queue_of(n, e->owner)->names, e);
        n->waiting++;
    }
    n->asked = 0;
    n->stats.cpu_ns += a->cpu_ns;
}

/* Drops all symbols that wait or are in a question, because the process is gone. */
static void give_up(struct namer *n)
{
    struct name *e;

    n->gone = true;
    for (size_t i = 0; i < n->asked; i++)
        drop(n, n->asking[i]);
    for (size_t i = 0; i < QUEUES; i++) {
        while ((e = list_take(&n->queues[i].names)))
            drop(n, e);
    }
    n->asked = n->waiting = 0;
}

static void *namer_main(void *arg)
{
    struct namer *n = arg;
    bool there;

    pthread_setname_np(pthread_self(), "flamed-names");
    setpriority(PRIO_PROCESS, 0, 0); /* so that it does not delay the engine, which may have started
                                      * it */
    pthread_mutex_lock(&n->lock);
    while (!n->stopping && !n->gone) {
        if (!n->waiting) {
            n->idle = true;
            pthread_cond_wait(&n->work, &n->lock);
            continue;
        }
        if (write_question(n)) {
            pthread_mutex_unlock(&n->lock);
            there = ask(n);
            pthread_mutex_lock(&n->lock);
            if (there)
                take_answer(n);
            else
                give_up(n);
        }
        n->answers++;
        pthread_cond_broadcast(&n->answered);
        if (n->wake_fd > 0)
            eventfd_write(n->wake_fd, 1);
    }
    pthread_mutex_unlock(&n->lock);
    return NULL;
}

/* ---- start and end ---- */

int namer_new(int fd, int wake_fd, struct namer **ret)
{
    struct namer *n = calloc(1, sizeof(*n));
    int r;

    if (!n)
        return -ENOMEM;
    n->fd = fd;
    n->wake_fd = wake_fd;
    n->key = fingerprint_key_new();
    for (size_t i = 0; i < QUEUES; i++)
        budget_init(&n->queues[i].budget, NAMER_OWNER_SHARE, NAMER_OWNER_AT_ONCE_NS,
                    clock_monotonic_ns());
    n->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (n->stop_fd < 0) {
        free(n);
        return -errno;
    }
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->work, NULL);
    pthread_cond_init(&n->answered, NULL);
    r = pthread_create(&n->thread, NULL, namer_main, n);
    if (r != 0) {
        close(n->stop_fd);
        free(n);
        return -r;
    }
    *ret = n;
    return 0;
}

struct namer *namer_free(struct namer *n)
{
    if (!n)
        return NULL;
    pthread_mutex_lock(&n->lock);
    n->stopping = true;
    eventfd_write(n->stop_fd, 1);
    pthread_cond_signal(&n->work);
    pthread_mutex_unlock(&n->lock);
    pthread_join(n->thread, NULL);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (n->buckets[i])
            drop(n, n->buckets[i]);
    }
    pthread_cond_destroy(&n->work);
    pthread_cond_destroy(&n->answered);
    pthread_mutex_destroy(&n->lock);
    close(n->stop_fd);
    free(n);
    return NULL;
}

/* ---- requests of callers ---- */

/* Queues @symbol, if there is room. Returns NAMER_COMING or NAMER_REFUSED. */
static int begin(struct namer *n, uint64_t owner, uint64_t hash, struct span symbol)
{
    struct queue *queue = queue_of(n, owner);
    struct name **bucket = &n->buckets[hash & (BUCKETS - 1)], *e;

    if (n->gone || !budget_has(&queue->budget, clock_monotonic_ns())) {
        n->stats.refused++;
        return NAMER_REFUSED;
    }
    if (n->waiting >= NAMER_QUEUE_MAX || queue->names.count >= NAMER_OWN_QUEUE_MAX)
        return NAMER_COMING;
    e = calloc(1, sizeof(*e) + symbol.n);
    if (!e)
        return NAMER_COMING;
    e->hash = hash;
    e->owner = owner;
    e->n = (uint16_t)symbol.n;
    memcpy(e->symbol, symbol.p, symbol.n);
    e->next_in_bucket = *bucket;
    *bucket = e;
    list_add(&queue->names, e);
    n->waiting++;
    if (n->idle)
        pthread_cond_signal(&n->work);
    n->idle = false;
    return NAMER_COMING;
}

int namer_name(struct namer *n, uint64_t owner, struct span symbol, struct buf *out)
{
    struct span whole = symbol_without_clone(symbol);
    int r = NAMER_REFUSED;
    struct name *e;
    uint64_t hash;

    if (!symbol_is_mangled(whole)) {
        buf_add_span(out, whole);
        return 0;
    }
    if (n) {
        hash = fingerprint(&n->key, whole);
        pthread_mutex_lock(&n->lock);
        e = find(n, hash, whole);
        if (e && e->state == IS_KNOWN && e->text)
            buf_add(out, e->text, e->text_n);
        if (e)
            r = e->state == IS_KNOWN ? 0 : NAMER_COMING;
        else
            r = begin(n, owner, hash, whole);
        if (e && r == 0 && e->text)
            whole.n = 0;
        pthread_mutex_unlock(&n->lock);
    }
    if (r != NAMER_COMING)
        buf_add_span(out, whole);
    return r;
}

bool namer_wait(struct namer *n, uint64_t until_ns)
{
    uint64_t before;

    if (!n)
        return false;
    LOCK_SCOPE(&n->lock);
    before = n->answers;
    while (n->answers == before && (n->waiting || n->asked) &&
           clock_wait(&n->answered, &n->lock, until_ns))
        ;
    return n->answers != before;
}

int namer_name_wait(struct namer *n, uint64_t owner, struct span symbol, uint64_t until_ns,
                    struct buf *out)
{
    int r;

    while ((r = namer_name(n, owner, symbol, out)) == NAMER_COMING) {
        if (!namer_wait(n, until_ns) && clock_monotonic_ns() >= until_ns)
            break;
    }
    if (r != NAMER_COMING)
        return r;
    buf_add_span(out, symbol_without_clone(symbol));
    return NAMER_REFUSED;
}

uint64_t namer_answers(struct namer *n)
{
    if (!n)
        return 0;
    LOCK_SCOPE(&n->lock);
    return n->answers;
}

void namer_stats(struct namer *n, struct namer_stats *ret)
{
    *ret = (struct namer_stats){ 0 };
    if (!n)
        return;
    LOCK_SCOPE(&n->lock);
    *ret = n->stats;
    ret->waiting = n->waiting + n->asked;
}
