/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JVM's perf map for other tools. The engine's thread only sends requests to the broker, which
 * answers at once. The caller's thread does the waiting.
 */
#include "api/api_impl.h"
#include "attach/attachment.h"
#include "attach/backoff.h"
#include "attach/preflight_facts.h"
#include "base/text.h"
#include "base/u64_cache.h"
#include "elf/symbol_table.h"
#include "proc/stall_readers.h"
#include "symbolize/java_text.h"

#include <poll.h>

#define WAIT_NS (10 * NSEC_PER_SEC) /* for an answer, with all tries of an attach */
#define TRY_NS NSEC_PER_SEC         /* a further try begins only while there is this much left */
#define AGAIN_MS 250 /* pause between two tries of an attach that is not yet permitted */
#define MAP_TURN_NS (50 * NSEC_PER_MSEC) /* CPU time of one turn, and of the ranges of one code */
#define METHODS_MAX (1u << 17)
#define NAMES_MAX ((size_t)32 << 20)
#define ASK_ATTACH 1000 /* larger than all outcomes of a backend */

struct ask {
    const struct viewer *viewer;
    int32_t host_pid;
    bool unfold;
    struct buf *out;
    uint32_t mode;
    struct proc_id id;
    bool may_mount;
    bool begun;
    uint64_t deadline_ns;  /* of all tries */
    struct attach_way way; /* way in which the attach was begun */
    struct attach_places places;
    int result_fd, out_fd;
    struct error *err;
};

/* Writes one line of /tmp/perf-PID.map. @name is clean already, but may have a line end. */
static void add_line(struct buf *out, uint64_t start, uint64_t end, struct span name)
{
    buf_printf(out, "%jx %jx ", (uintmax_t)start, (uintmax_t)(end - start));
    buf_add_span(out, name);
    buf_add_char(out, '\n');
}

static void add_method(struct buf *name, struct span class_name, struct span method)
{
    _cleanup_buf_ struct buf raw = BUF_UPTO(4 * TEXT_NAME_MAX);

    java_class_text(class_name, &raw);
    buf_add_char(&raw, '.');
    buf_add_span(&raw, method);
    text_clean(buf_span(&raw), TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, name);
}

/* Names by Method*. Each name is read only once, because inlining repeats methods many times. */
struct memory_lines {
    struct hotspot_vm *vm;
    struct buf *out;
    bool unfold;
    struct u64_cache at;   /* Method* -> 1 + offset in names */
    struct buf names;      /* each ends with a NUL */
    uint64_t ranges_until; /* CPU time of the thread at which the ranges of one code are given up */
    bool unanswered;       /* the name of a method was not read in time */
};

static void memory_name(struct memory_lines *l, uint64_t method, struct buf *name)
{
    struct hotspot_method m;
    uint32_t at;
    int r;

    if (u64_cache_get(&l->at, method, &at)) {
        buf_add_str(name, l->names.p + at - 1);
        return;
    }
    r = hotspot_method_read(l->vm, method, &m);
    if (r < 0) {
        l->unanswered = l->unanswered || r == -ETIMEDOUT;
        buf_add_str(name, "[unknown]");
        return;
    }
    at = (uint32_t)l->names.n + 1;
    add_method(&l->names, (struct span){ m.class_name, m.class_name_n },
               (struct span){ m.name, m.name_n });
    buf_add_char(&l->names, '\0');
    if (l->names.error) { /* no room in `names`: further names are not cached */
        l->names.n = at - 1;
        l->names.error = 0;
        add_method(name, (struct span){ m.class_name, m.class_name_n },
                   (struct span){ m.name, m.name_n });
        return;
    }
    buf_add_str(name, l->names.p + at - 1);
    u64_cache_put(&l->at, method, at);
}

static int memory_range(void *cookie, uint64_t start, uint64_t end,
                        const struct hotspot_location *frames, size_t count)
{
    struct memory_lines *l = cookie;
    _cleanup_buf_ struct buf name = BUF_UPTO((size_t)HOTSPOT_INLINE_MAX * 2 * TEXT_NAME_MAX);

    for (size_t i = count; i > 0; i--) {
        memory_name(l, frames[i - 1].method, &name);
        if (i > 1)
            buf_add_str(&name, "->");
    }
    add_line(l->out, start, end, buf_span(&name));
    if (l->unanswered)
        return -ETIMEDOUT;
    return l->out->error ?: (clock_ns(CLOCK_THREAD_CPUTIME_ID) > l->ranges_until ? -E2BIG : 0);
}

