/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes the steps of a path to a thread's request (unwind/context.h), from its JavaThread on. Path
 * and memory are not trusted: each loop has a bound, each text a length, and a step that reads no
 * valid memory fails. The thread does not run during the walk, so its own writes are complete.
 * Objects that a collector moves are found by the thread's references, with ZGC also by its
 * forwarding tables. No address of an object is kept or compared.
 *
 * G1, Parallel and Serial move objects while no thread runs Java: those that wait or run native
 * code go on, and are sampled. A collection that copies leaves the original as it is until its end,
 * and a reference leads to the original or to a complete copy. So an object is right if it is read
 * after its reference. A collection that compacts changes references before it moves objects: no
 * object is right then.
 *
 * A home of the unwinder includes unwind/state.h and defines these before it includes this file:
 *   static bool context_read_bytes(struct context_work *, void *to, uint32_t bytes, uint64_t from);
 *   static uint64_t context_now_ns(void);
 *   CONTEXT_WALK_NS: the longest walk with ZGC. A walk that was interrupted for longer counts as
 *   torn: ZGC may have freed its forwarding data and objects meanwhile, without another bad mask.
 */
#pragma once

#include "unwind/context_reads.h"
#include "unwind/forwarding.h"
#include "unwind/oop.h"

/* Copies @bytes of ZGC's forwarding data at @from to @to. Return: false if they cannot be read, or
 * the path has spent CONTEXT_MOVES_MAX reads. */
UNWIND_INLINE bool context_read_move(struct context_work *w, void *to, const uint32_t bytes,
                                     uint64_t from)
{
    if (w->moves >= CONTEXT_MOVES_MAX) {
        w->fault = 1;
        return false;
    }
    w->moves++;
    return context_is_address(from) && context_read_bytes(w, to, bytes, from);
}

/* Looks up w->object in the forwarding table at @table. If it is there, sets w->object to its new
 * address and returns 1. Not static, for the same reason as context_probe(). */
UNWIND_FUNCTION int context_forwarded(struct context_work *w, struct unwind_process *p,
                                      uint64_t table)
{
    struct unwind_forwarding *f;
    uint64_t index, at, entry = 0;

    if (!w || !p)
        return 0;
    f = &w->forwarding;
    if (!context_read_move(w, f, sizeof(*f), table) ||
        !unwind_forwarding_index(f, w->object & p->vm.zgc.offset_mask, &index))
        return 0;
    at = unwind_forwarding_hash(index);
    table += p->vm.zgc.forwarding_bytes;
    UNWIND_LOOP
    for (uint32_t i = 0; i < UNWIND_FORWARDING_PROBES; i++, at++) {
        if (!context_read_move(w, &entry, 8, table + 8 * (at & (f->length - 1))) ||
            !(entry & UNWIND_ENTRY_POPULATED))
            return 0;
        if (entry >> UNWIND_ENTRY_INDEX_SHIFT == index) {
            w->object = unwind_forwarded(&p->vm.zgc, w->object, entry);
            return 1;
        }
    }
    return 0;
}

/* Returns @object. Sets w->copied if the object has a copy, which the program may have changed
 * since. */
UNWIND_INLINE uint64_t context_uncopied(struct context_work *w, uint64_t object)
{
    bool moved;

    if (!object || !w->forwards)
        return object;
    moved = w->forwards == CONTEXT_FORWARDS_MARK ? (context_load_here(w, object) & 3) == 3
                                                 : context_load_here(w, object - 8) != object;
    if (moved)
        w->copied = 1;
    return object;
}

