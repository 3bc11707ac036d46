/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One virtual thread: its object, its continuation, and the StackChunks that hold its frames while
 * it is not mounted. Collectors move all of these, and the thread may run at any time. So the class
 * of each object is checked, and a thread counts only if a second reading gives the same. Some
 * threads are read together, so that they share pages: first all of them once, then all a second
 * time.
 */
#include "hotspot/thread_reader.h"

#define OBJECT_MAX 512
#define CHUNKS_MAX 64 /* chunks of one thread; 1 or 2 are usual */
#define CHUNK_WORDS_MAX (1 << 20)
#define STATE_MASK 0xff /* bit 8: suspended */
#define STATE_NEW 0
#define WORD_BYTES sizeof(uint64_t)
#define TRIES_ALONE 2 /* readings of a thread that ran between its two readings */

struct chunk {
    int32_t size, sp, bottom;
    uint64_t parent;
};

/* Reads the first @n bytes of the object at @at, if it is of class @klass. */
static int read_object(struct hotspot_vm *vm, uint64_t at, uint64_t klass, void *buf, size_t n)
{
    int r = n <= OBJECT_MAX ? memory_read(&vm->memory, at, buf, n) : -EBADMSG;

    return r == 0 && heap_klass(vm, buf) != klass ? -EBADMSG : r;
}

static uint64_t reference_in(struct hotspot_vm *vm, const uint8_t *object, uint32_t offset)
{
    uint64_t raw = 0;

    memcpy(&raw, object + offset, heap_reference_bytes(vm));
    return heap_decode(vm, raw);
}

static uint32_t number_in(const uint8_t *object, uint32_t offset)
{
    uint32_t v;

    memcpy(&v, object + offset, sizeof(v));
    return v;
}

static size_t thread_bytes(const struct hotspot_vm *vm)
{
    const struct virtual_layout *v = &vm->virtual_layout;
    const struct thread_layout *t = &vm->thread_layout;

    return MAX(MAX(MAX(v->state, v->cont), MAX(v->carrier, t->tid)), MAX(t->blocker, t->name)) + 8;
}

static size_t continuation_bytes(const struct hotspot_vm *vm)
{
    return MAX(vm->virtual_layout.tail, vm->virtual_layout.mounted) + 8;
}

static int parse_chunk(struct hotspot_vm *vm, const uint8_t *o, struct chunk *ret)
{
    const struct virtual_layout *v = &vm->virtual_layout;
    struct chunk c = { 0 };

    c.size = (int32_t)number_in(o, v->chunk_size);
    c.sp = (int32_t)number_in(o, v->chunk_sp);
    c.bottom = v->chunk_bottom ? (int32_t)number_in(o, v->chunk_bottom)
                               : c.size - (int32_t)number_in(o, v->chunk_argsize);
    c.parent = reference_in(vm, o, v->chunk_parent);
    if (c.size < 0 || c.size > CHUNK_WORDS_MAX || c.sp < 0 || c.sp > c.size || c.bottom < 0 ||
        c.bottom > c.size)
        return -EBADMSG;
    *ret = c;
    return 0;
}

static int read_chunk(struct hotspot_vm *vm, uint64_t at, struct chunk *ret)
{
    const struct virtual_layout *v = &vm->virtual_layout;
    uint8_t o[VIRTUAL_CHUNK_BYTES_MAX];
    int r = read_object(vm, at, v->klass[CLASS_CHUNK], o, v->chunk_words);

    return r == 0 ? parse_chunk(vm, o, ret) : r;
}

/* Reads the chunk at @at. Reads *ret_count words of its frames into d->reader->words, from word
 * *ret_from of the chunk on. */
static int read_frames(struct dump *d, uint64_t at, struct chunk *ret, size_t *ret_from,
                       size_t *ret_count)
{
    size_t from, n;
    int r = read_chunk(d->vm, at, ret);

    if (r < 0)
        return r;
    *ret_from = from = ret->sp >= 2 ? (size_t)ret->sp - 2 : 0;
    *ret_count = n =
        ret->sp >= ret->bottom ? 0 : MIN((size_t)ret->bottom - from, (size_t)READER_WORDS_MAX);
    return n ? memory_read(&d->vm->memory,
                           at + d->vm->virtual_layout.chunk_words + from * WORD_BYTES,
                           d->reader->words, n * WORD_BYTES)
             : 0;
}

/* Appends the frames of the chunk @c at @at. @n of its words are read, from word @from on. Returns
 * enum java_stack_end, or -errno. */
