/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/attachment.h"

#include "attach/backoff.h"
#include "attach/delivery.h"
#include "attach/preflight_facts.h"
#include "attach/reply.h"
#include "proc/looking.h"
#include "proc/stall_readers.h"
#include "symbolize/perf_map.h"

#include <poll.h>
#include <sys/stat.h>

#define PERFMAP_READ_MAX ((size_t)64 << 20)
#define PERFMAP_NAMES_MAX ((size_t)64 << 20)
#define BLOCK_BYTES 512                /* of st_blocks */
#define AGAIN_NS (250 * NSEC_PER_MSEC) /* time between two preflights */
#define JDK_STUBS_MIN 17               /* older JDKs crash by DynamicCodeGenerated (JDK-8212155) */

struct attachment {
    struct attachment *next;
    struct proc_id id;
    uint32_t mode;     /* ATTACH_LOAD or ATTACH_PERFMAP */
    uint64_t interval; /* bytes between samples of allocation; 0: the agent reports code */
    struct attach_way way;
    struct attach_places places;
    unsigned users;
    unsigned live_users; /* users for which the agent follows objects */
    enum attachment_state state;
    bool open;         /* began in at->backoff, and has not ended there */
    uint64_t again_ns; /* ATTACHMENT_PLANNED: the earliest time of the next try */
    int result_fd, out_fd;
    struct stream *stream;
    struct symbol_table text;
    struct error problem;
};

/* ---- life ---- */

static struct attachment *find(struct attaching *at, const struct proc_id *id, bool samples)
{
    for (struct attachment *a = at->attachments; a; a = a->next) {
        if (a->mode == ATTACH_LOAD && samples == (a->interval > 0) && proc_id_equal(&a->id, id))
            return a;
    }
    return NULL;
}

struct attachment *attachment_find(struct attaching *at, const struct proc_id *id)
{
    return find(at, id, /* samples= */ false);
}

static struct attachment *add(struct attaching *at, const struct process *p, uint32_t mode)
{
    struct attachment *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->id = p->id;
    a->mode = mode;
    a->way = backoff_way(&at->backoff, &p->id, mode);
    a->users = 1;
    a->result_fd = a->out_fd = -1;
    a->next = at->attachments;
    at->attachments = a;
    return a;
}

struct attachment *attachment_take(struct attaching *at, const struct process *p, uint32_t mode)
{
    struct attachment *a = mode == ATTACH_LOAD ? attachment_find(at, &p->id) : NULL;

    if (a && a->state != ATTACHMENT_FAILED) {
        a->users++;
        return a;
    }
    return add(at, p, mode);
}

struct attachment *attachment_take_sampling(struct attaching *at, const struct process *p,
                                            uint64_t interval)
{
    struct attachment *a = find(at, &p->id, /* samples= */ true);

    if (a && a->state != ATTACHMENT_FAILED) {
        a->users++;
        a->interval = MIN(a->interval, interval);
        if (a->stream)
            stream_ask_interval(a->stream, a->interval);
        return a;
    }
    a = add(at, p, ATTACH_LOAD);
    if (a) {
        a->interval = interval;
        a->way.mode = ATTACH_LOAD;
    }
    return a;
}

void attachment_take_live(struct attachment *a)
{
    if (a->live_users++ == 0 && a->stream)
        stream_ask_live(a->stream, true);
}

void attachment_leave_live(struct attachment *a)
{
    if (--a->live_users == 0 && a->stream)
        stream_ask_live(a->stream, false);
}

bool attachment_live(struct attachment *a, struct stream_live *ret,
                     struct stream_status *ret_status)
{
    if (a->state != ATTACHMENT_READY || !a->stream || !stream_read_live(a->stream, ret))
        return false;
    *ret_status = stream_status(a->stream);
    return true;
}

void attachment_interval(const struct attachment *a, uint64_t *ret_asked, uint64_t *ret_now)
{
    *ret_asked = a->interval;
    *ret_now = a->stream ? stream_status(a->stream).interval : 0;
}

/* Stores in at->backoff that the attach is over, so that no agent of it is in the JVM. */
static void close_attach(struct attaching *at, struct attachment *a)
{
    if (a->open)
        backoff_end(&at->backoff, &a->id);
    a->open = false;
}

/* Ends our agent in the JVM. */
static void leave(struct attaching *at, struct attachment *a)
{
    close_attach(at, a);
    a->stream = stream_close(a->stream);
    a->result_fd = close_fd(a->result_fd);
    a->out_fd = close_fd(a->out_fd);
}

struct attachment *attachment_release(struct attaching *at, struct attachment *a)
{
    struct attachment **link = &at->attachments;

    if (!a || --a->users)
        return NULL;
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    leave(at, a);
    symbol_table_deinit(&a->text);
    free(a);
    return NULL;
}

/* @r: a negative errno, for a failure without a sentence in @err. */
static void fail(struct attaching *at, struct attachment *a, int r, const struct error *err)
{
    a->problem = *err;
    if (!a->problem.msg[0])
        error_code(&a->problem, r, "flamed cannot take in what the agent reports");
    a->state = ATTACHMENT_FAILED;
    leave(at, a);
}

