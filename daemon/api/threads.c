/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/jvms/{pid}/threads: all Java threads of a JVM. The engine's thread reads them and
 * names their stacks in slices, so that samples do not wait for a large dump.
 */
#include "api/api_impl.h"
#include "api/dump_owners.h"
#include "api/dump_tids.h"
#include "base/array.h"
#include "base/siphash.h"
#include "base/text.h"
#include "base/u64_cache.h"
#include "hotspot/thread_dump.h"
#include "proc/stall_readers.h"
#include "profile/thread_dump.h"
#include "symbolize/java_text.h"

#define PASSES_MAX 4 /* passes over the tables while some entries cannot be read */
/* pause between passes, in which a collection that moves objects may end */
#define PASS_PAUSE_US 4000
#define SLICE_PAUSE_US 200 /* leaves the engine time for other work */
#define DUMP_NS (8 * NSEC_PER_SEC)
/* How long a dump waits while the JVM cannot be read: it may be starting, flamed may have no time
 * left to read for its user or container, or a collection goes on. */
#define DUMP_PATIENCE_NS (2 * NSEC_PER_SEC)
#define DUMP_AGAIN_US 20000
#define STACKS_MAX 65536   /* limit of different stacks */
#define IDS_MAX (1U << 19) /* a power of two */
#define LINE_BYTES ((size_t)2 * TEXT_NAME_MAX + 512)

struct dump_ask {
    const struct viewer *viewer;
    int32_t host_pid;
    struct error *err;
    struct proc_id id;
    size_t ns_depth;
    struct thread_dump *dump;
    struct hotspot_dump_batch *batch; /* owned, like all members below */
    struct named_stack *named;
    uint64_t *platform; /* JavaThreads; from platform_at on, they are not read yet */
    size_t platform_count, platform_room, platform_at;
    struct u64_cache by_id;    /* -> 1 + place in dump->threads */
    struct u64_cache by_stack; /* hash of words -> string */
    struct u64_cache by_klass; /* Klass -> string */
    struct dump_owners owners;
    struct fingerprint_key key;
    bool tracks_all;
    bool may_succeed; /* the call was refused, but may succeed a moment later */
    bool moves;       /* it was refused as a collection moved objects */
    uint32_t broken, left_sets;
    size_t unread;    /* platform threads for which there was no time */
    uint64_t no_room; /* number of names and stacks dropped beyond THREAD_DUMP_TEXT_MAX */
};

/* ---- the engine's thread ---- */

/* Finds the JVM. Fails if its pid now belongs to another process than at the first call. */
static int find_jvm(struct api *api, struct dump_ask *a, struct process **ret)
{
    int r;

    *ret = NULL;
    r = jvm_find_readable(api, a->viewer, a->host_pid, ret, a->err);
    a->may_succeed |= r == BACKEND_CONFLICT && *ret && (*ret)->jvm == JVM_STARTING;
    if (r == 0 && a->id.host_pid && !proc_id_equal(&a->id, &(*ret)->id)) {
        error_set(a->err, -ESRCH, "JVM %d has exited", a->host_pid);
        return BACKEND_NOT_FOUND;
    }
    return r;
}

static void add_platform(void *cookie, const struct hotspot_thread *t)
{
    struct dump_ask *a = cookie;

    if (array_grow(&a->platform, &a->platform_room, a->platform_count + 1, 256))
        a->platform[a->platform_count++] = t->java_thread;
    else
        a->dump->left_out++;
    dump_owners_list(&a->owners, t);
}

static int refuse(struct dump_ask *a, int r)
{
    if (r == -ESRCH) {
        error_set(a->err, -ESRCH, "JVM %d has exited", a->host_pid);
        return BACKEND_NOT_FOUND;
    }
    if (r == -ENOMEM)
        return r;
    a->may_succeed = !readers_wait_for(&a->id);
    a->moves = r == -EAGAIN;
    error_set(a->err, r, "the threads of JVM %d cannot be read now: %s", a->host_pid,
              r == -EAGAIN      ? "a collection moves its objects"
              : r != -ETIMEDOUT ? "its objects contradict each other"
              : a->may_succeed  ? "flamed has no time left to read for its user or container"
                                : "its memory does not answer");
    error_remedy(a->err, "ask again in a second");
    return BACKEND_CONFLICT;
}