/* Adds a line for each range of @code. Returns 1 if the code has too many, or if they are none. */
static int memory_ranges(struct memory_lines *l, const struct hotspot_code *code)
{
    size_t before = l->out->n;
    int r;

    l->ranges_until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + MAP_TURN_NS;
    r = hotspot_code_ranges(l->vm, code, memory_range, l);
    if (l->out->error || r == -ESRCH || r == -ETIMEDOUT)
        return r;
    if (r == -E2BIG || r == -ERANGE || hotspot_code_still(l->vm, code) != 1)
        l->out->n = before; /* the code was replaced during the read, or its records are no such */
    return r == -E2BIG || r == -ERANGE;
}

static int memory_line(void *cookie, const struct hotspot_code *code)
{
    struct memory_lines *l = cookie;
    _cleanup_buf_ struct buf name;
    int r = l->unfold && code->kind == HOTSPOT_CODE_COMPILED ? memory_ranges(l, code) : 1;

    if (r <= 0)
        return r;
    buf_init(&name, 2 * TEXT_NAME_MAX);
    if (code->method)
        memory_name(l, code->method, &name);
    else
        text_clean(java_stub_text(span_of(code->name[0] ? code->name : "[unknown]")), TEXT_UTF8,
                   TEXT_NAME_MAX, &name);
    add_line(l->out, code->start, code->end, buf_span(&name));
    return l->out->error;
}

struct memory_map {
    struct ask *ask;
    struct memory_lines lines;
    struct hotspot_codes_at at;
    struct proc_id id; /* no start time: the first turn sets it */
};

/* Takes back what the turn from @from on wrote: the JVM's owner has no CPU time left for now. */
static void turn_back(struct memory_map *m, const struct hotspot_codes_at *from, size_t bytes)
{
    m->at = *from;
    m->lines.out->n = bytes;
    m->lines.unanswered = false;
}

/* Writes a part of the map, in MAP_TURN_NS of the engine's CPU time, which the JVM's owner pays.
 * Return: 0; -EINPROGRESS: call it again; -EAGAIN: call it again, later; an outcome or -errno. */
static int call_memory_map(struct api *api, void *arg)
{
    struct memory_map *m = arg;
    struct ask *a = m->ask;
    struct hotspot_codes_at from = m->at;
    uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    size_t bytes = a->out->n;
    struct process *p;
    int r = jvm_find_readable(api, a->viewer, a->host_pid, &p, a->err);

    if (r)
        return r;
    if (m->id.start_ticks && !proc_id_equal(&m->id, &p->id))
        return error_code(a->err, -ESRCH, "cannot read the code of JVM %d", a->host_pid);
    if (!readers_afford_work(&p->id))
        return -EAGAIN;
    m->id = p->id;
    m->lines.vm = p->vm;
    m->at.until_ns = began_ns + MAP_TURN_NS;
    r = hotspot_vm_codes(p->vm, &m->at, memory_line, &m->lines);
    readers_spend_work(&p->id, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns);
    if (m->lines.unanswered || r == -ETIMEDOUT) {
        turn_back(m, &from, bytes);
        return -EAGAIN;
    }
    if (r < 0 && r != -EINPROGRESS)
        return error_code(a->err, r, "cannot read the code of JVM %d", a->host_pid);
    return MIN(r, 0);
}

/* Returns @r as an outcome: a failure caused by the JVM, its container or the kernel is a conflict,
 * not an error of flamed. */
static int outcome_of(int r)
{
    return r < 0 && r != -ENOMEM ? BACKEND_CONFLICT : r;
}