/* ---- begin ---- */

uint32_t attachment_options(int jdk)
{
    return jdk >= JDK_STUBS_MIN ? STREAM_OPTION_STUBS : 0;
}

/* Counts the file @fd that an agent writes. Its pages exist if they are charged to flamed;
 * otherwise the JVM's writes allocate them, and its container is charged. */
static void count_file(struct attaching *at, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0)
        at->files[(uint64_t)st.st_blocks * BLOCK_BYTES >= STREAM_BYTES]++;
}

/* Begins the attach if the preflight finds no obstacle; waits if the obstacle will pass. */
static void begin(struct attaching *at, struct attachment *a, uint64_t now_ns)
{
    struct process *p = discover_find(at->discover, a->id.host_pid);
    const struct preflight_step *obstacle;
    struct error err = ERROR_NULL;
    struct preflight f;
    int r = PROC_GONE;

    if (p && !p->exited && proc_id_equal(&p->id, &a->id)) {
        preflight_process(at, /* v= */ NULL, p, &f);
        a->places = f.places;
        obstacle = preflight_obstacle(&f, a->mode);
        if (preflight_passes(p, &f)) {
            a->again_ns = now_ns + AGAIN_NS;
            return;
        }
        if (obstacle || (a->mode == ATTACH_PERFMAP && !f.perfmap)) {
            at->ended[ATTACH_END_PREFLIGHT]++;
            error_set(&err, -EPERM, "%s",
                      obstacle ? obstacle->reason
                               : "this JDK cannot write its map to a file of a given name (JDK 22 "
                                 "and later can)");
            error_remedy(&err, "%s", obstacle ? obstacle->remedy : "symbols=memory or agent");
            fail(at, a, -EPERM, &err);
            return;
        }
        r = broker_attach(at->broker, &a->id, a->way.mode, a->way.tmp,
                          a->interval              ? STREAM_OPTION_SAMPLES
                          : a->mode == ATTACH_LOAD ? attachment_options(p->jdk)
                                                   : 0,
                          &a->result_fd, &a->out_fd, &err);
    }
    if (r == 0) {
        backoff_begin(&at->backoff, p);
        a->open = true;
        a->state = ATTACHMENT_ATTACHING;
        if (a->mode == ATTACH_LOAD) {
            count_file(at, a->out_fd);
            r = stream_open(take_fd(&a->out_fd), at->memory, readers_owner(&a->id), &a->stream,
                            &err);
        }
        if (r == 0 && a->interval)
            stream_ask_interval(a->stream, a->interval);
        if (r == 0 && a->live_users)
            stream_ask_live(a->stream, true);
    } else if (r > 0) {
        error_set(&err, -ESRCH, "process %d has exited", a->id.host_pid);
    } else {
        attachment_not_begun(at, r);
    }
    if (r != 0)
        fail(at, a, r, &err);
}

/* ---- the outcome ---- */

void attachment_not_begun(struct attaching *at, int error)
{
    if (error == -EDQUOT)
        at->ended[ATTACH_END_OWNER]++;
}

int attachment_result(struct attaching *at, int result_fd, uint32_t mode, struct error *err)
{
    char bytes[sizeof(struct attach_result)];
    struct attach_result result;
    ssize_t n = read(result_fd, bytes, sizeof(bytes));
    int r;

    if (n < 0 || attach_result_check((struct span){ bytes, (size_t)n }, &result) < 0) {
        at->ended[ATTACH_STEP_NONE]++;
        return error_set(err, -EPROTO, "the attach helper sent no result");
    }
    if (result.step == ATTACH_STEP_JOB && (result.error == EAGAIN || result.error == EBUSY))
        return error_set(err, -EAGAIN, "another attach is under way on this node");
    r = attach_outcome(&result, mode, err);
    if (r == -EDQUOT)
        attachment_not_begun(at, r);
    else if (r < 0 && result.step == ATTACH_STEP_DONE)
        at->ended[ATTACH_END_REFUSED]++;
    else
        at->ended[result.step]++;
    return r;
}

void attachment_metrics(const struct attaching *at, struct buf *out)
{
    buf_printf(out, "# HELP flamed_attaches_total Attaches to JVMs, by result: done, "
                    "the step that failed, refused by the JVM, preflight, or owner. "
                    "Owner: its container or user keeps too much of earlier "
                    "attaches.\n# TYPE flamed_attaches_total counter\n");
    for (uint32_t i = 0; i < ATTACH_ENDS; i++) {
        const char *name = i == ATTACH_END_REFUSED     ? "refused"
                           : i == ATTACH_END_PREFLIGHT ? "preflight"
                           : i == ATTACH_END_OWNER     ? "owner"
                                                       : attach_step_name(i);

        if (at->ended[i] || i == ATTACH_STEP_DONE)
            buf_printf(out, "flamed_attaches_total{result=\"%s\"} %ju\n", name,
                       (uintmax_t)at->ended[i]);
    }
    buf_printf(out,
               "# HELP flamed_attach_files_total Files for agents, by who is charged for their "
               "memory: flamed, or the JVM's container once flamed has paid for as many as it may."
               "\n# TYPE flamed_attach_files_total counter\n"
               "flamed_attach_files_total{charged=\"flamed\"} %ju\n"
               "flamed_attach_files_total{charged=\"container\"} %ju\n",
               (uintmax_t)at->files[1], (uintmax_t)at->files[0]);
}

