/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/lock_names.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/text.h"
#include "base/u64_cache.h"
#include "symbolize/java_text.h"

#define OWNERS_MAX (1u << 16)
#define OWNER_PARTS (HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_OWNER)
#define STRANGE_MAX 1024
#define OWNERS_REST 20 /* after a reading of t ns at least 20 t pass before the next */

/* The ways in which a thread waits. */
enum lock_kind { LOCK_MONITOR, LOCK_NOTIFY, LOCK_LOCK, LOCK_CONDITION, LOCK_PARK, LOCK_KINDS };
static const struct {
    const char *name;
    enum frame_kind frame_kind;
} LOCKS[LOCK_KINDS] = {
    [LOCK_MONITOR] = { "[monitor]", FRAME_WAIT_LOCK },
    [LOCK_NOTIFY] = { "[notify]", FRAME_WAIT_NOTIFY },
    [LOCK_LOCK] = { "[lock]", FRAME_WAIT_LOCK },
    [LOCK_CONDITION] = { "[condition]", FRAME_WAIT_NOTIFY },
    [LOCK_PARK] = { "[park]", FRAME_WAIT_PARK },
};

struct class_entry {
    uint64_t read_ns;
    uint32_t name; /* id of a string; 0: no class */
    uint8_t kind;  /* enum hotspot_lock_kind */
    bool owner_known;
};

struct owner_entry {
    uint64_t stack_low, stack_high, java_thread, owner_id;
    uint64_t read_ns;
    int32_t ns_tid;
    uint32_t frame;
};

struct lock_names {
    struct frame_table *frames;
    uint32_t unknown;             /* id of a string */
    struct u64_cache class_index; /* Klass* -> classes */
    struct class_entry *classes;
    size_t class_count, class_cap;
    struct u64_cache by_word; /* JavaThread*, or the VM's number of the thread -> owners */
    struct u64_cache strange; /* words of no thread in the VM's list -> the second it was read */
    struct owner_entry *owners;
    size_t owner_count, owner_cap;
    uint64_t owners_ns;      /* time of the reading in progress */
    uint64_t owners_next_ns; /* when the list may be read again */
};

static uint32_t frame_of(struct lock_names *n, uint32_t name, enum frame_kind kind, bool unknown)
{
    struct function f = { .name = name };
    struct frame frame = { .kind = (uint8_t)kind, .unknown = unknown };
    uint32_t id = 0;

    frame_table_function(n->frames, &f, &frame.function);
    frame_table_frame(n->frames, &frame, &id);
    return id;
}

/* Returns the string of the cleaned @raw, a name from the VM. */
static uint32_t clean_string(struct lock_names *n, struct span raw)
{
    return frame_table_clean(n->frames, raw, TEXT_MODIFIED_UTF8);
}

int lock_names_new(struct frame_table *frames, struct lock_names **ret)
{
    struct lock_names *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->frames = frames;
    frame_table_string(frames, SPAN("[lock of unknown class]"), &n->unknown);
    u64_cache_init(&n->class_index, LOCK_CLASSES_MAX);
    u64_cache_init(&n->by_word, OWNERS_MAX * 2);
    u64_cache_init(&n->strange, STRANGE_MAX);
    *ret = n;
    return 0;
}

struct lock_names *lock_names_free(struct lock_names *n)
{
    if (!n)
        return NULL;
    u64_cache_deinit(&n->class_index);
    u64_cache_deinit(&n->by_word);
    u64_cache_deinit(&n->strange);
    free(n->classes);
    free(n->owners);
    free(n);
    return NULL;
}

/* ---- classes ---- */

static struct class_entry *class_entry(struct lock_names *n, uint64_t klass)
{
    uint32_t at;

    if (u64_cache_get(&n->class_index, klass, &at))
        return &n->classes[at];
    if (n->class_count >= LOCK_CLASSES_MAX / 2) {
        u64_cache_clear(&n->class_index);
        n->class_count = 0;
    }
    if (!array_grow(&n->classes, &n->class_cap, n->class_count + 1, 64))
        return NULL;
    at = (uint32_t)n->class_count++;
    n->classes[at] = (struct class_entry){ 0 };
    u64_cache_put(&n->class_index, klass, at);
    return &n->classes[at];
}

