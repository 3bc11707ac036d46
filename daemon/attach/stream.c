/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/stream.h"

#include "agent/jvmti_slots.h"
#include "base/cleanup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_GROW | F_SEAL_SHRINK)
/* The seals of a file in a file system that flamed mounted in the container. */
#define SEALS_OF_FILE F_SEAL_SEAL
/* Bytes of the ring that are copied at a time. */
#define COPY_BYTES ((size_t)2 * STREAM_RECORD_MAX)
#define TELL_NS (250 * NSEC_PER_MSEC) /* time between two writes of the tail for the agent */

/* The file is read and written, never mapped. A mounted file can be truncated. If the container
 * removed pages, access through a mapping would add pages that are charged to flamed. */
struct stream {
    int file;
    struct stream_header h; /* the header as last read */
    uint64_t tail, told_tail, told_ns;
    struct code_map *map;
    bool broken;
    bool robbed; /* a process has removed the page with the header */
};

int stream_open(int fd, struct shares *memory, uint64_t owner, struct stream **ret,
                struct error *err)
{
    _cleanup_close_ int own = fd;
    _cleanup_(stream_closep) struct stream *s = calloc(1, sizeof(*s));
    struct stat st;
    int seals = fcntl(own, F_GET_SEALS);

    if (!s)
        return -ENOMEM;
    s->file = -1;
    if (fstat(own, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size != (off_t)STREAM_BYTES ||
        seals < 0 || ((seals & SEALS) != SEALS && seals != SEALS_OF_FILE))
        return error_set(err, -EBADMSG, "the agent's memory is not as flamed-broker makes it");
    if (code_map_new(memory, owner, &s->map) < 0)
        return -ENOMEM;
    s->file = take_fd(&own);
    *ret = TAKE_PTR(s);
    return 0;
}

/* Returns whether the file still has its first page, the one with the header. */
static bool has_header(const struct stream *s)
{
    uint32_t magic = 0;

    return pread(s->file, &magic, sizeof(magic), offsetof(struct stream_header, magic)) ==
               sizeof(magic) &&
           magic == STREAM_MAGIC;
}

/* Writes the field of @n bytes at @offset of the header for the agent. A process that removes the
 * page just before the write gets one that is charged to flamed. It gets no second one: flamed then
 * writes no more, even if the header comes back. */
static void put_field(struct stream *s, const void *p, size_t n, size_t offset)
{
    ssize_t r;

    s->robbed = s->robbed || !has_header(s);
    if (!s->robbed) {
        r = pwrite(s->file, p, n, (off_t)offset);
        (void)r; /* if the write fails, the agent's lease ends */
        s->robbed = !has_header(s);
    }
    s->broken = s->broken || s->robbed;
}
#define PUT_FIELD(s, name)                                                                         \
    put_field(s, &(s)->h.name, sizeof((s)->h.name), offsetof(struct stream_header, name))

/* Reads the header until two reads agree, since another process writes it. Returns false if it is
 * not valid, or if its page was removed. A write to that page would add a page that is charged to
 * flamed. */
static bool take_header(struct stream *s)
{
    struct stream_header h, again = s->h;
    bool same = false;

    for (unsigned i = 0; i < 16 && !same; i++) {
        h = again;
        if (pread(s->file, &again, sizeof(again), 0) != (ssize_t)sizeof(again))
            return false;
        same = i && h.head == again.head && h.state == again.state;
    }
    s->h = again;
    return again.magic == STREAM_MAGIC && again.version == STREAM_VERSION;
}

/* Frees the file's memory except the page that orders the agent to end. */
static void give_back(const struct stream *s)
{
    fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)STREAM_TABLE_AT,
              (off_t)(STREAM_BYTES - STREAM_TABLE_AT));
}

struct stream *stream_close(struct stream *s)
{
    if (!s)
        return NULL;
    if (s->file >= 0) {
        if (take_header(s)) {
            s->h.lease_ns = 0;
            s->h.stop = 1;
            PUT_FIELD(s, lease_ns);
            PUT_FIELD(s, stop);
        }
        /* Free the memory now: the agent unmaps the file only when the JVM compiles again. */
        give_back(s);
    }
    close_fd(s->file);
    code_map_free(s->map);
    free(s);
    return NULL;
}

static bool copy_part(struct stream *s, size_t at, char *to, size_t n)
{
    return pread(s->file, to, n, (off_t)(STREAM_RING_AT + at)) == (ssize_t)n;
}

/* Copies the @n bytes of the ring from the tail on, which may wrap. Returns false if the file was
 * truncated. */
static bool copy_ring(struct stream *s, char *copy, size_t n)
{
    size_t at = (size_t)(s->tail & (STREAM_RING_BYTES - 1));
    size_t first = MIN(n, (size_t)STREAM_RING_BYTES - at);

    return copy_part(s, at, copy, first) && copy_part(s, 0, copy + first, n - first);
}