static int walk_chunk(struct dump *d, uint64_t at, const struct chunk *c, size_t from, size_t n,
                      struct java_walk *w)
{
    uint64_t words_at = at + d->vm->virtual_layout.chunk_words;
    bool part = n < (size_t)c->bottom - from;
    int r;

    if (c->sp < 2 || n < 2)
        return -EBADMSG;
    w->words = d->reader->words;
    w->relative = true;
    w->low = words_at + from * WORD_BYTES;
    w->words_end = w->low + n * WORD_BYTES;
    w->high = words_at + (uint64_t)c->bottom * WORD_BYTES;
    w->sp = words_at + (uint64_t)c->sp * WORD_BYTES;
    w->pc = d->reader->words[1];
    w->fp = w->unextended = 0;
    r = java_stack_walk(w);
    return r == JAVA_STACK_BROKEN && part ? (int)JAVA_STACK_CUT : r;
}

/* Walks all chunks, beginning with the one at @at. *ret_sp: the sp of that chunk. Returns enum
 * java_stack_end, or -errno. */
static int walk_chunks(struct dump *d, uint64_t at, struct java_walk *w, int32_t *ret_sp)
{
    int r = JAVA_STACK_WHOLE;

    for (unsigned i = 0; at && r == JAVA_STACK_WHOLE; i++) {
        struct chunk c = { 0 };
        size_t from, n;

        if (i == CHUNKS_MAX)
            return JAVA_STACK_CUT;
        r = read_frames(d, at, &c, &from, &n);
        if (r < 0)
            return r;
        if (i == 0)
            *ret_sp = c.sp;
        if (n)
            r = walk_chunk(d, at, &c, from, n, w);
        at = c.parent;
    }
    return r;
}

/* ---- one reading ---- */

/* Finds the frames of the thread @o, and appends them to @out. */
static void read_stack(struct dump *d, const uint8_t *o, uint64_t *out, struct virtual_look *l)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    uint8_t cont[OBJECT_MAX];
    struct java_walk w;
    int r;

    l->cont = reference_in(d->vm, o, v->cont);
    l->stack = DUMP_STACK_CHANGED;
    if (read_object(d->vm, l->cont, v->klass[CLASS_CONTINUATION], cont, continuation_bytes(d->vm)) <
        0)
        return;
    l->tail = reference_in(d->vm, cont, v->tail);
    if (cont[v->mounted] || !l->tail) {
        l->stack = cont[v->mounted] ? DUMP_STACK_MOUNTED : DUMP_STACK_NONE;
        return;
    }
    dump_begin_walk(d, &w);
    w.out = out;
    r = walk_chunks(d, l->tail, &w, &l->sp);
    l->count = w.count;
    if ((r == JAVA_STACK_WHOLE || r == JAVA_STACK_CUT) && w.count)
        l->stack = r == JAVA_STACK_CUT ? DUMP_STACK_CUT : DUMP_STACK_WHOLE;
}

/* Reads the thread at @object: its own bytes into @o, its frames into @out. Return: 0; -errno: no
 * virtual thread is there, or not any more. */
static int read_thread(struct dump *d, uint64_t object, uint8_t *o, uint64_t *out,
                       struct virtual_look *ret)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    int r = read_object(d->vm, object, v->klass[CLASS_VIRTUAL_THREAD], o, thread_bytes(d->vm));

    if (r < 0)
        return r;
    memset(ret, 0, sizeof(*ret)); /* looks are compared with memcmp() */
    ret->object = object;
    memcpy(&ret->java_id, o + d->vm->thread_layout.tid, sizeof(ret->java_id));
    ret->state = number_in(o, v->state) & STATE_MASK;
    ret->stack = DUMP_STACK_NONE;
    if (ret->state != STATE_NEW)
        read_stack(d, o, out, ret);
    return 0;
}

/* Reads the thread at @object once, into @t and the next words of the batch. */
static int take_thread(struct dump *d, uint64_t object, struct hotspot_dump_thread *t,
                       struct virtual_look *l)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    uint64_t carrier, blocker;
    uint8_t o[OBJECT_MAX];
    int r = read_thread(d, object, o, d->b->words + d->b->word_count, l);

    if (r == 0 && !l->java_id)
        r = -EBADMSG;
    if (r < 0)
        return r;
    t->java_id = l->java_id;
    t->is_virtual = t->is_daemon = true;
    t->state = l->state < VIRTUAL_STATES_MAX ? v->states[l->state] : THREAD_STATE_UNKNOWN;
    t->stack = l->stack;
    t->first = d->b->word_count;
    t->count = l->count;
    d->b->word_count += l->count;
    carrier = reference_in(d->vm, o, v->carrier);
    if (carrier && t->stack == DUMP_STACK_MOUNTED &&
        memory_u64(&d->vm->memory, carrier + d->vm->thread_layout.tid, &t->carrier_id) < 0)
        t->carrier_id = 0;
    if (!d->b->draws && (t->stack == DUMP_STACK_WHOLE || t->stack == DUMP_STACK_CUT))
        dump_held_frozen(d, l->tail, l->java_id);
    blocker = reference_in(d->vm, o, d->vm->thread_layout.blocker);
    if (t->state == THREAD_STATE_RUNNABLE || !d->vm->locks.klass_bytes)
        return 0;
    if (blocker)
        dump_blocker(d, blocker, t);
    else if (l->state < VIRTUAL_STATES_MAX && v->of_monitor[l->state])
        dump_virtual_monitor(d, object, t);
    return 0;
}

