/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/request_context.h"

#include "base/clock.h"
#include "base/text.h"
#include "broker_client/tables.h"
#include "capture/capture_impl.h"
#include "hotspot/counters.h"
#include "hotspot/thread_variable.h"

#include <endian.h>

/* Times between looks for a tracer. A look searches all classes of a JVM. The interval doubles
 * while there is no tracer, or the tracer is not ready. The recorder skips looks while counters
 * show no new class. */
#define LOOK_FIRST_NS (200 * NSEC_PER_MSEC)
#define LOOK_MOST_NS (600 * NSEC_PER_SEC)
#define LOOK_READY_NS (60 * NSEC_PER_SEC)    /* longest time with a tracer */
#define LOOK_CAPTURE_NS (4 * NSEC_PER_SEC)   /* longest time for a capture */
#define LOOK_COUNTERS_NS (30 * NSEC_PER_SEC) /* older counters are not trusted */
#define TRACE_DIGITS 32
#define SPAN_DIGITS 16
#define UUID_CHARACTERS 36

/* Returns whether ids of this kind come from the context of a log. */
static bool is_log(uint8_t ids)
{
    return ids == CONTEXT_IDS_LOG || ids == CONTEXT_IDS_KEYS;
}

/* ---- paths ---- */

/* Returns whether a look found no tracer. */
static bool is_none(int r)
{
    return r == -ENOENT || r == -ENODATA;
}

/* Returns whether @p has loaded no class since a look that found no tracer, by recent counters that
 * were read after it and count @classes. */
static bool is_unchanged(const struct context_entry *c, const struct process *p, int64_t classes,
                         uint64_t now_ns)
{
    return c->settled && classes != COUNTERS_UNKNOWN && classes == c->classes &&
           p->counters_ns > c->looked_ns && now_ns - p->counters_ns < LOOK_COUNTERS_NS &&
           now_ns - c->looked_ns < LOOK_MOST_NS;
}

static void take_out_path(struct broker *b, const struct probe_entry *e)
{
    broker_put_context(b, &e->id, NULL, NULL);
}

/* Implements probe_kind.put: looks for the path to requests of @p, and gives it to the broker. */
static int put_path(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
                    struct process *p, const void *what, struct error *err)
{
    struct context_entry *c = (struct context_entry *)e;
    const uint64_t *most_ns = what, now_ns = clock_monotonic_ns();
    struct error why = ERROR_NULL;
    struct context_path path;
    const struct thread_record *known;
    const char *tracer = "";
    int64_t classes;
    bool rests, record;
    int r;

    (void)t;
    if (p->jvm != JVM_READY || !p->vm) {
        c->no_tracer = p->jvm == JVM_NO;
        return -EAGAIN;
    }
    known = hotspot_vm_record(p->vm);
    record = known->number == c->record; /* there is nothing new of the records */
    if (record && c->looked_ns && now_ns - c->looked_ns < MIN(c->wait_ns, *most_ns))
        return -EAGAIN;
    classes = p->counters ? counters_loaded(p->counters) : COUNTERS_UNKNOWN;
    if (record && *most_ns == UINT64_MAX &&
        is_unchanged(c, p, classes, now_ns)) /* no capture wants the path */
        return -EAGAIN;
    c->classes = classes;
    c->record = known->number;
    r = hotspot_vm_context(p->vm, &path, &tracer, &why);
    c->looked_ns = now_ns;
    rests = is_none(r) || (r >= 0 && is_log(path.ids));
    c->settled = r > 0 || r == -ENOENT;
    if (known->there && rests) {
        thread_record_path(known, &path);
        r = 0;
    } else if (!known->there &&
               c->path.ids == CONTEXT_IDS_RECORD) { /* the tracer stopped announcing records */
        take_out_path(env->broker, e);
        c->path = (struct context_path){ 0 };
    }
    c->partial = r > 0;
    c->no_tracer = is_none(r);
    c->wait_ns =
        c->wait_ns ? MIN(c->wait_ns * 2, rests ? LOOK_MOST_NS : LOOK_READY_NS) : LOOK_FIRST_NS;
    if (r == HOTSPOT_GONE)
        return error_set(err, -ESRCH, "it has ended");
    if (r == -EOPNOTSUPP)
        return error_set(err, r, "%s cannot be read: %s", tracer, why.msg);
    if (r < 0)
        return -EAGAIN;
    path.exec_id = p->exec_id;
    r = broker_put_context(env->broker, &p->id, &path, err);
    if (r > 0)
        return error_set(err, -ESRCH, "it has ended");
    if (r == 0)
        c->path = path;
    return r;
}

/* Implements probe_kind.look: looks again for a tracer, to which the ids in a log's context may
 * belong, and for further classes of a tracer. */