/* Returns how many of @n bytes are whole records. A record that does not fit is left. */
static size_t whole_records(const char *copy, size_t n)
{
    uint32_t bytes = 0;
    size_t at;

    for (at = 0; at + sizeof(bytes) <= n; at += bytes) {
        memcpy(&bytes, copy + at, sizeof(bytes));
        if (bytes == 0 || bytes > n - at)
            break;
    }
    return at;
}

/* Takes the records up to @head. */
static int take_records(struct stream *s, uint64_t head)
{
    _cleanup_free_ char *copy = s->tail < head ? malloc(COPY_BYTES) : NULL;
    int r = 0;

    while (s->tail < head && r == 0) {
        size_t n = MIN((size_t)(head - s->tail), COPY_BYTES), whole;

        if (!copy)
            return -ENOMEM;
        if (!copy_ring(s, copy, n))
            return -EBADMSG;
        whole = whole_records(copy, n);
        if (whole == 0)
            return -EBADMSG;
        s->tail += whole;
        r = code_map_feed(s->map, (struct span){ copy, whole });
    }
    return r;
}

/* Writes the lease and the tail for the agent, but not at each poll, since the agent waits for
 * neither. */
static void tell(struct stream *s, uint64_t now_ns)
{
    if (s->told_ns && now_ns - s->told_ns < TELL_NS &&
        s->tail - s->told_tail < STREAM_RING_BYTES / 4)
        return;
    s->h.lease_ns = now_ns + STREAM_LEASE_NS;
    s->h.tail = s->tail;
    PUT_FIELD(s, lease_ns);
    PUT_FIELD(s, tail);
    s->told_ns = now_ns;
    s->told_tail = s->tail;
}

int stream_poll(struct stream *s, uint64_t now_ns)
{
    uint64_t head;
    int r;

    if (s->broken || !take_header(s)) {
        s->broken = true;
        return -EBADMSG;
    }
    head = s->h.head;
    if (head < s->tail || head - s->tail > STREAM_RING_BYTES || head % 8) {
        s->broken = true;
        return -EBADMSG;
    }
    r = take_records(s, head);
    s->broken = r == -EBADMSG;
    if (!s->broken)
        tell(s, now_ns);
    return s->robbed ? -EBADMSG : r;
}

void stream_ask_interval(struct stream *s, uint64_t bytes)
{
    s->h.interval = bytes;
    PUT_FIELD(s, interval);
}

void stream_ask_live(struct stream *s, bool live)
{
    s->h.live = live;
    PUT_FIELD(s, live);
}

bool stream_read_live(struct stream *s, struct stream_live *ret)
{
    const size_t n = STREAM_LIVE_MAX * sizeof(*ret);

    return !s->broken && take_header(s) && s->h.state == STREAM_STREAMING &&
           pread(s->file, ret, n, (off_t)STREAM_TABLE_AT) == (ssize_t)n;
}

struct code_map *stream_map(struct stream *s)
{
    return s->map;
}

struct stream_status stream_status(const struct stream *s)
{
    uint32_t state = s->h.state;

    return (struct stream_status){
        .state = state <= STREAM_FAILED ? (enum stream_state)state : STREAM_FAILED,
        .step = s->h.step,
        .code = s->h.code,
        .dropped = s->h.dropped,
        .events = s->h.events,
        .replayed = s->h.replayed,
        .replay_ns = s->h.replay_ns,
        .interval = s->h.interval_now,
        .live_dead = s->h.live_dead,
        .live_missed = s->h.live_missed,
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
        [STREAM_STEP_REPLAY] = "ask for the code that is compiled already",
        [STREAM_STEP_BUSY] = "begin, because a suspended thread still holds the session before",
    };
    struct stream_status status = stream_status(s);
    bool samples = s->h.options & STREAM_OPTION_SAMPLES;
    const char *other =
        samples ? "event=alloc with source=probe needs no agent" : "symbols=memory needs no agent";

    if (s->broken) {
        error_set(err, -EBADMSG, "the JVM has overwritten the agent's memory");
        error_remedy(err, "%s", other);
        return -EBADMSG;
    }
    if (status.state == STREAM_IDLE) {
        error_set(err, -EACCES, "the agent was loaded but could not open flamed's memory");
        error_remedy(err,
                     "a security module may forbid it, or there is no /proc; attach_mount may "
                     "help; %s",
                     other);
        return -EACCES;
    }
    if (status.state == STREAM_FAILED && samples && status.step == STREAM_STEP_CAPABILITIES &&
        status.code == JVMTI_ERROR_NOT_AVAILABLE) {
        error_set(err, -EBUSY,
                  "another agent in that JVM samples its allocations, which only one may (JVMTI "
                  "error %d)",
                  status.code);
        error_remedy(err, "end the other profiler; %s", other);
        return -EBUSY;
    }
    if (status.state == STREAM_FAILED) {
        error_set(err, -EIO, "the agent could not %s (error %d of the JVM)",
                  status.step < ARRAY_SIZE(STEPS) ? STEPS[status.step] : "start", status.code);
        error_remedy(err, "%s", other);
        return -EIO;
    }
    return 0;
}