/* ---- the second reading ---- */

/* Returns whether @l is without frames, so that no second reading must find them again. */
static bool needs_no_other(const struct virtual_look *l)
{
    return l->stack == DUMP_STACK_MOUNTED || l->stack == DUMP_STACK_NONE;
}

static bool finds_same(struct dump *d, const struct virtual_look *l,
                       const struct hotspot_dump_thread *t)
{
    uint8_t o[OBJECT_MAX];
    struct virtual_look now;

    return needs_no_other(l) ||
           (l->stack != DUMP_STACK_CHANGED &&
            read_thread(d, l->object, o, d->reader->again, &now) == 0 &&
            memcmp(&now, l, sizeof(now)) == 0 &&
            memcmp(d->reader->again, d->b->words + t->first, t->count * WORD_BYTES) == 0);
}

/* Forgets what was read of the objects that @t refers to. */
static void forget_objects(struct hotspot_dump_thread *t)
{
    t->lock = DUMP_LOCK_NONE;
    t->lock_klass = t->owner_id = t->owner_word = t->carrier_id = 0;
    t->name_n = 0;
}

/* Reads again a thread that ran between its readings. @moved: its objects may have moved, too. The
 * two new readings follow each other directly. */
static void read_alone(struct dump *d, uint64_t object, bool moved, struct hotspot_dump_thread *t)
{
    for (unsigned i = 0; i < TRIES_ALONE && dump_has_words(d); i++) {
        struct hotspot_dump_thread found = { .name_at = t->name_at, .name_n = t->name_n };
        uint64_t pause = vm_pause(d->vm);
        struct virtual_look look;

        if (pause & UNWIND_COMPACT)
            break;
        memory_begin(&d->vm->memory);
        if (take_thread(d, object, &found, &look) < 0 || found.java_id != t->java_id)
            break;
        if (moved && !d->b->draws && dump_thread_name(d, object, &found) < 0)
            break;
        memory_begin(&d->vm->memory);
        if (finds_same(d, &look, &found) && !vm_moved(d->vm, pause)) {
            *t = found;
            return;
        }
        d->b->word_count = found.first;
    }
    t->stack = DUMP_STACK_CHANGED;
    t->count = 0;
    if (moved)
        forget_objects(t);
}

void dump_settle(struct dump *d)
{
    struct thread_reader *reader = d->reader;
    bool same[READER_LOOKS], moved;

    memory_begin(&d->vm->memory);
    for (uint32_t i = 0; i < reader->look_count; i++)
        same[i] = finds_same(d, &reader->looks[i], &d->b->threads[reader->look_places[i]]);
    moved = reader->look_count && vm_moved(d->vm, reader->pause);
    if (moved)
        d->b->held_count = reader->held_before;
    for (uint32_t i = 0; i < reader->look_count; i++) {
        if (moved || !same[i])
            read_alone(d, reader->looks[i].object, moved, &d->b->threads[reader->look_places[i]]);
    }
    reader->look_count = 0;
}

int dump_virtual_thread(struct dump *d, uint64_t object)
{
    struct thread_reader *reader = d->reader;
    struct hotspot_dump_batch *b = d->b;
    struct hotspot_dump_thread t = { 0 };
    int r;

    if (!reader->look_count) {
        reader->pause = vm_pause(d->vm);
        memory_begin(&d->vm->memory); /* a cached page may be older */
        reader->held_before = b->held_count;
    }
    r = take_thread(d, object, &t, &reader->looks[reader->look_count]);
    if (r == 0 && !b->draws)
        r = dump_thread_name(d, object, &t);
    if (r < 0)
        return r;
    reader->look_places[reader->look_count++] = b->count;
    b->threads[b->count++] = t;
    if (reader->look_count == READER_LOOKS)
        dump_settle(d);
    return 0;
}