static int memory_map(void *ctx, struct ask *a)
{
    struct memory_map m = { .ask = a, .lines = { .out = a->out, .unfold = a->unfold } };
    uint64_t deadline_ns = clock_monotonic_ns() + WAIT_NS;
    int r;

    u64_cache_init(&m.lines.at, METHODS_MAX);
    buf_init(&m.lines.names, NAMES_MAX);
    while ((r = api_ask(ctx, call_memory_map, &m, a->err)) == -EINPROGRESS || r == -EAGAIN) {
        if (clock_monotonic_ns() > deadline_ns) {
            error_set(a->err, -ETIMEDOUT, "the code of JVM %d was not read within 10 s",
                      a->host_pid);
            error_remedy(a->err, "ask again later, or with symbols=agent");
            r = -ETIMEDOUT;
            break;
        }
        if (r == -EAGAIN)
            poll(NULL, 0, AGAIN_MS);
    }
    u64_cache_deinit(&m.lines.at);
    buf_deinit(&m.lines.names);
    if (r == -ESRCH) {
        error_set(a->err, r, "JVM %d has exited", a->host_pid);
        return BACKEND_NOT_FOUND;
    }
    return outcome_of(r);
}

static int call_begin(struct api *api, void *arg)
{
    struct ask *a = arg;
    const struct preflight_step *obstacle;
    struct preflight f;
    struct process *p;
    int r = jvm_find(api, a->viewer, a->host_pid, &p, a->err);

    if (r)
        return r;
    preflight_process(api->engine.attaching, a->viewer, p, &f);
    obstacle = preflight_obstacle(&f, a->mode);
    if (obstacle) {
        error_set(a->err, -EPERM, "JVM %d is not attached to: %s", a->host_pid, obstacle->reason);
        error_remedy(a->err, "%s", obstacle->remedy);
        a->err->step = obstacle->name;
        return BACKEND_CONFLICT;
    }
    if (a->mode == ATTACH_PERFMAP && !f.perfmap) {
        error_set(a->err, -EOPNOTSUPP,
                  "JDK %d cannot write its map to a file of a given name (JDK 22 and later can)",
                  p->jdk);
        error_remedy(a->err, "symbols=memory, or symbols=agent");
        return BACKEND_CONFLICT;
    }
    a->may_mount = api->engine.attaching->allow_mounts;
    a->places = f.places;
    if (!a->begun)
        a->way = backoff_way(&api->engine.attaching->backoff, &p->id, a->mode);
    a->begun = true;
    r = broker_attach(api->engine.broker, &p->id, a->way.mode, a->way.tmp,
                      a->mode == ATTACH_LOAD ? attachment_options(p->jdk) | STREAM_OPTION_ONCE : 0,
                      &a->result_fd, &a->out_fd, a->err);
    if (r == PROC_GONE) {
        error_set(a->err, -ESRCH, "JVM %d has exited", a->host_pid);
        return BACKEND_NOT_FOUND;
    }
    if (r == 0) {
        a->id = p->id;
        backoff_begin(&api->engine.attaching->backoff, p);
    } else {
        attachment_not_begun(api->engine.attaching, r);
    }
    return r;
}

enum try_end {
    TRY_NOT_BEGUN,  /* another attach was under way on the node */
    TRY_WAY_FAILED, /* another way is tried next */
    TRY_FAILED,
    TRY_DONE,
};

struct try_note {
    struct backoff *backoff;
    struct proc_id id;
    struct attach_way way;
    enum try_end end;
};

static int post_note(void *arg)
{
    const struct try_note *n = arg;

    if (n->end == TRY_NOT_BEGUN) {
        backoff_cancel(n->backoff, &n->id);
        return 0;
    }
    backoff_end(n->backoff, &n->id);
    if (n->end != TRY_WAY_FAILED)
        backoff_note(n->backoff, &n->id, n->end == TRY_FAILED);
    if (n->end == TRY_DONE)
        backoff_set_way(n->backoff, &n->id, &n->way);
    return 0;
}

/* Notes how a try ended, which sets when the next attach is permitted. A stalled engine notes it
 * later: a try without an end would make each later crash of the JVM one of ours. */
static void note_try(struct api *api, const struct ask *a, enum try_end end)
{
    struct try_note n = { &api->engine.attaching->backoff, a->id, a->way, end };

    mailbox_post(api->engine.mailbox, post_note, &n, sizeof(n));
}

