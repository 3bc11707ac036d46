/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching to a JVM: whether it may be done (preflight), what came of it before (history), and the
 * JVM's map as text for other tools. The engine's thread asks the broker, which answers at once;
 * the waiting is done on the thread of whoever asked.
 */
#include "attach/preflight.h"
#include "attach/reply.h"
#include "attach/stream.h"
#include "base/text.h"
#include "capture/engine_impl.h"
#include "symbolize/java_text.h"

#include <poll.h>

#define WAIT_NS (10 * NSEC_PER_SEC)
#define PERFMAP_READ_MAX ((size_t)64 << 20)
#define HISTORY_MAX 256
#define BACK_OFF_FIRST_NS (10 * NSEC_PER_SEC)
#define BACK_OFF_MOST_NS (600 * NSEC_PER_SEC)
#define CRASH_NS (10 * NSEC_PER_SEC) /* an end so soon after an attach is held to be of it */
#define TICK_NS UINT64_C(10000000)

/* ---- history: on the engine's thread ---- */

struct history {
    struct proc_id id;
    char like[256]; /* cgroup and main class: a restarted one is the same to us */
    uint64_t attached_ns, again_ns;
    unsigned failures;
    bool crashed;
};

static struct history history[HISTORY_MAX];
static size_t history_next;

static void like_of(const struct process *p, char *buf, size_t size)
{
    snprintf(buf, size, "%.160s %.90s", p->cgroup, p->main ? p->main : "");
}

/* The entry of this image, or NULL. */
static struct history *history_find(const struct proc_id *id)
{
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        if (history[i].attached_ns && proc_id_equal(&history[i].id, id))
            return &history[i];
    }
    return NULL;
}

static struct history *history_of(const struct process *p)
{
    struct history *h = history_find(&p->id);

    if (!h) {
        h = &history[history_next++ % HISTORY_MAX];
        *h = (struct history){ .id = p->id };
        like_of(p, h->like, sizeof(h->like));
    }
    return h;
}

/* Whether one that looks like @p ended within CRASH_NS of an attach. */
static bool history_crashed(struct engine *e, const struct process *p)
{
    char like[256];

    like_of(p, like, sizeof(like));
    for (size_t i = 0; i < HISTORY_MAX; i++) {
        struct history *h = &history[i];
        uint64_t start;

        if (!h->attached_ns || strcmp(h->like, like) != 0)
            continue;
        if (!h->crashed && clock_monotonic_ns() - h->attached_ns < CRASH_NS &&
            !proc_id_equal(&h->id, &p->id) &&
            (proc_read_start(e->opts.proc_fd, h->id.host_pid, &start) != 0 ||
             start != h->id.start_ticks))
            h->crashed = true;
        if (h->crashed)
            return true;
    }
    return false;
}

/* ---- preflight ---- */

static enum preflight_flag flag_of(const struct process *p, const char *name)
{
    uint64_t value;

    if (!p->vm || hotspot_vm_flag(p->vm, name, &value) != 0)
        return PREFLIGHT_UNKNOWN;
    return value ? PREFLIGHT_TRUE : PREFLIGHT_FALSE;
}

static void run_preflight(struct engine *e, struct process *p, struct preflight *ret)
{
    struct error state = ERROR_NULL;
    const struct history *h = history_find(&p->id);
    uint64_t now = clock_monotonic_ns();
    uint64_t up_ns = clock_ns(CLOCK_BOOTTIME), start_ns = p->id.start_ticks * TICK_NS;
    char back_off[96] = "";
    struct preflight_facts f = {
        .injection_allowed = e->opts.allow_injection,
        .vm_known = p->jvm == JVM_READY,
        .vm_problem = p->jvm == JVM_STARTING ? "the JVM is still starting" : p->reason,
        .jdk = p->jdk,
        .java_version = p->java_version,
        .vm_name = p->vm_name,
        .age_ns = p->exec_time_ns    ? now - p->exec_time_ns
                  : up_ns > start_ns ? up_ns - start_ns
                                     : 0,
        .attach_disabled =
            p->attach_disabled ? PREFLIGHT_TRUE : flag_of(p, "DisableAttachMechanism"),
        .reduced_signals = flag_of(p, "ReduceSignalUsage"),
        .dynamic_agents = flag_of(p, "EnableDynamicAgentLoading"),
        .crashed = history_crashed(e, p),
    };

    if (h && now < h->again_ns)
        snprintf(back_off, sizeof(back_off), "%u attaches have failed: the next may be in %ju s",
                 h->failures, (uintmax_t)((h->again_ns - now) / NSEC_PER_SEC + 1));
    f.backing_off = back_off;
    f.state_result = broker_attach_check(e->broker, &p->id, &state);
    f.state_problem = state.msg;
    f.state_remedy = state.remedy;
    preflight_run(&f, ret);
}

