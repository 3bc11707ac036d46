/* SPDX-License-Identifier: Apache-2.0 */
/* The slots of the cache: how they are found, and which are evicted. */
#include "base/list.h"
#include "symbolize/elf_cache_impl.h"

/* How long a file must be unused before it may be evicted: for a file of the same owner, and for a
 * file of any owner. */
#define IDLE_NS (10 * NSEC_PER_SEC)
#define LONG_IDLE_NS (60 * NSEC_PER_SEC)
#define TRY_AGAIN_NS NSEC_PER_SEC

static bool image_is_nameless(const struct elf_image *image)
{
    return image->too_large || image->no_room_bytes;
}

void slot_clear(struct elf_cache *c, struct elf_slot *s)
{
    c->stats.files--;
    c->stats.bytes -= s->bytes;
    c->stats.nameless -= image_is_nameless(s->image);
    shares_give(&c->memory->symbols, s->owner, s->bytes);
    elf_image_free(s->image);
    *s = (struct elf_slot){ 0 };
}

/* ---- what was read ---- */

struct elf_ref slot_ref(struct elf_cache *c, struct elf_slot *s)
{
    s->used = ++c->turn;
    s->used_ns = c->now_ns;
    return (struct elf_ref){ .slot = (uint32_t)(s - c->slots), .serial = s->serial };
}

struct elf_slot *slot_by_print(struct elf_cache *c, uint64_t print)
{
    return FIRST_OF(i, c->slots, c->count,
                    print && c->slots[i].image && c->slots[i].print == print);
}

struct elf_slot *slot_by_keys(struct elf_cache *c, const struct elf_keys *keys, uint64_t owner)
{
    struct elf_slot *nameless = NULL;

    for (size_t i = 0; i < c->count; i++) {
        struct elf_slot *s = &c->slots[i];

        if (!s->image || !elf_keys_equal(&s->keys, keys))
            continue;
        if (!s->image->no_room_bytes)
            return s;
        if (s->owner == owner)
            nameless = s;
    }
    return nameless;
}

const struct elf_headers *headers_by_keys(const struct elf_cache *c, const struct elf_keys *keys)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct elf_slot *s = &c->slots[i];

        if (s->image && file_identity_equal(&s->keys.file, &keys->file))
            return &s->headers;
    }
    return NULL;
}

/* ---- room ---- */

/* Returns the file of @owner that was used longest ago and before @before_ns; NULL: none. */
static struct elf_slot *oldest_of(struct elf_cache *c, uint64_t owner, uint64_t before_ns)
{
    struct elf_slot *oldest = NULL;

    for (size_t i = 0; i < c->count; i++) {
        struct elf_slot *s = &c->slots[i];

        if (s->image && s->owner == owner && s->used_ns < before_ns &&
            (!oldest || s->used < oldest->used))
            oldest = s;
    }
    return oldest;
}

/* Returns the owner that has the most files (@files) or bytes; 0 if no owner has any. */
static uint64_t greediest(const struct elf_cache *c, bool files, uint64_t *ret_has)
{
    uint64_t owner = 0;

    *ret_has = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct elf_slot *s = &c->slots[i];
        uint64_t has = 0;

        for (size_t k = 0; k < c->count && s->image; k++) {
            if (c->slots[k].image && c->slots[k].owner == s->owner)
                has += files ? 1 : c->slots[k].bytes;
        }
        if (has > *ret_has) {
            *ret_has = has;
            owner = s->owner;
        }
    }
    return owner;
}

/* Returns the file to evict so that @owner gets @bytes more; NULL: none. Takes an idle file of
 * @owner. Otherwise, if memory is short, takes a file of the owner that has the most symbols.
 * Otherwise takes any file that was idle for long. */
static struct elf_slot *victim(struct elf_cache *c, uint64_t owner, uint64_t bytes)
{
    struct elf_slot *s = oldest_of(c, owner, c->now_ns - MIN(c->now_ns, IDLE_NS)), *o;
    bool full = shares_room_of_part(&c->memory->symbols, owner) < bytes;
    uint64_t has, most = s || !full ? 0 : greediest(c, /* files= */ false, &has);

    if (!s && most && most != owner && has > shares_used(&c->memory->symbols, owner) + bytes)
        s = oldest_of(c, most, UINT64_MAX);
    for (size_t i = 0; !s && i < c->count; i++) {
        o = &c->slots[i];
        if (o->image && c->now_ns - MIN(c->now_ns, LONG_IDLE_NS) > o->used_ns)
            s = o;
    }
    return s;
}

static void evict(struct elf_cache *c, struct elf_slot *s)
{
    slot_clear(c, s);
    c->stats.evicted++;
}

/* Makes room for @bytes of @owner. Returns false if there is none. */
static bool make_room(struct elf_cache *c, uint64_t owner, uint64_t bytes)
{
    while (shares_room_lasting(&c->memory->symbols, owner) < bytes) {
        struct elf_slot *s = victim(c, owner, bytes);

        if (!s) {
            c->memory->symbols.refused++;
            return false;
        }
        evict(c, s);
    }
    return true;
}

/* Returns a free slot. If there is none, evicts the oldest file of the owner that has the most
 * files. */
static struct elf_slot *take_slot(struct elf_cache *c)
{
    struct elf_slot *s;

    for (size_t i = 0; i < c->count; i++) {
        if (!c->slots[i].image)
            return &c->slots[i];
    }
    s = oldest_of(c, greediest(c, /* files= */ true, &(uint64_t){ 0 }), UINT64_MAX);
    evict(c, s);
    return s;
}

static size_t image_bytes(const struct elf_image *image)
{
    return sizeof(*image) + symbol_table_bytes(&image->symbols);
}

struct elf_slot *slot_store(struct elf_cache *c, struct elf_reading *r)
{
    struct elf_image *image = TAKE_PTR(r->image);
    size_t bytes = image_bytes(image);
    struct elf_slot *s;

    if (!make_room(c, r->owner, bytes)) {
        image->no_room_bytes = bytes;
        symbol_table_deinit(&image->symbols);
        bytes = image_bytes(image);
        r->print = 0;
    }
    s = take_slot(c);
    if (++c->serial == 0)
        c->serial = 1;
    *s = (struct elf_slot){
        .image = image, .owner = r->owner, .print = r->print, .serial = c->serial, .bytes = bytes
    };
    shares_force(&c->memory->symbols, s->owner, bytes);
    c->stats.files++;
    c->stats.bytes += bytes;
    c->stats.nameless += image_is_nameless(image);
    c->stats.left_out += image_is_nameless(image);
    return s;
}

void slots_try_again(struct elf_cache *c)
{
    if (!c->stats.nameless || c->now_ns - c->tried_ns < TRY_AGAIN_NS)
        return;
    c->tried_ns = c->now_ns;
    for (size_t i = 0; i < c->count; i++) {
        const struct elf_slot *s = &c->slots[i];
        uint64_t idle = 0;

        if (!s->image || !s->image->no_room_bytes)
            continue;
        for (size_t k = 0; k < c->count; k++) {
            const struct elf_slot *o = &c->slots[k];

            if (o->image && o->owner == s->owner && c->now_ns - o->used_ns > IDLE_NS)
                idle += o->bytes;
        }
        if (shares_room_lasting(&c->memory->symbols, s->owner) + idle >= s->image->no_room_bytes)
            slot_clear(c, &c->slots[i]);
    }
}