static int call_begin(struct api *api, void *arg)
{
    struct dump_ask *a = arg;
    struct thread_dump *d = a->dump;
    struct process *p;
    int r = find_jvm(api, a, &p);

    if (r)
        return r;
    a->id = p->id;
    a->ns_depth = p->ns_depth;
    d->host_pid = p->id.host_pid;
    d->time_ns = clock_realtime_ns();
    span_copy(span_of(hotspot_vm_version(p->vm)), d->java_version, sizeof(d->java_version));
    span_copy(span_of(hotspot_vm_name(p->vm)), d->vm_name, sizeof(d->vm_name));
    r = hotspot_vm_threads(p->vm, HOTSPOT_THREAD_OWNER, add_platform, a);
    return r < 0 ? refuse(a, r) : 0;
}

/* ---- texts ---- */

/* Interns @text. 0: no room. */
static uint32_t intern_text(struct dump_ask *a, const struct buf *text)
{
    uint32_t id = 0;

    if (text->error || intern_add(a->dump->strings, buf_span(text), &id) < 0) {
        a->no_room++;
        return 0;
    }
    return id;
}

static uint32_t intern_clean(struct dump_ask *a, struct span raw)
{
    _cleanup_buf_ struct buf clean = BUF_UPTO(TEXT_NAME_MAX);

    text_clean(raw, TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &clean);
    return intern_text(a, &clean);
}

/* Adds "java.lang.Thread.run(Thread.java:1583)", or "(Native Method)" as jstack does. Texts of the
 * frame table are clean. */
static void add_frame_line(struct api *api, struct process *p, uint32_t id, struct buf *out)
{
    const struct frame_table *t = api->engine.captures->frames;
    const struct frame *f = frame_table_get(t, id);
    const struct function *fn = frame_table_get_function(t, f->function);
    struct span file = frame_table_get_string(t, fn->file);

    if (fn->class_name) {
        buf_add_span(out, frame_table_get_string(t, fn->class_name));
        buf_add_char(out, '.');
    }
    buf_add_span(out, f->unknown ? SPAN("[unknown]") : frame_table_get_string(t, fn->name));
    buf_add_char(out, '(');
    if (!f->line && symbolizer_is_native(api->engine.symbolizer, p, f->function))
        file = SPAN("Native Method");
    buf_add_span(out, file.n ? file : SPAN("Unknown Source"));
    if (file.n && f->line)
        buf_printf(out, ":%u", f->line);
    buf_add_str(out, ")\n");
}

static uint32_t stack_text(struct api *api, struct dump_ask *a, struct process *p,
                           const uint64_t *words, size_t count)
{
    _cleanup_buf_ struct buf text = BUF_NULL;

    symbolizer_java_stack(api->engine.symbolizer, p, words, count, clock_monotonic_ns(), a->named);
    buf_init(&text, a->named->count * LINE_BYTES + 1);
    for (size_t i = 0; i < a->named->count; i++)
        add_frame_line(api, p, a->named->frames[i], &text);
    return intern_text(a, &text);
}

static uint32_t stack_of(struct api *api, struct dump_ask *a, struct process *p,
                         const struct hotspot_dump_thread *t)
{
    const uint64_t *words = a->batch->words + t->first;
    uint64_t hash =
        fingerprint(&a->key, (struct span){ (const char *)words, t->count * sizeof(*words) });
    uint32_t id;

    if (!t->count)
        return 0;
    hash += hash == 0;
    if (u64_cache_get(&a->by_stack, hash, &id))
        return id;
    id = stack_text(api, a, p, words, t->count);
    u64_cache_put(&a->by_stack, hash, id);
    return id;
}

static uint32_t class_of(struct dump_ask *a, struct process *p, uint64_t klass)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(TEXT_NAME_MAX);
    char name[HOTSPOT_CLASS_NAME_MAX];
    uint32_t id = 0;
    int r;

    if (!klass || u64_cache_get(&a->by_klass, klass, &id))
        return id;
    r = hotspot_class_name(p->vm, klass & ~HOTSPOT_LOCK_OF_CLASS, name);
    if (r > 0)
        java_lock_text((struct span){ name, (size_t)r }, klass & HOTSPOT_LOCK_OF_CLASS, &text);
    id = text.n ? intern_clean(a, buf_span(&text)) : 0;
    u64_cache_put(&a->by_klass, klass, id);
    return id;
}