static void look_again(struct broker *b, struct probe_entry *e)
{
    const struct context_entry *c = (const struct context_entry *)e;

    (void)b;
    if ((is_log(c->path.ids) || c->path.ids == CONTEXT_IDS_RECORD || c->partial) &&
        clock_monotonic_ns() - c->looked_ns >= c->wait_ns)
        e->asked.there = false;
}

const struct probe_kind CONTEXTS = { .entry_bytes = sizeof(struct context_entry),
                                     .entries_max = CONTEXTS_PUT_MAX,
                                     .standing_max = CONTEXTS_PUT_MAX,
                                     .have_all = "JVMs have their requests read",
                                     .put = put_path,
                                     .take_out = take_out_path,
                                     .look = look_again };

/* Makes the next probe_table_put() look for the path of @p again, if its tracer has announced other
 * records since. The old attributes may have another meaning now. */
static void notice_record(const struct probe_table *t, const struct process *p)
{
    struct probe_entry *e = probe_table_find(t, &p->id, PROBE_NO_SET);
    const struct context_entry *c = (const struct context_entry *)e;

    if (c && p->vm && hotspot_vm_record(p->vm)->number != c->record) {
        e->asked.there = false;
        e->asked.again_ns = 0;
    }
}

void captures_want_context(struct captures *captures, struct process *p, uint64_t until_ns)
{
    struct probe_table *t = &captures->contexts;
    const struct probe_env env = captures_probe_env(captures);
    uint64_t most_ns = UINT64_MAX;

    if (!captures->recording.requests || p->jvm != JVM_READY)
        return;
    notice_record(t, p);
    if (clock_monotonic_ns() >= until_ns)
        probe_table_want(t, &p->id, PROBE_NO_SET);
    else if (t->count < CONTEXTS_PUT_MAX || probe_table_find(t, &p->id, PROBE_NO_SET))
        probe_table_put(t, &env, p, PROBE_NO_SET, &most_ns, /* until_ns= */ 0, NULL);
}

void capture_want_context(struct captures *captures, struct capture *c, struct process *p)
{
    const struct probe_env env = captures_probe_env(captures);
    uint64_t most_ns = LOOK_CAPTURE_NS;
    struct error why = ERROR_NULL;
    int r;

    if (!c->wish.context || p->jvm == JVM_NO)
        return;
    notice_record(&captures->contexts, p);
    r = probe_table_put(&captures->contexts, &env, p, PROBE_NO_SET, &most_ns, /* until_ns= */ 0,
                        &why);
    if (r < 0 && r != -EAGAIN && r != -ESRCH)
        record_warn_process(c->record, "requests of %d (%s) are not in this profile: %s",
                            p->id.host_pid, process_title(p), why.msg);
}

/* ---- decoding ---- */

/* Decodes 16 hexadecimal digits, of two bytes each if @wide. */
static bool take_digits(const uint8_t *p, bool wide, uint64_t *ret)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < SPAN_DIGITS; i++) {
        int digit = hex_value((char)p[i << wide]);

        if (digit < 0 || (wide && p[(i << 1) + 1]))
            return false;
        v = v << 4 | (unsigned)digit;
    }
    *ret = v;
    return true;
}

/* Decodes a trace id of 32 digits, or of 16. */
static bool take_trace(const struct sample_context *raw, struct profile_context *ret)
{
    const uint8_t *trace = (const uint8_t *)&raw->id[CONTEXT_TRACE_WORD];
    bool wide = raw->wide & 1u << CONTEXT_TRACE;

    if (raw->bytes[CONTEXT_TRACE] == SPAN_DIGITS << wide)
        return take_digits(trace, wide, &ret->trace_low);
    return raw->bytes[CONTEXT_TRACE] == TRACE_DIGITS << wide &&
           take_digits(trace, wide, &ret->trace_high) &&
           take_digits(trace + (SPAN_DIGITS << wide), wide, &ret->trace_low);
}

/* Decodes a UUID's 32 digits in groups of 8-4-4-4-12. */
static bool take_uuid(const struct sample_context *raw, struct profile_context *ret)
{
    const char *p = (const char *)&raw->id[CONTEXT_TRACE_WORD];
    uint8_t digits[TRACE_DIGITS];
    size_t n = 0;

    if (raw->wide & 1u << CONTEXT_TRACE || raw->bytes[CONTEXT_TRACE] != UUID_CHARACTERS)
        return false;
    for (size_t i = 0; i < UUID_CHARACTERS; i++) {
        if (i != 8 && i != 13 && i != 18 && i != 23)
            digits[n++] = (uint8_t)p[i];
        else if (p[i] != '-')
            return false;
    }
    return take_digits(digits, false, &ret->trace_high) &&
           take_digits(digits + SPAN_DIGITS, false, &ret->trace_low);
}

