/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/stream.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SEALS (F_SEAL_GROW | F_SEAL_SHRINK)

struct stream {
    struct stream_header *h; /* shared with a stranger */
    const char *ring;
    uint64_t tail;
    char *copy; /* owned: STREAM_RING_BYTES */
    struct code_map *map;
    bool broken;
};

int stream_open(int fd, struct stream **ret, struct error *err)
{
    _cleanup_close_ int own = fd;
    _cleanup_(stream_closep) struct stream *s = calloc(1, sizeof(*s));
    struct stat st;
    int seals = fcntl(own, F_GET_SEALS);
    void *p;

    if (!s)
        return -ENOMEM;
    if (fstat(own, &st) < 0 || st.st_size != (off_t)STREAM_BYTES || seals < 0 ||
        (seals & SEALS) != SEALS)
        return error_set(err, -EBADMSG, "the agent's memory is not as flamed-broker makes it");
    s->copy = malloc(STREAM_RING_BYTES);
    if (!s->copy || code_map_new(&s->map) < 0)
        return -ENOMEM;
    p = mmap(NULL, STREAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    if (p == MAP_FAILED)
        return error_errno(err, "cannot map the agent's memory");
    s->h = p;
    s->ring = (const char *)p + STREAM_RING_AT;
    *ret = TAKE_PTR(s);
    return 0;
}

struct stream *stream_close(struct stream *s)
{
    if (!s)
        return NULL;
    if (s->h) {
        __atomic_store_n(&s->h->lease_ns, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&s->h->stop, 1, __ATOMIC_RELEASE);
        /* A JVM that compiles nothing more keeps its mapping until it does; the page that tells it
         * to end is all that it then keeps of our memory. */
        madvise((char *)s->h + STREAM_TABLE_AT, STREAM_BYTES - STREAM_TABLE_AT, MADV_REMOVE);
        munmap(s->h, STREAM_BYTES);
    }
    code_map_free(s->map);
    free(s->copy);
    free(s);
    return NULL;
}

/* Copies [tail, head) of the ring, which may go round. */
static size_t copy_ring(struct stream *s, uint64_t head)
{
    size_t n = (size_t)(head - s->tail), at = (size_t)(s->tail & (STREAM_RING_BYTES - 1));
    size_t first = MIN(n, (size_t)STREAM_RING_BYTES - at);

    memcpy(s->copy, s->ring + at, first);
    memcpy(s->copy + first, s->ring, n - first);
    return n;
}

int stream_poll(struct stream *s, uint64_t now_ns)
{
    uint64_t head = __atomic_load_n(&s->h->head, __ATOMIC_ACQUIRE);
    size_t n;
    int r;

    if (s->broken)
        return -EBADMSG;
    __atomic_store_n(&s->h->lease_ns, now_ns + STREAM_LEASE_NS, __ATOMIC_RELAXED);
    if (head == s->tail)
        return 0;
    if (head < s->tail || head - s->tail > STREAM_RING_BYTES || head % 8) {
        s->broken = true;
        return -EBADMSG;
    }
    n = copy_ring(s, head);
    s->tail = head;
    __atomic_store_n(&s->h->tail, head, __ATOMIC_RELEASE);
    r = code_map_feed(s->map, (struct span){ s->copy, n });
    if (r == -EBADMSG)
        s->broken = true;
    return r;
}

struct code_map *stream_map(struct stream *s)
{
    return s->map;
}

struct code_map *stream_take_map(struct stream *s)
{
    return TAKE_PTR(s->map);
}

struct stream_status stream_status(const struct stream *s)
{
    uint32_t state = __atomic_load_n(&s->h->state, __ATOMIC_ACQUIRE);

    return (struct stream_status){
        .state = state <= STREAM_FAILED ? (enum stream_state)state : STREAM_FAILED,
        .step = s->h->step,
        .code = s->h->code,
        .dropped = s->h->dropped,
        .events = s->h->events,
        .replayed = s->h->replayed,
        .replay_ns = s->h->replay_ns,
    };
}

int stream_problem(const struct stream *s, struct error *err)
{
    static const char *const STEPS[] = {
        [STREAM_STEP_NONE] = "start",
        [STREAM_STEP_ENVIRONMENT] = "get a JVMTI environment",
        [STREAM_STEP_CAPABILITIES] = "get its capabilities",
        [STREAM_STEP_CALLBACKS] = "set its callbacks",
        [STREAM_STEP_EVENTS] = "turn on its events",
        [STREAM_STEP_REPLAY] = "have compiled code told",
    };
    struct stream_status status = stream_status(s);

    if (s->broken) {
        error_set(err, -EBADMSG, "what the JVM wrote is not what the agent writes");
        error_remedy(err, "symbols=memory needs no agent");
        return -EBADMSG;
    }
    if (status.state == STREAM_IDLE) {
        error_set(err, -EACCES, "the agent was loaded but could not open flamed's memory");
        error_remedy(err, "a security module may forbid it; symbols=memory needs no agent");
        return -EACCES;
    }
    if (status.state == STREAM_FAILED) {
        error_set(err, -EIO, "the agent could not %s (error %d of the JVM)",
                  status.step < ARRAY_SIZE(STEPS) ? STEPS[status.step] : "start", status.code);
        error_remedy(err, "symbols=memory needs no agent");
        return -EIO;
    }
    return 0;
}