static void agent_name(const struct code_map *m, uint32_t id, struct buf *name)
{
    struct code_method method;

    if (code_map_method(m, id, &method))
        add_method(name, method.class_name, method.name);
    else
        buf_add_str(name, "[unknown]");
}

struct agent_lines {
    struct code_map *map;
    struct buf *out;
    bool unfold;
};

static int agent_range(void *cookie, uint64_t start, uint64_t end,
                       const struct code_location *frames, size_t count)
{
    struct agent_lines *a = cookie;
    _cleanup_buf_ struct buf name = BUF_UPTO((size_t)CODE_MAP_FRAMES_MAX * 2 * TEXT_NAME_MAX);

    for (size_t i = count; i > 0; i--) {
        agent_name(a->map, frames[i - 1].method, &name);
        if (i > 1)
            buf_add_str(&name, "->");
    }
    add_line(a->out, start, end, buf_span(&name));
    return a->out->error;
}

static int agent_piece(void *cookie, const struct code_piece *p)
{
    struct agent_lines *a = cookie;
    _cleanup_buf_ struct buf name = BUF_UPTO(2 * TEXT_NAME_MAX);

    if (a->unfold && !p->stub)
        return code_map_each_range(p, agent_range, a);
    if (p->stub)
        text_clean(java_stub_text(p->stub_name), TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &name);
    else
        agent_name(a->map, p->method, &name);
    add_line(a->out, p->start, p->end, buf_span(&name));
    return a->out->error;
}

/* Copies the map of an agent that already reports to a capture: a JVM has at most one agent of
 * flamed. 0; BACKEND_CONFLICT: an attach is under way; ASK_ATTACH: there is no agent. */
static int call_session_map(struct api *api, void *arg)
{
    struct ask *a = arg;
    struct attachment *session;
    struct process *p;
    int r = jvm_find(api, a->viewer, a->host_pid, &p, a->err);
    struct agent_lines lines = { .out = a->out, .unfold = a->unfold };

    if (r)
        return r;
    session = attachment_find(api->engine.attaching, &p->id);
    if (!session || attachment_state(session) == ATTACHMENT_FAILED)
        return ASK_ATTACH;
    if (attachment_state(session) != ATTACHMENT_READY) {
        error_set(a->err, -EBUSY, "a capture is attaching to JVM %d", a->host_pid);
        error_remedy(a->err, "ask again in a second; symbols=memory needs no attach");
        return BACKEND_CONFLICT;
    }
    lines.map = attachment_map(session);
    return code_map_each(lines.map, UINT64_MAX, agent_piece, &lines);
}

/* Waits for the helper's result, and renews the lease of the agent. 0; -ETIMEDOUT; -errno. */
static int wait_result(struct api *api, struct ask *a, struct stream *s)
{
    uint64_t began_ns = clock_monotonic_ns(), now_ns;

    for (;;) {
        struct pollfd p = { .fd = a->result_fd, .events = POLLIN };

        if (poll(&p, 1, 100) > 0)
            break;
        now_ns = clock_monotonic_ns();
        if (s && stream_poll(s, now_ns) < 0)
            break;
        if (now_ns > a->deadline_ns) {
            error_set(a->err, -ETIMEDOUT, "JVM %d did not answer within %.0f s", a->host_pid,
                      (double)(now_ns - began_ns) / NSEC_PER_SEC);
            error_remedy(a->err, "it may be in a long collection; symbols=memory needs no attach");
            return -ETIMEDOUT;
        }
    }
    return attachment_result(api->engine.attaching, a->result_fd, a->way.mode, a->err);
}

static int read_agent(struct api *api, struct ask *a)
{
    _cleanup_(stream_closep) struct stream *s = NULL;
    struct agent_lines lines = { .out = a->out, .unfold = a->unfold };
    int r = stream_open(take_fd(&a->out_fd), /* memory= */ NULL, /* owner= */ 0, &s, a->err)
                ?: wait_result(api, a, s);

    if (r < 0)
        return r;
    r = stream_poll(s, clock_monotonic_ns());
    if (r == 0 || r == -EBADMSG)
        r = stream_problem(s, a->err);
    if (r < 0)
        return r;
    lines.map = stream_map(s);
    return code_map_each(lines.map, UINT64_MAX, agent_piece, &lines);
}