/* Decodes the values of configured keys, which are texts of any form. A span counts only with its
 * trace. */
static bool take_keys(const struct sample_context *raw, struct profile_context *ret)
{
    const uint8_t *span = (const uint8_t *)&raw->id[CONTEXT_SPAN_WORD];
    bool wide = raw->wide & 1u << CONTEXT_SPAN;
    struct profile_context c = { 0 };

    if (!take_trace(raw, &c) && !take_uuid(raw, &c))
        c.trace_high = c.trace_low = 0;
    if ((c.trace_high || c.trace_low) && raw->bytes[CONTEXT_SPAN] == SPAN_DIGITS << wide &&
        !take_digits(span, wide, &c.span))
        c.span = 0;
    *ret = c;
    return c.trace_high || c.trace_low || raw->state == CONTEXT_NAMED;
}

/* Decodes the ids of a tracer that keeps them as text. */
static bool take_hex(const struct sample_context *raw, struct profile_context *ret)
{
    const uint8_t *span = (const uint8_t *)&raw->id[CONTEXT_SPAN_WORD],
                  *root = (const uint8_t *)&raw->id[CONTEXT_ROOT_WORD];
    bool wide_span = raw->wide & 1u << CONTEXT_SPAN, wide_root = raw->wide & 1u << CONTEXT_ROOT;

    if (raw->bytes[CONTEXT_SPAN] != SPAN_DIGITS << wide_span)
        return false;
    if (raw->bytes[CONTEXT_ROOT] == SPAN_DIGITS << wide_root &&
        !take_digits(root, wide_root, &ret->root))
        return false;
    return take_trace(raw, ret) && take_digits(span, wide_span, &ret->span);
}

static bool take_none(const struct sample_context *raw, struct profile_context *ret)
{
    (void)ret;
    return raw->state == CONTEXT_NAMED;
}

static bool take_words(const struct sample_context *raw, struct profile_context *ret)
{
    ret->trace_high = raw->id[CONTEXT_TRACE_WORD];
    ret->trace_low = raw->id[CONTEXT_TRACE_WORD + 1];
    ret->span = raw->id[CONTEXT_SPAN_WORD];
    ret->root = raw->id[CONTEXT_ROOT_WORD];
    return true;
}

/* Decodes a thread's record. It may have no ids. */
static bool take_record(const struct sample_context *raw, struct profile_context *ret)
{
    const uint8_t *root = (const uint8_t *)&raw->id[CONTEXT_ROOT_WORD];

    ret->trace_high = be64toh(raw->id[CONTEXT_TRACE_WORD]);
    ret->trace_low = be64toh(raw->id[CONTEXT_TRACE_WORD + 1]);
    ret->span = be64toh(raw->id[CONTEXT_SPAN_WORD]);
    if (!ret->trace_high && !ret->trace_low)
        ret->span = 0;
    if (ret->span && raw->bytes[CONTEXT_ROOT] == SPAN_DIGITS &&
        !take_digits(root, false, &ret->root))
        ret->root = 0;
    return (ret->span && (ret->trace_high || ret->trace_low)) || raw->state == CONTEXT_NAMED;
}

static void take_name(const struct sample_context *raw, struct buf *ret)
{
    size_t n = MIN((size_t)raw->bytes[CONTEXT_NAME], sizeof(raw->name));
    bool wide = raw->wide & 1u << CONTEXT_NAME;
    _cleanup_buf_ struct buf text = BUF_UPTO(CONTEXT_TEXT_BYTES);

    if (raw->ids == CONTEXT_IDS_RECORD) {
        text_clean((struct span){ raw->name, n }, TEXT_UTF8, CONTEXT_TEXT_BYTES, ret);
        return;
    }
    text_add_utf16(&text, (const uint8_t *)raw->name, n >> wide, wide);
    text_clean(buf_span(&text), TEXT_MODIFIED_UTF8, CONTEXT_TEXT_BYTES, ret);
}