static void read_class(struct lock_names *n, struct hotspot_vm *vm, uint64_t klass,
                       struct class_entry *c)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct hotspot_lock_class found;
    int r = hotspot_lock_class(vm, klass, &found);

    if (r != 0 && (r == HOTSPOT_GONE || r == -ETIMEDOUT))
        return; /* the earlier result is still valid */
    c->name = 0;
    if (r != 0)
        return;
    buf_init(&text, sizeof(found.name) + 64);
    java_lock_text((struct span){ found.name, found.name_n }, klass & HOTSPOT_LOCK_OF_CLASS, &text);
    c->name = clean_string(n, buf_span(&text));
    c->kind = (uint8_t)found.kind;
    c->owner_known = found.owner_known;
}

/* Returns the class of @word, if it has a name; NULL: none. */
static const struct class_entry *class_of(struct lock_names *n, struct hotspot_vm *vm,
                                          uint64_t word, uint64_t now_ns)
{
    uint64_t klass = vm && word ? hotspot_lock_klass(vm, word) : 0;
    struct class_entry *c = klass ? class_entry(n, klass) : NULL;

    if (!c)
        return NULL;
    if (!c->read_ns || now_ns - c->read_ns >= LOCK_CLASS_TRUST_NS) {
        read_class(n, vm, klass, c);
        c->read_ns = now_ns;
    }
    return c->name ? c : NULL;
}

/* ---- owners ---- */

/* Finds or adds the entry of @o. Returns NULL if there is no room. */
static struct owner_entry *owner_entry(struct lock_names *n, const struct hotspot_thread *o)
{
    uint32_t at;

    if (!u64_cache_get(&n->by_word, o->java_thread, &at) ||
        n->owners[at].java_thread != o->java_thread) {
        if (n->owner_count >= OWNERS_MAX ||
            !array_grow(&n->owners, &n->owner_cap, n->owner_count + 1, 64))
            return NULL;
        at = (uint32_t)n->owner_count++;
        u64_cache_put(&n->by_word, o->java_thread, at);
    }
    if (o->owner_id > 0)
        u64_cache_put(&n->by_word, o->owner_id, at);
    return &n->owners[at];
}

static void add_owner(void *cookie, const struct hotspot_thread *o)
{
    struct lock_names *n = cookie;
    struct owner_entry *e = o->name.n ? owner_entry(n, o) : NULL;

    if (!e)
        return;
    *e = (struct owner_entry){
        .stack_low = o->stack_low,
        .stack_high = o->stack_high,
        .java_thread = o->java_thread,
        .owner_id = o->owner_id,
        .read_ns = n->owners_ns,
        .ns_tid = o->ns_tid,
        .frame = frame_of(n, clean_string(n, o->name), FRAME_THREAD, /* unknown= */ false),
    };
}

/* Reads the VM's list of threads. Returns false if it cannot be read now; then the list before
 * stays. */
static bool read_owners(struct lock_names *n, struct hotspot_vm *vm, uint64_t now_ns)
{
    uint64_t began_ns = clock_monotonic_ns(), took_ns;
    struct lock_names before = *n;
    int r;

    u64_cache_init(&n->by_word, OWNERS_MAX * 2);
    n->owners = NULL;
    n->owner_count = n->owner_cap = 0;
    n->owners_ns = now_ns;
    r = hotspot_vm_threads(vm, OWNER_PARTS, add_owner, n);
    if (r < 0) {
        struct lock_names failed = *n;

        *n = before;
        before = failed;
    }
    u64_cache_deinit(&before.by_word);
    free(before.owners);
    took_ns = clock_monotonic_ns() - began_ns;
    n->owners_next_ns = now_ns + MAX(LOCK_OWNERS_MIN_NS, took_ns * OWNERS_REST);
    return r >= 0;
}

/* Reads only the thread with the JavaThread @java_thread. Returns true if it exists. */
static bool read_owner(struct lock_names *n, struct hotspot_vm *vm, uint64_t java_thread,
                       uint64_t now_ns)
{
    n->owners_ns = now_ns;
    return hotspot_vm_thread(vm, java_thread, OWNER_PARTS, add_owner, n) > 0;
}

static bool is_of(const struct owner_entry *e, uint64_t word)
{
    return word == e->java_thread || (e->owner_id > 0 && word == e->owner_id) ||
           (word >= e->stack_low && word < e->stack_high);
}

