/* SPDX-License-Identifier: Apache-2.0 */
#include "attach/deferred_frames.h"

#include "base/array.h"
#include "base/id_table.h"
#include "base/list.h"
#include "base/u64_cache.h"
#include "symbolize/java.h"
#include "symbolize/java_function.h"
#include "unwind/unwind.h"

_Static_assert(RECORD_LATER_FRAMES_MAX >= JAVA_EXPAND_MAX, "the outermost method has a place");

#define SLOT_NS UINT64_C(1000000000) /* time slot of an address without a compile id */

/* The key of a place. It has no padding. */
struct place_key {
    uint64_t word, slot;
    uint32_t is_return_address, frame;
};

struct place {
    uint64_t time_ns;
    uint32_t first, decided; /* indices in the pool: frames that memory gave; decided frames */
    uint8_t count, decided_count;
};

struct deferred {
    struct frame_table *frames;
    uint64_t owner;
    struct id_table keys; /* struct place_key */
    struct place *places; /* [keys.count] */
    size_t place_cap;
    uint32_t *pool; /* frame ids */
    /* pool_kept: number of frames that memory gave; decided frames follow them. */
    size_t pool_count, pool_cap, pool_kept;
    uint64_t time_ns;
    struct deferred_source source;
    uint64_t steps_max;         /* code_map_stats().steps at which the map is no longer used */
    struct u64_cache functions; /* maps the agent's id of a method to its function */
    struct deferred_stats stats;
};

int deferred_new(struct frame_table *frames, uint64_t owner, struct deferred **ret)
{
    struct deferred *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->frames = frames;
    l->owner = owner;
    id_table_init(&l->keys, sizeof(struct place_key), LATER_PLACES_MAX);
    u64_cache_init(&l->functions, 1u << 17);
    *ret = l;
    return 0;
}

struct deferred *deferred_free(struct deferred *l)
{
    if (!l)
        return NULL;
    id_table_deinit(&l->keys);
    u64_cache_deinit(&l->functions);
    free(l->places);
    free(l->pool);
    free(l);
    return NULL;
}

void deferred_set_time(struct deferred *l, uint64_t time_ns)
{
    l->time_ns = time_ns;
}

/* Appends @count ids to the pool. Returns false if there is no memory. */
static bool pool_add(struct deferred *l, const uint32_t *frames, size_t count, uint32_t *ret_first)
{
    if (!array_grow(&l->pool, &l->pool_cap, l->pool_count + count, 512))
        return false;
    *ret_first = (uint32_t)l->pool_count;
    if (count)
        memcpy(l->pool + l->pool_count, frames, count * sizeof(*frames));
    l->pool_count += count;
    return true;
}

static bool is_interpreter(const struct deferred *l, uint32_t frame)
{
    const struct frame *f = frame_table_get(l->frames, frame);
    const struct function *fn = frame_table_get_function(l->frames, f->function);

    return f->kind == FRAME_STUB &&
           span_starts_with(frame_table_get_string(l->frames, fn->name), "Interpreter");
}

/* Drops the decided frames, so that frames that memory gives can be added. */
static void undecide(struct deferred *l)
{
    for (uint32_t i = 0; i < l->keys.count; i++)
        l->places[i].decided_count = 0;
    l->pool_count = l->pool_kept;
    l->stats = (struct deferred_stats){ 0 };
}

uint32_t deferred_add(void *cookie, uint64_t word, bool is_return_address, const uint32_t *frames,
                      size_t count)
{
    struct deferred *l = cookie;
    bool has_id = word >> UNWIND_KIND_SHIFT == UNWIND_COMPILED;
    struct place_key key = { .word = word,
                             .slot = has_id ? 0 : l->time_ns / SLOT_NS,
                             .is_return_address = is_return_address,
                             .frame = count ? frames[0] : 0 };
    struct place p = { .time_ns = l->time_ns };
    uint32_t id;

    if (id_table_find(&l->keys, &key, &id))
        return RECORD_LATER + id;
    if ((count && is_interpreter(l, frames[0])) || l->keys.count == LATER_PLACES_MAX)
        return 0;
    if (l->pool_count != l->pool_kept)
        undecide(l);
    if (!array_grow(&l->places, &l->place_cap, l->keys.count + (size_t)1, 256))
        return 0;
    p.count = (uint8_t)MIN(count, (size_t)RECORD_LATER_FRAMES_MAX);
    if (!pool_add(l, frames, p.count, &p.first))
        return 0;
    if (id_table_add(&l->keys, &key, &id) < 0) {
        l->pool_count = l->pool_kept;
        return 0;
    }
    l->pool_kept = l->pool_count;
    l->places[id] = p;
    return RECORD_LATER + id;
}