void context_decode(const struct sample_context *raw, struct profile_context *ret, struct buf *name)
{
    static const uint32_t STATES[CONTEXT_STATES] = {
        [CONTEXT_UNREADABLE] = PROFILE_CONTEXT_UNREADABLE,
        [CONTEXT_NO_REQUEST] = PROFILE_CONTEXT_NO_REQUEST,
        [CONTEXT_IDS_ONLY] = PROFILE_CONTEXT_IDS,
        [CONTEXT_NAMED] = PROFILE_CONTEXT_NAMED,
    };
    static bool (*const TAKE[CONTEXT_IDS_KINDS])(const struct sample_context *,
                                                 struct profile_context *) = {
        [CONTEXT_IDS_HEX] = take_hex,   [CONTEXT_IDS_WORDS] = take_words,
        [CONTEXT_IDS_NONE] = take_none, [CONTEXT_IDS_LOG] = take_hex,
        [CONTEXT_IDS_KEYS] = take_keys, [CONTEXT_IDS_RECORD] = take_record,
    };
    struct profile_context c = { 0 };
    bool good = raw->state < CONTEXT_STATES && raw->ids < CONTEXT_IDS_KINDS;

    buf_clear(name);
    if (good && is_log(raw->ids) && raw->state != CONTEXT_UNREADABLE &&
        !TAKE[raw->ids](raw, &(struct profile_context){ 0 })) { /* texts of the program itself */
        *ret = (struct profile_context){ .state = PROFILE_CONTEXT_NO_TRACER };
        return;
    }
    if (good && raw->state >= CONTEXT_IDS_ONLY)
        good = TAKE[raw->ids](raw, &c);
    if (good && raw->state >= CONTEXT_IDS_ONLY && !c.root) /* then the span is the root */
        c.root = c.span;
    if (good && raw->state == CONTEXT_NAMED)
        take_name(raw, name);
    if (!good)
        c = (struct profile_context){ 0 };
    c.state = good ? STATES[raw->state] : PROFILE_CONTEXT_UNREADABLE;
    if (good && raw->state >= CONTEXT_IDS_ONLY && raw->ids != CONTEXT_IDS_NONE &&
        raw->ids != CONTEXT_IDS_KEYS && raw->ids != CONTEXT_IDS_RECORD && !c.trace_high &&
        !c.trace_low) { /* trace id 0: OpenTelemetry's invalid span */
        c = (struct profile_context){ .state = PROFILE_CONTEXT_NO_REQUEST };
        buf_clear(name);
    }
    *ret = c;
}

static const struct context_entry *entry_of(const struct probe_table *contexts,
                                            const struct proc_id *id)
{
    return (const struct context_entry *)probe_table_find(contexts, id, PROBE_NO_SET);
}

void captures_context_path(const struct captures *captures, const struct process *p,
                           struct context_path *ret)
{
    const struct context_entry *e = entry_of(&captures->contexts, &p->id);

    *ret = e ? e->path : (struct context_path){ 0 };
}

bool context_is_read(const struct probe_table *contexts, const struct proc_id *id)
{
    const struct context_entry *e = entry_of(contexts, id);

    return e && e->path.step_count;
}

/* Returns the state of a sample without a request that was read. */
static uint32_t state_without(const struct probe_table *contexts, const struct process *p)
{
    const struct context_entry *e = entry_of(contexts, &p->id);

    return p->jvm == JVM_NO || (e && e->no_tracer) ? PROFILE_CONTEXT_NO_TRACER
                                                   : PROFILE_CONTEXT_UNREADABLE;
}

/* Decodes the request of @in, as context_decode(). */
static void context_of(const struct probe_table *contexts, const struct incoming *in,
                       struct profile_context *ret, struct buf *name)
{
    const struct sample_record *rec = in->rec;
    struct sample_context raw;

    buf_clear(name);
    if (rec->context_count == CONTEXT_WORDS) {
        memcpy(&raw, in->frames + rec->kernel_count + rec->user_count, sizeof(raw));
        context_decode(&raw, ret, name);
    } else {
        *ret = (struct profile_context){ .state = state_without(contexts, in->process) };
    }
}

void context_recorded(const struct probe_table *contexts, const struct incoming *in,
                      struct profile_context *ret)
{
    struct frame_table *names = in->naming->frames;
    _cleanup_buf_ struct buf name = BUF_UPTO(CONTEXT_TEXT_BYTES + 1);

    context_of(contexts, in, ret, &name);
    if (!name.n)
        return;
    frame_table_charge(names, process_payer(in->process));
    frame_table_string(names, buf_span(&name), &ret->operation); /* stays "" if there is no room */
    frame_table_charge(names, 0);
}

uint32_t capture_context(const struct captures *captures, struct capture *c,
                         const struct incoming *in, uint32_t thread)
{
    struct profile_context context;
    _cleanup_buf_ struct buf name = BUF_UPTO(CONTEXT_TEXT_BYTES + 1);
    uint32_t id = 0;
    int r;

    if (!c->wish.context)
        return 0;
    context_of(&captures->contexts, in, &context, &name);
    r = record_context(c->record, thread, &context, buf_span(&name), in->rec->time_ns, &id);
    return r < 0 ? 0 : id;
}