/* ---- threads ---- */

static const uint8_t WHYS[] = {
    [DUMP_STACK_WHOLE] = THREAD_STACK_WHOLE,     [DUMP_STACK_CUT] = THREAD_STACK_CUT,
    [DUMP_STACK_NONE] = THREAD_STACK_NONE,       [DUMP_STACK_RUNNING] = THREAD_STACK_RUNNING,
    [DUMP_STACK_MOUNTED] = THREAD_STACK_RUNNING, [DUMP_STACK_CHANGED] = THREAD_STACK_CHANGED,
};
_Static_assert((int)THREAD_STATE_TERMINATED == (int)DUMPED_TERMINATED &&
                   (int)THREAD_STATE_BLOCKED == (int)DUMPED_BLOCKED,
               "states have the same numbers");
_Static_assert(IDS_MAX > 2 * THREAD_DUMP_MAX, "no id is forgotten");
_Static_assert((int)DUMP_LOCK_PARK == (int)THREAD_LOCK_PARK &&
                   (int)DUMP_LOCK_LOCK == (int)THREAD_LOCK_LOCK,
               "so have locks");

/* Finds or adds the entry of thread @id; NULL: no room. */
static struct dumped_thread *thread_at(struct dump_ask *a, uint64_t id, bool *ret_known)
{
    struct thread_dump *d = a->dump;
    uint32_t at;

    *ret_known = u64_cache_get(&a->by_id, id, &at);
    if (*ret_known)
        return &d->threads[at - 1];
    if (d->count >= THREAD_DUMP_MAX || !array_grow(&d->threads, &d->room, d->count + 1, 256)) {
        d->left_out++;
        return NULL;
    }
    at = (uint32_t)++d->count;
    u64_cache_put(&a->by_id, id, at);
    return &d->threads[at - 1];
}

/* Moves the frames of a mounted virtual thread to that thread. On the stack they are above the
 * carrier's frames, down to ENTER. */
static void split_carrier(struct dump_ask *a, struct dumped_thread *carrier, uint64_t carried)
{
    static const char ENTER[] = "jdk.internal.vm.Continuation.enterSpecial(";
    struct span text = intern_get(a->dump->strings, carrier->stack);
    const char *at = text.n ? memmem(text.p, text.n, ENTER, sizeof(ENTER) - 1) : NULL;
    uint32_t outer = 0, inner = 0, where = (uint32_t)(carrier - a->dump->threads);
    struct dumped_thread *t;
    bool known;

    if (!at || (at > text.p && at[-1] != '\n'))
        return;
    if (intern_add(a->dump->strings, (struct span){ text.p, (size_t)(at - text.p) }, &inner) < 0 ||
        intern_add(a->dump->strings, (struct span){ at, text.n - (size_t)(at - text.p) }, &outer) <
            0)
        return;
    carrier->stack = outer;
    t = thread_at(a, carried, &known);
    if (!t)
        return;
    if (!known)
        *t = (struct dumped_thread){ .id = carried, .is_virtual = true, .is_daemon = true };
    t->state = DUMPED_RUNNABLE;
    t->is_mounted = true;
    t->carrier_id = a->dump->threads[where].id; /* not by @carrier: the list may have moved in
                                                 * memory */
    t->stack = inner;
    t->why = THREAD_STACK_WHOLE;
}

static void take_thread(struct api *api, struct dump_ask *a, struct process *p,
                        const struct hotspot_dump_thread *t)
{
    bool known, mounted = t->stack == DUMP_STACK_MOUNTED;
    struct dumped_thread *at = thread_at(a, t->java_id, &known);
    struct dumped_thread found = {
        .id = t->java_id,
        .owner_id = t->owner_id,
        .owner_word = t->owner_word,
        .carrier_id = t->carrier_id,
        .ns_tid = t->ns_tid,
        .host_tid = a->ns_depth > 1 ? 0 : t->ns_tid,
        .is_virtual = t->is_virtual,
        .is_daemon = t->is_daemon,
        .is_mounted = mounted,
        .state = t->state,
        .why = WHYS[t->stack],
        .lock = t->lock,
    };

    if (!at)
        return;
    if (known && at->name)
        found.name = at->name;
    else if (t->name_n)
        found.name = intern_clean(a, (struct span){ a->batch->names + t->name_at, t->name_n });
    if (known && at->stack && !t->count) { /* split_carrier() has added it with its stack */
        at->name = found.name;
        return;
    }
    found.lock_class = class_of(a, p, t->lock_klass);
    found.stack = stack_of(api, a, p, t);
    if (t->count && !found.stack)
        found.why = THREAD_STACK_CUT;
    *at = found;
    if (t->carried_id && found.stack)
        split_carrier(a, at, t->carried_id);
}

