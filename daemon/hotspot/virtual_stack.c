/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One virtual thread: its object, its continuation, and the StackChunks that hold its frames while
 * it is not mounted. Collectors move all of these, and the thread may run at any time. So each
 * object is read at once and not out of what was kept, has to have its class, and is compared
 * afterwards.
 */
#include "hotspot/thread_reader.h"

#define OBJECT_MAX 512
#define CHUNKS_MAX 64 /* of one thread; 1 or 2 are usual */
#define CHUNK_WORDS_MAX (1 << 20)
#define STATE_MASK 0xff /* bit 8: it is suspended */
#define STATE_NEW 0
#define CHUNK_MAX_BYTES 128
#define WORD_BYTES sizeof(uint64_t)

struct chunk {
    int32_t size, sp, bottom;
    uint64_t parent;
};

/* Reads the first @n bytes of the object at @at, if it is of class @klass. */
static int read_object(struct hotspot_vm *vm, uint64_t at, uint64_t klass, void *buf, size_t n)
{
    int r = n <= OBJECT_MAX ? memory_read_direct(&vm->memory, at, buf, n) : -EBADMSG;

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
    struct chunk c;

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
    uint8_t o[CHUNK_MAX_BYTES];
    int r = read_object(vm, at, v->klass[CLASS_CHUNK], o, v->chunk_words);

    return r == 0 ? parse_chunk(vm, o, ret) : r;
}

/* Reads the chunk at @at, and its frames into d->reader->words: the words from *ret_from on. Most
 * chunks are small, and take one reading. */
static int read_frames(struct dump *d, uint64_t at, struct chunk *ret, size_t *ret_from,
                       size_t *ret_count)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    struct thread_reader *reader = d->reader;
    size_t have = sizeof(reader->chunk), from, n;
    int r = memory_read_direct(&d->vm->memory, at, reader->chunk, have);

    if (r < 0) { /* it lies at the end of what is mapped */
        have = v->chunk_words;
        r = memory_read_direct(&d->vm->memory, at, reader->chunk, have);
    }
    if (r == 0 && heap_klass(d->vm, reader->chunk) != v->klass[CLASS_CHUNK])
        r = -EBADMSG;
    if (r == 0)
        r = parse_chunk(d->vm, reader->chunk, ret);
    if (r < 0)
        return r;
    *ret_from = from = ret->sp >= 2 ? (size_t)ret->sp - 2 : 0;
    *ret_count = n =
        ret->sp >= ret->bottom ? 0 : MIN((size_t)ret->bottom - from, (size_t)READER_WORDS_MAX);
    if (n && v->chunk_words + (from + n) * WORD_BYTES <= have)
        memcpy(reader->words, reader->chunk + v->chunk_words + from * WORD_BYTES, n * WORD_BYTES);
    else if (n)
        r = memory_read_direct(&d->vm->memory, at + v->chunk_words + from * WORD_BYTES,
                               reader->words, n * WORD_BYTES);
    return r;
}

/* Appends the frames of the chunk @c at @at. Its @n words from word @from on were read. Return:
 * enum java_stack_end; -errno. */
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

/* Walks all chunks from the one at @at on. *ret_sp: of that one. Return: enum java_stack_end;
 * -errno. */
static int walk_chunks(struct dump *d, uint64_t at, struct java_walk *w, int32_t *ret_sp)
{
    int r = JAVA_STACK_WHOLE;

    for (unsigned i = 0; at && r == JAVA_STACK_WHOLE; i++) {
        struct chunk c;
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

/* Whether the thread, its continuation and its innermost chunk are as they were. */
static bool is_same(struct dump *d, uint64_t object, const uint8_t *thread, uint64_t cont,
                    uint64_t tail, int32_t sp)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    uint8_t now[OBJECT_MAX];
    struct chunk c;

    return read_object(d->vm, object, v->klass[CLASS_VIRTUAL_THREAD], now, thread_bytes(d->vm)) ==
               0 &&
           number_in(now, v->state) == number_in(thread, v->state) &&
           memcmp(now + d->vm->thread_layout.tid, thread + d->vm->thread_layout.tid, 8) == 0 &&
           read_object(d->vm, cont, v->klass[CLASS_CONTINUATION], now, continuation_bytes(d->vm)) ==
               0 &&
           !now[v->mounted] && reference_in(d->vm, now, v->tail) == tail &&
           read_chunk(d->vm, tail, &c) == 0 && c.sp == sp;
}

static enum hotspot_dump_stack virtual_stack(struct dump *d, uint64_t object, const uint8_t *thread,
                                             struct hotspot_dump_thread *t)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    uint64_t cont = reference_in(d->vm, thread, v->cont), tail;
    uint8_t o[OBJECT_MAX];
    struct java_walk w;
    int32_t sp = 0;
    int r;

    if (read_object(d->vm, cont, v->klass[CLASS_CONTINUATION], o, continuation_bytes(d->vm)) < 0)
        return DUMP_STACK_CHANGED;
    if (o[v->mounted])
        return DUMP_STACK_MOUNTED;
    tail = reference_in(d->vm, o, v->tail);
    if (!tail)
        return DUMP_STACK_NONE;
    dump_begin_walk(d, &w);
    r = walk_chunks(d, tail, &w, &sp);
    if ((r != JAVA_STACK_WHOLE && r != JAVA_STACK_CUT) || !w.count ||
        !is_same(d, object, thread, cont, tail, sp))
        return DUMP_STACK_CHANGED;
    t->first = d->b->word_count;
    t->count = w.count;
    return r == JAVA_STACK_CUT ? DUMP_STACK_CUT : DUMP_STACK_WHOLE;
}

int dump_virtual_thread(struct dump *d, uint64_t object, struct hotspot_dump_thread *t)
{
    const struct virtual_layout *v = &d->vm->virtual_layout;
    uint8_t o[OBJECT_MAX];
    uint64_t carrier, blocker;
    uint32_t state;
    int r = read_object(d->vm, object, v->klass[CLASS_VIRTUAL_THREAD], o, thread_bytes(d->vm));

    if (r == 0)
        r = dump_thread_object(d, object, t);
    if (r < 0)
        return r;
    if (memcmp(o + d->vm->thread_layout.tid, &t->java_id, sizeof(t->java_id)) != 0)
        return -EBADMSG;
    state = number_in(o, v->state) & STATE_MASK;
    t->is_virtual = t->is_daemon = true;
    t->state = state < VIRTUAL_STATES_MAX ? v->states[state] : THREAD_STATE_UNKNOWN;
    t->stack = state == STATE_NEW ? DUMP_STACK_NONE : virtual_stack(d, object, o, t);
    carrier = reference_in(d->vm, o, v->carrier);
    if (carrier && t->stack == DUMP_STACK_MOUNTED &&
        memory_u64(&d->vm->memory, carrier + d->vm->thread_layout.tid, &t->carrier_id) < 0)
        t->carrier_id = 0;
    blocker = reference_in(d->vm, o, d->vm->thread_layout.blocker);
    if (blocker && t->state != THREAD_STATE_RUNNABLE && d->vm->locks.klass_bytes)
        dump_blocker(d, blocker, t);
    return 0;
}