/* Returns the current address of the object of @raw, a reference of eight bytes; 0: null. */
UNWIND_INLINE uint64_t context_object(struct context_work *w, struct unwind_process *p,
                                      uint64_t raw)
{
    uint64_t granule, table = 0;

    w->object = unwind_oop(&p->vm.locks, raw);
    if (!w->object || !(raw & w->bad))
        return context_uncopied(w, w->object);
    granule = (w->object & p->vm.zgc.offset_mask) >> UNWIND_GRANULE_SHIFT;
    UNWIND_LOOP
    for (uint32_t i = 0; i < UNWIND_FORWARDINGS && granule < p->vm.zgc.granules; i++) {
        if (p->vm.zgc.maps[i] && unwind_may_be_moved(p->vm.locks.coloured, raw, w->bad, i) &&
            context_read_move(w, &table, 8, p->vm.zgc.maps[i] + 8 * granule) &&
            context_forwarded(w, p, table))
            break;
    }
    return w->object;
}

/* Returns the object of the reference at @at, which has @bytes bytes; 0: null, or not readable. Not
 * static, for the same reason as context_probe(). All steps share it: its code is then in the
 * processor's cache after the first of them. */
UNWIND_FUNCTION uint64_t context_reference(struct context_work *w, struct unwind_process *p,
                                           uint64_t at, uint32_t bytes)
{
    uint64_t v;

    if (!w || !p)
        return 0;
    v = bytes == 4 ? context_load(w, at, 4) : context_load(w, at, 8);
    if (w->fresh)
        context_forget_lines(w);
    if (bytes != 4)
        return context_object(w, p, v);
    return v ? context_uncopied(w, p->vm.locks.oop_base + (v << (p->vm.locks.oop_shift & 31))) : 0;
}

/* Returns the object of the reference at @at, which lies in an object; 0: null, or not readable. */
UNWIND_INLINE uint64_t context_field(struct context_work *w, struct unwind_process *p, uint64_t at)
{
    return context_reference(w, p, at, p->vm.locks.oop_bytes);
}

/* Returns the class word of @object, in the form of a step's key; 0: not readable. */
UNWIND_INLINE uint64_t context_class(struct context_work *w, const struct context_path *path,
                                     const struct unwind_locks *l, uint64_t object)
{
    uint64_t word;

    if (l->klass_bytes == 4)
        return context_load(w, object + l->klass, 4) >> (path->mark_shift & 63);
    word = context_load(w, object + l->klass, 8);
    if (l->compact && (word & 3) == 3) /* moved: the mark word holds the new address */
        word = context_load(w, word & ~3ULL, 8);
    return word >> (path->mark_shift & 63);
}

/* Tries the thread local in entry @i of the table, counted from the entry of its hash. Returns 1 at
 * the end of the search. This function and the next two are not static: the verifier then checks
 * each once and on its own. */
UNWIND_FUNCTION int context_probe(struct context_work *w, struct context_path *path,
                                  struct unwind_process *p, uint32_t i)
{
    uint64_t entry, key;

    if (!w || !path || !p)
        return 1;
    i = ((uint32_t)w->want + i) & (w->count - 1);
    entry = context_field(w, p, w->table + path->array_base + (uint64_t)i * p->vm.locks.oop_bytes);
    if (!entry)
        return 1;
    key = context_field(w, p, entry + path->referent);
    if (!key || context_load(w, key + path->hash, 4) != w->want)
        return 0;
    w->found = context_field(w, p, entry + path->entry_value);
    return 1;
}

/* Tries value @i of an array of keys and values, as context_probe() does. */
UNWIND_FUNCTION int context_pair(struct context_work *w, struct context_path *path,
                                 struct unwind_process *p, uint32_t i)
{
    uint64_t value;

    if (!w || !path || !p || 2 * i + 1 >= w->count)
        return 1;
    value = context_field(
        w, p, w->table + path->array_base + (2 * (uint64_t)i + 1) * p->vm.locks.oop_bytes);
    if (!value || context_class(w, path, &p->vm.locks, value) != w->want)
        return 0;
    w->found = value;
    return w->nth-- == 0;
}