static void take_batch(struct api *api, struct dump_ask *a, struct process *p)
{
    for (uint32_t i = 0; i < a->batch->count; i++)
        take_thread(api, a, p, &a->batch->threads[i]);
    dump_owners_take(&a->owners, a->batch);
}

static int read_platform_batch(struct api *api, struct dump_ask *a, struct process *p)
{
    struct hotspot_dump_batch *b = a->batch;
    int r;

    b->asked = (uint32_t)MIN(a->platform_count - a->platform_at, (size_t)DUMP_BATCH_THREADS);
    memcpy(b->java_threads, a->platform + a->platform_at, b->asked * sizeof(*b->java_threads));
    r = hotspot_dump_threads(p->vm, b);
    if (r < 0)
        return refuse(a, r);
    a->platform_at += b->done;
    take_batch(api, a, p);
    return 0;
}

static int read_virtual_batch(struct api *api, struct dump_ask *a, struct process *p)
{
    struct hotspot_dump_batch *b = a->batch;
    int r = hotspot_dump_threads(p->vm, b);

    if (r == -ENOENT) {
        if (hotspot_vm_jdk(p->vm) >= 21)
            thread_dump_warn(
                a->dump,
                "virtual threads are missing: flamed does not know how this JVM keeps them");
        b->ended = a->tracks_all = true;
        return 0;
    }
    if (r == -E2BIG) /* too slow on a busy machine to find the tables */
        return 0;
    if (r < 0)
        return refuse(a, r);
    if (r > 0) { /* the JVM never had a virtual thread */
        a->tracks_all = true;
        return 0;
    }
    a->tracks_all |= b->tracks_all;
    a->broken += b->broken;
    a->left_sets = b->left_sets;
    take_batch(api, a, p);
    return 0;
}

/* Reads the next slice of threads, of the kind that a->batch names. */
static int call_batch(struct api *api, void *arg)
{
    struct dump_ask *a = arg;
    struct process *p;
    int r = find_jvm(api, a, &p);

    if (r)
        return r;
    return a->batch->is_virtual ? read_virtual_batch(api, a, p) : read_platform_batch(api, a, p);
}

/* ---- the caller's thread ---- */

/* Runs @fn on the engine's thread, and repeats that for up to DUMP_PATIENCE_NS as long as it may
 * still succeed. */
static int ask_patiently(void *ctx, int (*fn)(struct api *api, void *arg), struct dump_ask *a)
{
    uint64_t until_ns = clock_monotonic_ns() + DUMP_PATIENCE_NS;
    int r;

    for (;;) {
        a->may_succeed = a->moves = false;
        r = api_ask(ctx, fn, a, a->err);
        if (!a->may_succeed || clock_monotonic_ns() >= until_ns)
            return r;
        usleep(DUMP_AGAIN_US);
    }
}

static int read_platform(void *ctx, struct dump_ask *a, uint64_t until_ns)
{
    int r = 0;

    a->batch->is_virtual = false;
    while (r == 0 && a->platform_at < a->platform_count && clock_monotonic_ns() < until_ns) {
        r = ask_patiently(ctx, call_batch, a);
        usleep(SLICE_PAUSE_US);
    }
    a->unread = a->platform_count - a->platform_at;
    if (a->unread)
        thread_dump_warn(a->dump, "%zu of %zu platform threads are missing: %s", a->unread,
                         a->platform_count,
                         a->moves ? "collections moved the JVM's objects nearly all the time"
                                  : "the dump took too long; the machine is busy");
    /* some are more than none */
    return r == BACKEND_CONFLICT && a->moves && a->platform_at ? 0 : r;
}