int attachment_read_text(int fd, struct symbol_table *ret)
{
    _cleanup_symbol_builder_ struct symbol_builder b;
    _cleanup_buf_ struct buf text = BUF_UPTO(PERFMAP_READ_MAX);
    ssize_t n = 0;
    int r;

    symbol_builder_init(&b, PERF_MAP_ENTRIES_MAX, PERFMAP_NAMES_MAX);
    lseek(fd, 0, SEEK_SET);
    r = buf_read_fd(&text, fd);
    if (r == 0 || r == -EFBIG) /* -EFBIG: use the part that fitted */
        n = perf_map_parse((struct span){ text.p, text.n }, &b);
    if (n < 0 || (r < 0 && r != -EFBIG))
        return n < 0 ? (int)n : r;
    return symbol_table_build(&b, ret);
}

static void plan_again(struct attaching *at, struct attachment *a, uint64_t now_ns)
{
    leave(at, a);
    a->state = ATTACHMENT_PLANNED;
    a->again_ns = now_ns + AGAIN_NS;
}

static void finish(struct attaching *at, struct attachment *a, uint64_t now_ns)
{
    struct error err = ERROR_NULL;
    int r = attachment_result(at, a->result_fd, a->way.mode, &err);

    if (r == -EAGAIN) {
        backoff_cancel(&at->backoff, &a->id);
        a->open = false;
        plan_again(at, a, now_ns);
        return;
    }
    a->result_fd = close_fd(a->result_fd);
    if (r == 0 && a->stream) {
        r = stream_poll(a->stream, now_ns);
        r = stream_problem(a->stream, &err) ?: r;
    } else if (r == 0) {
        r = attachment_read_text(a->out_fd, &a->text);
        if (r < 0)
            error_code(&err, r, "the JVM's own map cannot be read");
    }
    if (r < 0 && !a->interval && attach_way_next(&a->way, r, &a->places, at->allow_mounts)) {
        plan_again(at, a, now_ns);
        return;
    }
    backoff_note(&at->backoff, &a->id, r < 0);
    if (r == 0)
        backoff_set_way(&at->backoff, &a->id, &a->way);
    if (a->mode == ATTACH_PERFMAP)
        close_attach(at, a);
    if (r < 0)
        fail(at, a, r, &err);
    else
        a->state = ATTACHMENT_READY;
}

static void listen_on(struct attaching *at, struct attachment *a, uint64_t now_ns)
{
    struct error err = ERROR_NULL;
    int r;

    if (!a->stream)
        return;
    r = stream_poll(a->stream, now_ns);
    if (r < 0) {
        if (r == -EBADMSG)
            stream_problem(a->stream, &err);
        backoff_note(&at->backoff, &a->id, /* failed= */ true);
        fail(at, a, r, &err);
    } else if (a->state == ATTACHMENT_READY && stream_status(a->stream).state == STREAM_ENDED) {
        r = error_set(&err, -ECANCELED,
                      "the agent heard nothing from flamed for 5 s, or another flamed took it "
                      "over");
        fail(at, a, r, &err);
    }
}

/* Takes a step of @a, which is attaching or ready. */
static void follow(struct attaching *at, struct attachment *a, uint64_t now_ns)
{
    struct pollfd p = { .fd = a->result_fd, .events = POLLIN };

    looking_begin(LOOKING_CODE, &a->id, /* jvm= */ true);
    if (a->state == ATTACHMENT_ATTACHING && poll(&p, 1, 0) > 0)
        finish(at, a, now_ns);
    else
        listen_on(at, a, now_ns);
    looking_end();
}

void attachments_poll(struct attaching *at, uint64_t now_ns)
{
    for (struct attachment *a = at->attachments; a; a = a->next) {
        if (a->state == ATTACHMENT_PLANNED && now_ns >= a->again_ns)
            begin(at, a, now_ns);
        else if (a->state == ATTACHMENT_ATTACHING || a->state == ATTACHMENT_READY)
            follow(at, a, now_ns);
    }
    backoff_poll(&at->backoff, at->broker, now_ns);
}

/* ---- what is known ---- */

enum attachment_state attachment_state(const struct attachment *a)
{
    return a->state;
}

const struct error *attachment_problem(const struct attachment *a)
{
    return &a->problem;
}

struct code_map *attachment_map(const struct attachment *a)
{
    return a->stream ? stream_map(a->stream) : NULL;
}

struct symbol_table *attachment_text(struct attachment *a)
{
    return a->mode == ATTACH_PERFMAP && a->state == ATTACHMENT_READY ? &a->text : NULL;
}

const char *attachment_way(const struct attachment *a)
{
    return attach_way_text(&a->way);
}

uint64_t attachment_dropped(const struct attachment *a)
{
    return a->stream
               ? stream_status(a->stream).dropped + code_map_stats(stream_map(a->stream)).dropped
               : 0;
}