/* Tries the next node in a bucket of a HashMap, as context_probe() does. */
UNWIND_FUNCTION int context_node(struct context_work *w, struct context_path *path,
                                 struct unwind_process *p)
{
    if (!w || !path || !p || !w->table)
        return 1;
    if (context_load(w, w->table + path->node_hash, 4) == w->want) {
        w->found = context_field(w, p, w->table + path->node_value);
        return 1;
    }
    w->table = context_field(w, p, w->table + path->node_next);
    return 0;
}

/* Returns whether the java.lang.String at @string is w->want. Compares the lengths first. */
UNWIND_INLINE bool context_is_key(struct context_work *w, struct context_path *path,
                                  struct unwind_process *p, uint64_t string)
{
    uint64_t array, n, hash = 0;
    uint32_t unit, wide = 1;

    array = context_field(w, p, string + path->string_value);
    n = array ? context_load(w, array + path->array_length, 4) : 0;
    if (path->string_coder) {
        if (n != (w->want & 0xff) && n != 2 * (w->want & 0xff))
            return 0;
        wide = context_load(w, string + path->string_coder, 1) != 0;
    } else {
        n *= 2; /* an array of char */
    }
    if (n >> wide != (w->want & 0xff) || n > CONTEXT_KEY_BYTES ||
        !context_copy(w, w->key, CONTEXT_KEY_BYTES, array + path->bytes_base, n))
        return 0;
    UNWIND_LOOP
    for (uint32_t i = 0; i < CONTEXT_KEY_BYTES && i < n; i += 1 + wide) {
        unit = w->key[i & (CONTEXT_KEY_BYTES - 1)];
        if (wide)
            unit |= (uint32_t)w->key[(i + 1) & (CONTEXT_KEY_BYTES - 1)] << 8;
        hash = context_key_add(hash, unit);
    }
    return context_key_of(hash, (uint32_t)(n >> wide)) == w->want;
}

/* Tries key @i of an array of keys, w->nth elements apart, as context_probe() does. If it is the
 * wanted one, w->found = the index of its element + 1. */
UNWIND_FUNCTION int context_key_at(struct context_work *w, struct context_path *path,
                                   struct unwind_process *p, uint32_t i)
{
    uint64_t string;

    if (!w || !path || !p)
        return 1;
    if (w->nth == 2)
        i = 2 * i + 1;
    if (i >= w->count)
        return 1;
    string = context_field(w, p, w->table + path->array_base + (uint64_t)i * p->vm.locks.oop_bytes);
    if (!string || !context_is_key(w, path, p, string))
        return 0;
    w->found = (uint64_t)i + 1;
    return 1;
}

/* Returns whether there is a key @i in an array of keys, as context_key_at() counts them. */
UNWIND_INLINE bool context_has_key_at(struct context_work *w, struct context_path *path,
                                      struct unwind_process *p, uint32_t i)
{
    uint64_t at;

    i = w->nth == 2 ? 2 * i + 1 : i;
    at = w->table + path->array_base + (uint64_t)i * p->vm.locks.oop_bytes;
    if (i >= w->count)
        return false;
    return p->vm.locks.oop_bytes == 4 ? context_load(w, at, 4) : context_load(w, at, 8);
}

/* Prepares a search for @want in the array at @array. Returns whether the array has entries, but no
 * more than CONTEXT_TABLE_MAX. */
UNWIND_INLINE bool context_search(struct context_work *w, const struct context_path *path,
                                  uint64_t array, uint64_t want)
{
    w->found = 0;
    w->table = array;
    w->want = want;
    w->count = array ? (uint32_t)context_load(w, array + path->array_length, 4) : 0;
    if (w->count > CONTEXT_TABLE_MAX) {
        w->fault = 1;
        w->count = 0;
    }
    return w->count > 0;
}

/* Returns whether the array's length is a power of two, as it is in a hash table. If not, sets
 * w->fault. */
UNWIND_INLINE bool context_is_table(struct context_work *w)
{
    if (!(w->count & (w->count - 1)))
        return true;
    w->fault = 1;
    return false;
}