static uint64_t count_changed(const struct thread_dump *d)
{
    uint64_t n = 0;

    for (size_t i = 0; i < d->count; i++)
        n += d->threads[i].is_virtual && d->threads[i].why == THREAD_STACK_CHANGED;
    return n;
}

/* Reads the virtual threads. Makes further passes if a collector was at work or threads changed. */
static int read_virtual(void *ctx, struct dump_ask *a, uint64_t until_ns)
{
    int r = 0;

    a->batch->is_virtual = true;
    for (unsigned pass = 0; r == 0 && pass < PASSES_MAX; pass++) {
        a->broken = 0;
        a->batch->ended = false;
        a->batch->cursor = (struct hotspot_dump_cursor){ 0 };
        while (r == 0 && !a->batch->ended && clock_monotonic_ns() < until_ns) {
            r = ask_patiently(ctx, call_batch, a);
            usleep(SLICE_PAUSE_US);
        }
        if (r == 0 && !a->batch->ended) {
            thread_dump_warn(a->dump, "the list of virtual threads was not read to its end: there "
                                      "are more, or the machine is busy");
            a->dump->incomplete++;
            break;
        }
        if (!a->broken && !count_changed(a->dump))
            break;
        if (clock_monotonic_ns() >= until_ns)
            break;
        usleep(PASS_PAUSE_US);
    }
    a->dump->incomplete += a->broken;
    return r;
}

static void warn_of_rest(struct dump_ask *a)
{
    struct thread_dump *d = a->dump;

    if (!a->tracks_all)
        thread_dump_warn(d, "virtual threads that no executor has started are missing: the JVM "
                            "runs with -Djdk.trackAllThreads=false");
    if (a->left_sets)
        thread_dump_warn(d,
                         "virtual threads of %u executors are missing: there are more executors "
                         "than flamed reads",
                         a->left_sets);
    if (a->broken)
        thread_dump_warn(d,
                         "%u places of the tables of virtual threads could not be read, as the "
                         "JVM moved its objects: some threads may be missing",
                         a->broken);
    if (a->no_room)
        thread_dump_warn(d, "%llu names and stacks are missing: there are more than a dump holds",
                         (unsigned long long)a->no_room);
    if (d->left_out)
        thread_dump_warn(d, "%llu threads are left out: there are more than a dump holds",
                         (unsigned long long)d->left_out);
    d->left_out += a->unread;
}

static int read_all(void *ctx, struct dump_ask *a)
{
    const struct api *api = ctx;
    uint64_t began_ns = clock_monotonic_ns(), until_ns = began_ns + DUMP_NS;
    int r = ask_patiently(ctx, call_begin, a) ?:
            read_platform(ctx, a, until_ns) ?:
            read_virtual(ctx, a, until_ns);

    if (r != 0)
        return r;
    if (a->ns_depth > 1)
        dump_find_host_tids(api->engine.opts->proc_fd, a->host_pid, a->dump);
    dump_owners_settle(&a->owners, a->dump);
    warn_of_rest(a);
    a->dump->took_ns = clock_monotonic_ns() - began_ns;
    thread_dump_sort(a->dump);
    return 0;
}

int backend_threads(void *ctx, const struct viewer *v, int32_t host_pid, struct thread_dump **ret,
                    struct error *err)
{
    struct dump_ask a = { .viewer = v,
                          .host_pid = host_pid,
                          .err = err,
                          .dump = thread_dump_new(),
                          .batch = calloc(1, sizeof(*a.batch)),
                          .named = malloc(sizeof(*a.named)),
                          .key = fingerprint_key_new() };
    int r = -ENOMEM;

    u64_cache_init(&a.by_id, IDS_MAX);
    u64_cache_init(&a.by_stack, STACKS_MAX);
    u64_cache_init(&a.by_klass, STACKS_MAX);
    dump_owners_init(&a.owners);
    if (a.dump && a.batch && a.named)
        r = read_all(ctx, &a);
    u64_cache_deinit(&a.by_id);
    u64_cache_deinit(&a.by_stack);
    u64_cache_deinit(&a.by_klass);
    dump_owners_deinit(&a.owners);
    free(a.platform);
    free(a.batch);
    free(a.named);
    if (r == 0)
        *ret = TAKE_PTR(a.dump);
    thread_dump_free(a.dump);
    return r;
}