/* Reads the map that the JVM wrote, and cleans each line: the JVM controls its text. */
static int read_perfmap(struct api *api, struct ask *a)
{
    struct symbol_table t = { 0 };
    int r = wait_result(api, a, NULL) ?: attachment_read_text(a->out_fd, &t);

    for (size_t i = 0; r == 0 && i < t.count; i++) {
        _cleanup_buf_ struct buf name = BUF_UPTO(2 * TEXT_NAME_MAX);

        text_clean(symbol_name(&t, &t.symbols[i]), TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &name);
        add_line(a->out, t.symbols[i].start, symbol_end(&t.symbols[i]), buf_span(&name));
    }
    symbol_table_deinit(&t);
    return r;
}

static void forget_try(struct ask *a)
{
    a->result_fd = close_fd(a->result_fd);
    a->out_fd = close_fd(a->out_fd);
    a->out->n = 0;
    *a->err = ERROR_NULL;
}

/* Tries the ways to attach one after another, if more than the first are allowed. Waits for its
 * turn: the broker permits one attach a second on the node. */
static int attach_ways(void *ctx, struct ask *a)
{
    int r;
    bool again, in_time;

    a->deadline_ns = clock_monotonic_ns() + WAIT_NS;
    for (;;) {
        r = api_ask(ctx, call_begin, a, a->err);
        if (r != 0 || a->result_fd < 0)
            return r;
        r = a->mode == ATTACH_PERFMAP ? read_perfmap(ctx, a) : read_agent(ctx, a);
        in_time = clock_monotonic_ns() + TRY_NS <= a->deadline_ns;
        if (r == -EAGAIN) { /* the node's attach before this one is not a second old */
            note_try(ctx, a, TRY_NOT_BEGUN);
            again = in_time;
        } else if (r == 0 || a->out->error) {
            note_try(ctx, a, TRY_DONE);
            again = false;
        } else {
            again =
                in_time && a->may_mount && attach_way_next(&a->way, r, &a->places, a->may_mount);
            note_try(ctx, a, again ? TRY_WAY_FAILED : TRY_FAILED);
        }
        if (!again)
            break;
        forget_try(a);
        poll(NULL, 0, AGAIN_MS);
    }
    if (r == -EAGAIN) /* the JVM is not the cause of this failure */
        error_remedy(a->err, "ask again in a second; symbols=memory needs no attach");
    return outcome_of(r);
}

int backend_perf_map(void *ctx, const struct viewer *v, int32_t host_pid,
                     enum symbols_source symbols, bool unfold, struct buf *out, struct error *err)
{
    struct ask a = {
        .viewer = v,
        .host_pid = host_pid,
        .unfold = unfold,
        .out = out,
        .result_fd = -1,
        .out_fd = -1,
        .err = err,
        .mode = symbols == SYMBOLS_PERFMAP ? ATTACH_PERFMAP : ATTACH_LOAD,
    };
    int r;

    if (unfold && symbols == SYMBOLS_PERFMAP) {
        error_parameter(err, "unfold", -EINVAL, "the JVM's own map has no inlined methods");
        error_remedy(err, "use symbols=memory or agent, or leave out unfold");
        r = BACKEND_CONFLICT;
    } else if (symbols == SYMBOLS_AGENT || symbols == SYMBOLS_PERFMAP) {
        r = symbols == SYMBOLS_AGENT ? api_ask(ctx, call_session_map, &a, err) : ASK_ATTACH;
        if (r == ASK_ATTACH)
            r = attach_ways(ctx, &a);
        close_fd(a.result_fd);
        close_fd(a.out_fd);
    } else {
        r = memory_map(ctx, &a);
    }
    if (out->error) {
        r = error_set(err, out->error, "the map is larger than an answer may be");
        error_remedy(err, "%sraise answer_max_bytes in the configuration",
                     unfold ? "leave out unfold, or " : "");
    }
    return r;
}