/* Returns the thread's value of the ThreadLocal with hash @hash, in the table at member @member of
 * java.lang.Thread; 0: none. */
UNWIND_INLINE uint64_t context_local(struct context_work *w, struct context_path *path,
                                     struct unwind_process *p, uint32_t member, uint64_t hash)
{
    const struct unwind_locks *l = &p->vm.locks;
    uint64_t at = w->thread + l->thread_object;

    if (l->thread_handle)
        at = w->root ? w->root : context_load(w, at, 8);
    at = at ? context_reference(w, p, at, 8) : 0;
    if (at)
        at = context_field(w, p, at + member);
    if (at)
        at = context_field(w, p, at + path->table);
    if (!context_search(w, path, at, (uint32_t)hash) || !context_is_table(w))
        return 0;
    UNWIND_LOOP
    for (uint32_t i = 0; i < CONTEXT_PROBES_MAX; i++) {
        if (context_probe(w, path, p, i))
            return w->found;
    }
    w->fault = 1; /* the wanted entry may be behind those that were read */
    return 0;
}

/* Returns value number @nth of class @want in the array at @array. If there are fewer, returns the
 * last of them; 0: none. A longer array than is read sets w->fault. */
UNWIND_INLINE uint64_t context_nth(struct context_work *w, struct context_path *path,
                                   struct unwind_process *p, uint64_t array, uint64_t want,
                                   uint32_t nth)
{
    if (!context_search(w, path, array, want))
        return 0;
    w->nth = nth;
    UNWIND_LOOP
    for (uint32_t i = 0; i < CONTEXT_PAIRS_MAX; i++) {
        if (context_pair(w, path, p, i))
            return w->found;
    }
    if (2 * CONTEXT_PAIRS_MAX + 1 < w->count)
        w->fault = 1; /* the wanted value may be behind those that were read */
    return w->found;
}

/* Returns the value of the key with hash @hash in the HashMap at @map; 0: none. */
UNWIND_INLINE uint64_t context_map(struct context_work *w, struct context_path *path,
                                   struct unwind_process *p, uint64_t map, uint32_t hash)
{
    uint64_t at = map ? context_field(w, p, map + path->map_table) : 0;

    hash ^= hash >> 16; /* as HashMap.hash() does */
    if (!context_search(w, path, at, hash) || !context_is_table(w))
        return 0;
    w->table = context_field(w, p,
                             w->table + path->array_base +
                                 (uint64_t)(hash & (w->count - 1)) * p->vm.locks.oop_bytes);
    UNWIND_LOOP
    for (uint32_t i = 0; i < CONTEXT_NODES_MAX; i++) {
        if (context_node(w, path, p))
            return w->found;
    }
    if (w->table)
        w->fault = 1; /* the wanted node may be behind those that were read */
    return 0;
}

/* Returns the value of key @want; 0: none. The arrays at @keys and @values may be the same one. */
UNWIND_INLINE uint64_t context_key(struct context_work *w, struct context_path *path,
                                   struct unwind_process *p, uint64_t keys, uint64_t values,
                                   uint64_t want)
{
    uint64_t i;

    if (!values || !context_search(w, path, keys, want))
        return 0;
    w->nth = keys == values ? 2 : 1;
    UNWIND_LOOP
    for (i = 0; i < CONTEXT_PAIRS_MAX; i++) {
        if (context_key_at(w, path, p, (uint32_t)i))
            break;
    }
    if (i == CONTEXT_PAIRS_MAX && context_has_key_at(w, path, p, (uint32_t)i))
        w->fault = 1; /* the wanted key may be behind those that were read */
    if (!w->found)
        return 0;
    i = w->found - (keys != values);
    if (i >= context_load(w, values + path->array_length, 4))
        return 0;
    return context_field(w, p, values + path->array_base + i * p->vm.locks.oop_bytes);
}