/* The JVM @host_pid; BACKEND_NOT_FOUND. */
static int find_jvm(struct engine *e, int32_t host_pid, struct process **ret, struct error *err)
{
    struct target_selector s = { .pids = { host_pid }, .pid_count = 1 };
    _cleanup_(target_freep) struct target *t = NULL;
    int r = target_new(&s, &t, err);

    if (r == 0)
        r = target_check(t, e->discover, e->opts.proc_fd, err);
    if (r != 0)
        return r;
    *ret = discover_find(e->discover, host_pid);
    if (!*ret || (*ret)->jvm == JVM_NO) {
        error_parameter(err, "pid", -ESRCH, "process %d is no JVM: it has no libjvm.so mapped",
                        host_pid);
        error_remedy(err, "GET /api/v1/jvms lists the JVMs");
        return BACKEND_NOT_FOUND;
    }
    discover_refresh(e->discover, *ret);
    return 0;
}

struct ask {
    int32_t host_pid;
    json_t **ret;
    enum symbols_source symbols;
    bool unfold;
    struct buf *out;
    uint32_t mode;
    struct proc_id id;
    int result_fd, out_fd;
    bool failed; /* of what is noted */
    struct error *err;
};

static int call_preflight(struct engine *e, void *arg)
{
    struct ask *a = arg;
    struct preflight f;
    struct process *p;
    json_t *steps;
    int r = find_jvm(e, a->host_pid, &p, a->err);

    if (r)
        return r;
    run_preflight(e, p, &f);
    steps = json_array();
    for (size_t i = 0; i < f.count; i++)
        json_array_append_new(steps, json_pack("{s:s, s:b, s:s, s:s}", "step", f.steps[i].name,
                                               "ok", (int)f.steps[i].ok, "reason",
                                               f.steps[i].reason, "remedy", f.steps[i].remedy));
    *a->ret = json_pack("{s:i, s:o, s:{s:b, s:b, s:b}, s:s}", "pid", (int)a->host_pid, "steps",
                        steps, "symbols", "agent", (int)f.agent, "memory", (int)f.memory, "perfmap",
                        (int)f.perfmap, "auto", f.auto_reason);
    return *a->ret ? 0 : -ENOMEM;
}

int backend_preflight(void *ctx, int32_t host_pid, json_t **ret, struct error *err)
{
    return engine_ask(ctx, call_preflight,
                      &(struct ask){ .host_pid = host_pid, .ret = ret, .err = err }, err);
}

/* ---- the map as text ---- */

/* One line of /tmp/perf-PID.map. @name is clean already but for what would end the line. */
static void add_line(struct buf *out, uint64_t start, uint64_t end, struct span name)
{
    buf_printf(out, "%jx %jx ", (uintmax_t)start, (uintmax_t)(end - start));
    buf_add_span(out, name);
    buf_add_char(out, '\n');
}

static void add_method(struct buf *name, struct span class_name, struct span method)
{
    _cleanup_buf_ struct buf raw;

    buf_init(&raw, 4 * TEXT_NAME_MAX);
    java_class_text(class_name, &raw);
    buf_add_char(&raw, '.');
    buf_add_span(&raw, method);
    text_clean(buf_span(&raw), TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, name);
}

static int memory_line(void *cookie, const struct hotspot_code *code)
{
    void **args = cookie;
    struct hotspot_vm *vm = args[0];
    struct buf *out = args[1];
    _cleanup_buf_ struct buf name;
    struct hotspot_method m;

    buf_init(&name, 2 * TEXT_NAME_MAX);
    if (code->method && hotspot_method_read(vm, code->method, &m) == 0)
        add_method(&name, (struct span){ m.class_name, m.class_name_n },
                   (struct span){ m.name, m.name_n });
    else
        text_clean(span_of(code->name[0] ? code->name : "[unknown]"), TEXT_UTF8, TEXT_NAME_MAX,
                   &name);
    add_line(out, code->start, code->end, buf_span(&name));
    return out->error;
}