void deferred_decide(struct deferred *l, const struct deferred_source *s)
{
    undecide(l);
    u64_cache_clear(&l->functions);
    l->source = *s;
    l->steps_max = s->map ? code_map_stats(s->map).steps + LATER_STEPS_MAX : 0;
}

/* ---- frames by the source ---- */

static uint32_t make_frame(struct deferred *l, uint32_t function, uint32_t line,
                           enum frame_kind kind)
{
    struct frame f = {
        .function = function, .line = line, .kind = (uint8_t)kind, .unknown = !function
    };
    uint32_t id = 0;

    frame_table_frame(l->frames, &f, &id);
    return id;
}

static uint32_t stub_frame(struct deferred *l, struct span name)
{
    return make_frame(l, java_stub_id(l->frames, name), 0, FRAME_STUB);
}

static uint32_t agent_function(struct deferred *l, uint32_t method)
{
    struct code_method m;
    struct java_function_text text;
    uint32_t id;

    if (u64_cache_get(&l->functions, method, &id))
        return id;
    if (!code_map_method(l->source.map, method, &m))
        return 0;
    text = (struct java_function_text){ m.class_name, m.name, m.signature, m.file };
    id = java_function_id(l->frames, &text);
    u64_cache_put(&l->functions, method, id);
    return id;
}

/* Gets the frames that the agent reports; 0: it knows none, or not all. @tier: tier of the compiled
 * method, which the agent does not report. */
static size_t agent_frames(struct deferred *l, uint64_t pc, bool is_return_address,
                           uint64_t time_ns, enum frame_kind tier,
                           uint32_t ret[RECORD_LATER_FRAMES_MAX])
{
    struct code_location at[CODE_MAP_FRAMES_MAX];
    struct code_piece piece;
    struct code_map_stats before = code_map_stats(l->source.map);
    size_t count;

    if (before.steps > l->steps_max) {
        l->stats.given_up++;
        return 0;
    }
    if (!code_map_find(l->source.map, pc - is_return_address, time_ns, &piece)) {
        l->stats.given_up += code_map_stats(l->source.map).given_up > before.given_up;
        return 0;
    }
    if (piece.stub) {
        ret[0] = stub_frame(l, piece.stub_name);
        return 1;
    }
    count = code_map_locate(l->source.map, pc, time_ns, is_return_address, at);
    for (size_t i = 0; i < count; i++) {
        uint32_t function = agent_function(l, at[i].method);

        if (!function)
            return 0;
        ret[i] = make_frame(l, function, code_map_line(l->source.map, at[i].method, at[i].bci),
                            at[i].inlined ? FRAME_INLINED : tier);
    }
    return count;
}

/* Makes a frame of an external name as HotSpot writes it: "int java.lang.String.indexOf(int, int)".
 * A name without brackets is a stub's. */
static uint32_t text_frame(struct deferred *l, struct span name, enum frame_kind tier)
{
    size_t bracket = span_find(name, '('), space, dot;
    struct span head = { name.p, bracket };
    struct java_function_text text = { 0 };

    if (bracket == name.n || name.p[name.n - 1] != ')')
        return stub_frame(l, name);
    space = span_rfind(head, ' ');
    if (space < head.n)
        head = span_from(head, space + 1);
    dot = span_rfind(head, '.');
    if (dot == head.n)
        return stub_frame(l, name);
    text.class_name = (struct span){ head.p, dot };
    text.name = span_from(head, dot + 1);
    text.signature = span_from(name, bracket);
    return make_frame(l, java_function_id(l->frames, &text), 0, tier);
}

static size_t source_frames(struct deferred *l, const struct place_key *key, const struct place *p,
                            enum frame_kind tier, uint32_t ret[RECORD_LATER_FRAMES_MAX])
{
    uint64_t pc = key->word & UNWIND_PC_MASK;
    const struct symbol *s;

    if (l->source.map)
        return agent_frames(l, pc, key->is_return_address, p->time_ns, tier, ret);
    s = l->source.text ? symbol_table_find(l->source.text, pc - key->is_return_address) : NULL;
    if (!s)
        return 0;
    ret[0] = text_frame(l, symbol_name(l->source.text, s), tier);
    return 1;
}

/* ---- the decision ---- */

static uint32_t function_of(const struct deferred *l, uint32_t frame)
{
    return frame_table_get(l->frames, frame)->function;
}

/* Returns whether both stacks name the same methods in the same order. The JVM's own map has only
 * the outermost method, without a file. */