#include "unwind/context_texts.h"

/* Makes the next step. Returns 1 at the end of the path. */
UNWIND_FUNCTION int context_step(struct context_work *w, struct context_path *path,
                                 struct unwind_process *p)
{
    const struct context_step *s;
    uint64_t v = 0, from;
    uint32_t i;

    if (!w || !path || !p)
        return 1;
    i = w->next;
    if (i >= CONTEXT_STEPS_MAX || i >= path->step_count)
        return 1;
    s = &path->steps[i];
    w->out.step = i;
    w->next = i + 1;
    from = w->at[s->from & (CONTEXT_REGISTERS - 1)];
    switch (s->op) {
    case CONTEXT_THREAD_LOCAL:
        v = context_local(w, path, p, s->offset ? s->offset : path->thread_locals, s->key);
        break;
    case CONTEXT_REF:
        v = from ? context_field(w, p, from + s->offset) : 0;
        break;
    case CONTEXT_NTH:
        v = context_nth(w, path, p, from, s->key, s->offset);
        break;
    case CONTEXT_MAP:
        v = context_map(w, path, p, from, (uint32_t)s->key);
        break;
    case CONTEXT_KEY:
        v = context_key(w, path, p, from, w->at[s->offset & (CONTEXT_REGISTERS - 1)], s->key);
        break;
    case CONTEXT_CLASS:
        if (from && context_class(w, path, &p->vm.locks, from) == s->key)
            return 0;
        break;
    case CONTEXT_WORD:
        if (from) {
            w->out.id[s->key & (CONTEXT_ID_WORDS - 1)] = context_load(w, from + s->offset, 8);
            return 0;
        }
        break;
    case CONTEXT_TEXT:
        if (context_string(w, path, p, (uint32_t)s->key, from))
            return 0;
        break;
    case CONTEXT_VARIABLE:
        v = context_variable(w, s);
        break;
    case CONTEXT_RECORD:
        if (from && context_record(w, from))
            return 0;
        break;
    case CONTEXT_ATTRIBUTE:
        context_attribute(w, from, (uint32_t)s->key, s->offset);
        return 0;
    default:
        break;
    }
    if (v) {
        w->at[s->to & (CONTEXT_REGISTERS - 1)] = v;
        return 0;
    }
    w->next += s->skip;
    return !s->skip;
}

/* Returns the enum context_state of the ids and the name that were found. */
UNWIND_INLINE uint8_t context_found(const struct context_work *w)
{
    uint64_t trace = w->out.id[CONTEXT_TRACE_WORD] | w->out.id[CONTEXT_TRACE_WORD + 1];
    bool good = trace && w->out.id[CONTEXT_SPAN_WORD];

    if (w->out.ids == CONTEXT_IDS_NONE)
        good = w->out.bytes[CONTEXT_NAME];
    else if (w->out.ids == CONTEXT_IDS_KEYS)
        good = trace || w->out.bytes[CONTEXT_NAME];
    else if (w->out.ids == CONTEXT_IDS_RECORD)
        good = good || w->out.bytes[CONTEXT_NAME];
    if (!good)
        return w->fault ? CONTEXT_UNREADABLE : CONTEXT_NO_REQUEST;
    return w->out.bytes[CONTEXT_NAME] ? CONTEXT_NAMED : CONTEXT_IDS_ONLY;
}

/* Returns the state of the JavaThread and keeps its reference in w->root, both by one read; 0: not
 * known. No line is kept yet, so it reads into their room. */