static int call_memory_map(struct engine *e, void *arg)
{
    struct ask *a = arg;
    struct process *p;
    int r = find_jvm(e, a->host_pid, &p, a->err);

    if (r)
        return r;
    if (!p->vm) {
        error_set(a->err, -EOPNOTSUPP, "the memory of JVM %d cannot be read: %.200s", a->host_pid,
                  p->jvm == JVM_STARTING ? "it is still starting" : p->reason);
        error_remedy(a->err, "GET /api/v1/jvms/%d/preflight says what can be used", a->host_pid);
        return BACKEND_CONFLICT;
    }
    r = hotspot_vm_codes(p->vm, memory_line, (void *[]){ p->vm, a->out });
    if (r < 0)
        return error_code(a->err, r, "cannot read the code of JVM %d", a->host_pid);
    return 0;
}

static int call_begin(struct engine *e, void *arg)
{
    struct ask *a = arg;
    struct preflight f;
    struct process *p;
    uint32_t options = STREAM_OPTION_ONCE;
    int r = find_jvm(e, a->host_pid, &p, a->err);

    if (r)
        return r;
    run_preflight(e, p, &f);
    for (size_t i = 0; i < f.count && !(a->mode == ATTACH_LOAD ? f.agent : f.perfmap); i++) {
        const struct preflight_step *s = &f.steps[i];

        if (s->ok || (a->mode == ATTACH_PERFMAP && s->agent_only) || strcmp(s->name, "memory") == 0)
            continue;
        error_set(a->err, -EPERM, "JVM %d is not attached to: %s", a->host_pid, s->reason);
        error_remedy(a->err, "%s", s->remedy);
        return BACKEND_CONFLICT;
    }
    if (a->mode == ATTACH_PERFMAP && !f.perfmap) {
        error_set(a->err, -EOPNOTSUPP, "JDK %d cannot write its map to a file that is named",
                  p->jdk);
        error_remedy(a->err, "symbols=memory, or symbols=agent");
        return BACKEND_CONFLICT;
    }
    /* Stub names by DynamicCodeGenerated crash JDKs before 17 (JDK-8212155). */
    if (p->jdk >= 17)
        options |= STREAM_OPTION_STUBS;
    r = broker_attach(e->broker, &p->id, a->mode, a->mode == ATTACH_LOAD ? options : 0,
                      &a->result_fd, &a->out_fd, a->err);
    if (r == PROC_GONE) {
        error_set(a->err, -ESRCH, "JVM %d has exited", a->host_pid);
        return BACKEND_NOT_FOUND;
    }
    if (r == 0) {
        a->id = p->id;
        history_of(p)->attached_ns = clock_monotonic_ns();
    }
    return r;
}

/* What came of it: the next one is put off after a failure, longer each time. */
static int call_note(struct engine *e, void *arg)
{
    const struct ask *a = arg;
    struct history *h = history_find(&a->id);
    uint64_t wait_ns = BACK_OFF_FIRST_NS;

    (void)e;
    if (!h)
        return 0;
    if (!a->failed) {
        h->failures = 0;
        h->again_ns = 0;
        return 0;
    }
    for (unsigned i = 0; i < h->failures && wait_ns < BACK_OFF_MOST_NS; i++)
        wait_ns *= 2;
    h->failures++;
    h->again_ns = clock_monotonic_ns() + MIN(wait_ns, BACK_OFF_MOST_NS);
    return 0;
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
    _cleanup_buf_ struct buf name;

    buf_init(&name, (size_t)CODE_MAP_FRAMES_MAX * 2 * TEXT_NAME_MAX);
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
    _cleanup_buf_ struct buf name = BUF_NULL;

    if (a->unfold && !p->stub)
        return code_map_each_range(a->map, p, agent_range, a);
    buf_init(&name, 2 * TEXT_NAME_MAX);
    if (p->stub)
        text_clean(p->stub_name, TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &name);
    else
        agent_name(a->map, p->method, &name);
    add_line(a->out, p->start, p->end, buf_span(&name));
    return a->out->error;
}