static bool same_functions(const struct deferred *l, const uint32_t *a, size_t a_n,
                           const uint32_t *b, size_t b_n)
{
    if (!l->source.map) {
        const struct function *x = frame_table_get_function(l->frames, function_of(l, a[a_n - 1]));
        const struct function *y = frame_table_get_function(l->frames, function_of(l, b[b_n - 1]));

        return x->class_name == y->class_name && x->name == y->name;
    }
    return a_n == b_n && ALL_OF(i, a_n, function_of(l, a[i]) == function_of(l, b[i]));
}

/* Returns whether @frames, which memory gave, name the place. */
static bool named(const struct deferred *l, const uint32_t *frames, size_t count)
{
    return count && !frame_table_get(l->frames, frames[count - 1])->unknown;
}

/* Returns whether @frame is a stub for which memory has a more exact name. HotSpot reports both
 * adapters of a blob to an agent by one name. */
static bool tells_less(const struct deferred *l, uint32_t frame)
{
    const struct function *f = frame_table_get_function(l->frames, function_of(l, frame));

    return span_eq_str(frame_table_get_string(l->frames, f->name), "I2C/C2I adapters");
}

/* Returns whether @memory names another inlined method of the same code than @source, by the loop
 * around the place. An agent knows only HotSpot's records, and that behind a place in a loop may
 * belong to the code after the loop (hotspot/leaf/leaf.h). */
static bool knows_loop(const struct deferred *l, const uint32_t *memory, size_t memory_n,
                       const uint32_t *source, size_t source_n)
{
    return l->source.map && frame_table_get(l->frames, memory[0])->leaf != FRAME_LEAF_RECORDED &&
           function_of(l, memory[memory_n - 1]) == function_of(l, source[source_n - 1]) &&
           !same_functions(l, source, source_n, memory, memory_n);
}

/* Decides the frames of place @n. */
static size_t decide(struct deferred *l, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX])
{
    const struct place_key *key = id_table_get(&l->keys, n);
    const struct place *p = &l->places[n];
    const uint32_t *memory = l->pool + p->first;
    enum frame_kind tier =
        p->count ? (enum frame_kind)frame_table_get(l->frames, memory[p->count - 1])->kind
                 : FRAME_UNKNOWN;
    bool memory_knows = named(l, memory, p->count), stub = tier == FRAME_STUB, use;
    size_t count =
        source_frames(l, key, p, tier == FRAME_C1 || tier == FRAME_JVMCI ? tier : FRAME_C2, ret);

    /* The JVM's own map has one name for all stubs of a blob. */
    use = count && (!memory_knows || !stub || (l->source.map && !tells_less(l, ret[0])));
    if (stub && count && frame_table_get(l->frames, ret[0])->kind != FRAME_STUB)
        use = false; /* the address had other code when the agent reported it */
    if (count && memory_knows && knows_loop(l, memory, p->count, ret, count)) {
        l->stats.loops++;
        use = false;
    } else if (count && memory_knows && !stub) {
        l->stats.both++;
        l->stats.same += same_functions(l, ret, count, memory, p->count);
    }
    l->stats.added += use && !memory_knows;
    if (use)
        return count;
    if (!p->count) {
        ret[0] = 0;
        return 1;
    }
    memcpy(ret, memory, p->count * sizeof(*ret));
    return p->count;
}

size_t deferred_resolve(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX])
{
    struct deferred *l = cookie;
    struct place *p;
    size_t count;

    if (n >= l->keys.count) {
        ret[0] = 0;
        return 1;
    }
    p = &l->places[n];
    if (p->decided_count) {
        memcpy(ret, l->pool + p->decided, p->decided_count * sizeof(*ret));
        return p->decided_count;
    }
    frame_table_charge(l->frames, l->owner);
    count = decide(l, n, ret);
    frame_table_charge(l->frames, 0);
    if (pool_add(l, ret, count, &p->decided))
        p->decided_count = (uint8_t)count;
    return count;
}

int deferred_rebase_add(const struct deferred *l, struct rebase *b)
{
    int r = 0;

    for (size_t i = 0; i < l->pool_kept && r == 0; i++)
        r = rebase_add_frame(b, l->pool[i]);
    return r;
}

void deferred_rebase(struct deferred *l, const struct rebase *b, struct frame_table *frames)
{
    undecide(l);
    u64_cache_clear(&l->functions);
    for (size_t i = 0; i < l->pool_kept; i++)
        l->pool[i] = rebase_frame(b, l->pool[i]);
    for (uint32_t i = 0; i < l->keys.count; i++) {
        struct place_key *key = id_table_at(&l->keys, i);

        key->frame = rebase_frame(b, key->frame); /* the frame of a place's key */
    }
    id_table_rehash(&l->keys);
    l->frames = frames;
}

struct deferred_stats deferred_stats(const struct deferred *l)
{
    return l->stats;
}