UNWIND_INLINE uint32_t context_thread_state(struct context_work *w, const struct context_path *path,
                                            const struct unwind_locks *l)
{
    uint64_t object = l->thread_object, state = path->thread_state, low;

    low = (object < state ? object : state) & ~7ULL;
    object -= low;
    state -= low;
    if (!path->thread_state || object > CONTEXT_LINE - 8 || state > CONTEXT_LINE - 8 ||
        !context_is_address(w->thread + low) ||
        !context_read_bytes(w, w->kept, CONTEXT_LINE, w->thread + low))
        return 0;
    UNWIND_MASK(object, CONTEXT_LINE - 1);
    UNWIND_MASK(state, CONTEXT_LINE - 1);
    if (!(object & 7))
        w->root = w->kept[object / 8];
    return (uint32_t)(w->kept[state / 8] >> state % 8 * 8);
}

/* Returns what the VM says of its collections now: bits and, above them, the number. ~0: it could
 * not be read. Not static in BPF, as context_probe(). */
UNWIND_FUNCTION uint64_t context_pause(struct context_work *w, struct context_path *path)
{
    uint64_t n, from;
    uint32_t fault;

    if (!w || !path)
        return ~0ULL;
    context_forget_lines(w);
    fault = w->fault;
    w->fault = 0;
    n = context_load(w, path->pauses.collections, 4) << UNWIND_PAUSE_BITS;
    if (context_load(w, path->pauses.collects, 1)) {
        n |= UNWIND_PAUSE;
        from = path->pauses.compact_from ? context_load(w, path->pauses.compact_from, 8) : ~0ULL;
        if (from == ~0ULL || from > context_load(w, path->pauses.compact_to, 8))
            n |= UNWIND_COMPACT;
    }
    if (w->fault)
        return ~0ULL;
    w->fault = fault;
    return n;
}

/* Prepares for collections of G1, Parallel and Serial. Returns whether the walk must heed them: the
 * thread does not run Java, so it may wait or run native code while they move objects. */
UNWIND_INLINE bool context_heeds_pauses(struct context_work *w, struct context_path *path,
                                        const struct unwind_process *p)
{
    if (!path->pauses.collects || path->ids == CONTEXT_IDS_RECORD)
        return false;
    if (context_thread_state(w, path, &p->vm.locks) == path->in_java)
        return false;
    w->pause = context_pause(w, path);
    if (w->pause & UNWIND_PAUSE)
        w->fresh = 1;
    return true;
}

/* Makes all steps of @path in the thread with the JavaThread @thread. The result is in w->out. Not
 * static in BPF, as context_probe(). */
UNWIND_FUNCTION int context_walk(struct context_work *w, struct context_path *path,
                                 struct unwind_process *p, uint64_t thread)
{
    bool heeds;

    if (!w || !path || !p)
        return 0;
    w->thread = thread;
    w->fresh = p->vm.zgc.bad_mask || path->forwards;
    heeds = context_heeds_pauses(w, path, p);
    if (heeds && w->pause & UNWIND_COMPACT)
        return 1;
    if (p->vm.zgc.bad_mask)
        w->begun_ns = context_now_ns();
    w->view = p->vm.locks.coloured || !p->vm.zgc.bad_mask ? 0 : p->vm.zgc.offset_mask + 1;
    if (p->vm.zgc.bad_mask)
        w->bad = context_load_here(w, p->vm.zgc.bad_mask);
    else if (path->moves) /* ZGC, but its forwarding data is not known */
        w->fault = 1;
    UNWIND_LOOP
    for (uint32_t i = 0; i < CONTEXT_STEPS_MAX; i++) {
        if (context_step(w, path, p))
            break;
    }
    /* If ZGC has begun another phase, a reference may have been taken for a current one. A record
     * of a thread is not in the heap. */
    w->torn = p->vm.zgc.bad_mask && path->ids != CONTEXT_IDS_RECORD &&
              (context_load_here(w, p->vm.zgc.bad_mask) != w->bad ||
               context_now_ns() - w->begun_ns > CONTEXT_WALK_NS);
    if (heeds && context_pause(w, path) != w->pause)
        w->torn = 1;
    if (w->copied || w->torn)
        w->out.state = CONTEXT_UNREADABLE;
    else
        w->out.state = context_found(w);
    return 1;
}