/* Finds the owner of a monitor by @word. In JDK 8 to 21, a monitor may contain an address in the
 * owner's stack in place of its JavaThread, if the lock was on the stack before. */
static struct owner_entry *find_entry(const struct lock_names *n, uint64_t word)
{
    uint32_t at;

    if (u64_cache_get(&n->by_word, word, &at) && is_of(&n->owners[at], word))
        return &n->owners[at];
    return FIRST_OF(i, n->owners, n->owner_count, is_of(&n->owners[i], word));
}

/* Returns the frame of the owner; 0: unknown. If the owner has ended, its JavaThread may belong to
 * another thread by now. A thread may be renamed, so an old entry is read again. */
static uint32_t find_owner(struct lock_names *n, struct hotspot_vm *vm, uint64_t word,
                           uint64_t now_ns)
{
    struct owner_entry *e = find_entry(n, word);

    if (!e || !hotspot_thread_is(vm, e->java_thread, e->ns_tid))
        return 0;
    if (now_ns - e->read_ns < LOCK_OWNERS_TRUST_NS)
        return e->frame;
    if (!read_owner(n, vm, e->java_thread, now_ns)) {
        if (now_ns < n->owners_next_ns)
            return e->frame;
        read_owners(n, vm, now_ns);
    }
    e = find_entry(n, word);
    return e ? e->frame : 0;
}

/* Returns true if the VM's list lacked @word a short while ago, which is so for owners that are
 * virtual threads. */
static bool is_strange(const struct lock_names *n, uint64_t word, uint64_t now_ns)
{
    uint32_t second;

    return u64_cache_get(&n->strange, word, &second) &&
           (uint32_t)(now_ns / NSEC_PER_SEC) - second < LOCK_OWNERS_STRANGE_S;
}

static uint32_t owner_of(struct lock_names *n, struct hotspot_vm *vm, uint64_t word,
                         uint64_t now_ns)
{
    uint32_t found;
    bool listed;

    if (!vm || word <= HOTSPOT_OWNER_MARK_MAX)
        return 0;
    found = find_owner(n, vm, word, now_ns);
    if (found || is_strange(n, word, now_ns))
        return found;
    if (read_owner(n, vm, word, now_ns))
        found = find_owner(n, vm, word, now_ns);
    if (!found && now_ns >= n->owners_next_ns) {
        listed = read_owners(n, vm, now_ns);
        found = find_owner(n, vm, word, now_ns);
        if (listed && !found)
            u64_cache_put(&n->strange, word, (uint32_t)(now_ns / NSEC_PER_SEC));
    }
    return found;
}

static enum lock_kind kind_of(const struct sample_record *rec, const struct class_entry *c)
{
    switch (rec->lock) {
    case UNWIND_LOCK_MONITOR:
        return LOCK_MONITOR;
    case UNWIND_LOCK_WAIT:
        return LOCK_NOTIFY;
    default:
        break;
    }
    if (!c)
        return LOCK_PARK;
    switch (c->kind) {
    case HOTSPOT_LOCK_SYNCHRONIZER:
        return LOCK_LOCK;
    case HOTSPOT_LOCK_CONDITION:
        return LOCK_CONDITION;
    default:
        return LOCK_PARK;
    }
}

void lock_names_get(struct lock_names *n, struct hotspot_vm *vm, const struct sample_record *rec,
                    uint64_t now_ns, struct lock_frames *ret)
{
    const struct class_entry *c = class_of(n, vm, rec->lock_class, now_ns);
    enum lock_kind kind = kind_of(rec, c);
    uint32_t name = 0;
    bool has_owner =
        rec->lock == UNWIND_LOCK_MONITOR || (rec->lock == UNWIND_LOCK_PARK && c && c->owner_known);

    ret->class_frame = frame_of(n, c ? c->name : n->unknown, LOCKS[kind].frame_kind, !c);
    frame_table_string(n->frames, span_of(LOCKS[kind].name), &name);
    ret->kind = frame_of(n, name, LOCKS[kind].frame_kind, /* unknown= */ false);
    ret->owner = has_owner ? owner_of(n, vm, rec->lock_owner, now_ns) : 0;
}