/* Waits for the helper's word, keeping the lease. 0; -ETIMEDOUT; -errno. */
static int wait_result(struct ask *a, struct stream *s)
{
    uint64_t deadline = clock_monotonic_ns() + WAIT_NS;
    char bytes[sizeof(struct attach_result)];
    struct attach_result result;
    ssize_t n;

    for (;;) {
        struct pollfd p = { .fd = a->result_fd, .events = POLLIN };

        if (poll(&p, 1, 100) > 0)
            break;
        if (s && stream_poll(s, clock_monotonic_ns()) < 0)
            break;
        if (clock_monotonic_ns() > deadline) {
            error_set(a->err, -ETIMEDOUT, "JVM %d did not answer within 10 s", a->host_pid);
            error_remedy(a->err, "it may be in a long collection; symbols=memory needs no attach");
            return -ETIMEDOUT;
        }
    }
    n = read(a->result_fd, bytes, sizeof(bytes));
    if (n < 0 || attach_result_check((struct span){ bytes, (size_t)n }, &result) < 0)
        return error_set(a->err, -EPROTO, "the helper gave no result");
    return attach_outcome(&result, a->mode, a->err);
}

static int read_agent(struct ask *a)
{
    _cleanup_(stream_closep) struct stream *s = NULL;
    struct agent_lines lines = { .out = a->out, .unfold = a->unfold };
    int r = stream_open(take_fd(&a->out_fd), &s, a->err);

    if (r == 0)
        r = wait_result(a, s);
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

/* The JVM's own text, line by line in our form: it is a stranger's. */
static int read_perfmap(struct ask *a)
{
    _cleanup_buf_ struct buf text = BUF_NULL, name = BUF_NULL;
    struct span rest, line;
    int r = wait_result(a, NULL);

    if (r < 0)
        return r;
    buf_init(&text, PERFMAP_READ_MAX);
    buf_init(&name, 2 * TEXT_NAME_MAX);
    lseek(a->out_fd, 0, SEEK_SET);
    r = buf_read_fd(&text, a->out_fd);
    rest = buf_span(&text);
    while ((r == 0 || r == -EFBIG) && span_take_line(&rest, &line)) {
        uint64_t start, bytes;

        span_take_str(&line, "0x");
        if (!span_take_hex(&line, &start))
            continue;
        span_skip_blanks(&line);
        span_take_str(&line, "0x");
        if (!span_take_hex(&line, &bytes) || start + bytes <= start)
            continue;
        buf_clear(&name);
        text_clean(span_trim(line), TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &name);
        add_line(a->out, start, start + bytes, buf_span(&name));
    }
    return r == -EFBIG ? 0 : r;
}

int backend_perf_map(void *ctx, int32_t host_pid, enum symbols_source symbols, bool unfold,
                     struct buf *out, struct error *err)
{
    struct ask a = {
        .host_pid = host_pid,
        .symbols = symbols,
        .unfold = unfold,
        .out = out,
        .result_fd = -1,
        .out_fd = -1,
        .err = err,
        .mode = symbols == SYMBOLS_PERFMAP ? ATTACH_PERFMAP : ATTACH_LOAD,
    };
    int r;

    if (symbols == SYMBOLS_AGENT || symbols == SYMBOLS_PERFMAP) {
        r = engine_ask(ctx, call_begin, &a, err);
        if (r == 0) {
            r = symbols == SYMBOLS_AGENT ? read_agent(&a) : read_perfmap(&a);
            a.failed = r < 0;
            engine_ask(ctx, call_note, &a, NULL);
        }
        close_fd(a.result_fd);
        close_fd(a.out_fd);
    } else if (unfold) {
        error_parameter(err, "unfold", -EINVAL,
                        "inlined frames are unfolded by symbols=agent only");
        error_remedy(err, "add symbols=agent, or leave unfold away");
        r = BACKEND_CONFLICT;
    } else {
        r = engine_ask(ctx, call_memory_map, &a, err);
    }
    if (r == 0 && out->error)
        r = error_set(err, out->error, "the map is larger than an answer may be");
    return r;
}
