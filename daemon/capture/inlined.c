/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/inlined.h"

#include "base/id_table.h"
#include "base/list.h"
#include "base/text.h"

/* A native frame at an address of a file; no padding. */
struct place {
    uint64_t address;
    uint32_t file, frame;
};

struct inlined {
    struct symbolizer *symbolizer;
    struct inlines *inlines;
    struct frame_table *frames;
    struct id_table places; /* struct place */
    uint32_t stack[STACK_FRAMES_MAX];
    struct inlined_stats stats;
};

int inlined_new(struct symbolizer *s, struct frame_table *frames, struct inlined **ret)
{
    struct inlined *i = calloc(1, sizeof(*i));

    if (!i)
        return -ENOMEM;
    i->symbolizer = s;
    i->frames = frames;
    i->inlines = symbolizer_inlines(s);
    if (!i->inlines) {
        free(i);
        return -ENOMEM;
    }
    inlines_hold(i->inlines);
    id_table_init(&i->places, sizeof(struct place), INLINED_PLACES_MAX);
    *ret = i;
    return 0;
}

struct inlined *inlined_free(struct inlined *i)
{
    if (!i)
        return NULL;
    inlines_release(i->inlines);
    id_table_deinit(&i->places);
    free(i);
    return NULL;
}

/* Returns the number of the place of @frame at @address; UINT32_MAX: there is no room. */
static uint32_t add_place(struct inlined *i, struct process *p, uint32_t frame, uint64_t address)
{
    struct place place = { .frame = frame };
    uint32_t id;
    int r;

    place.file = symbolizer_place(i->symbolizer, p, address, &place.address);
    if (!place.file)
        return UINT32_MAX;
    r = id_table_add(&i->places, &place, &id);
    i->stats.dropped += r < 0;
    return r < 0 ? UINT32_MAX : id;
}

const uint32_t *inlined_stack(struct inlined *i, struct process *p, const struct named_stack *stack,
                              uint32_t base)
{
    const uint64_t *code = symbolizer_code(i->symbolizer);

    for (size_t k = 0; k < stack->count; k++) {
        uint32_t frame = stack->frames[k], place = UINT32_MAX;

        if (code[k] && frame < RECORD_LATER)
            place = add_place(i, p, frame, code[k]);
        i->stack[k] = place == UINT32_MAX ? frame : base + place;
    }
    return i->stack;
}

/* ---- frames of places ---- */

static uint32_t clean_string(struct inlined *i, struct span raw)
{
    return raw.n ? frame_table_clean(i->frames, raw, TEXT_UTF8) : 0;
}

/* Returns the frame of @at, in the code of frame @base; 0: there is no room. */
static uint32_t make_frame(struct inlined *i, const struct frame *base,
                           const struct inlines_frame *at, bool inlined)
{
    struct function f = *frame_table_get_function(i->frames, base->function);
    struct frame frame = *base;
    uint32_t id = 0;

    if (inlined) {
        f.name = clean_string(i, at->name);
        frame.kind = FRAME_NATIVE_INLINED;
        frame.unknown = !f.name;
    }
    f.file = clean_string(i, at->file);
    frame.line = at->line;
    frame_table_function(i->frames, &f, &frame.function);
    frame_table_frame(i->frames, &frame, &id);
    return frame.function ? id : 0;
}

static bool lacks_names(const struct inlines_frame *at, size_t count)
{
    return ANY_OF(k, count, k + 1 < count && !at[k].name.n);
}

size_t inlined_frames(struct inlined *i, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX])
{
    struct inlines_frame at[DWARF_FRAMES_MAX];
    const struct place *p;
    struct frame base;
    size_t count;

    _Static_assert(DWARF_FRAMES_MAX <= RECORD_LATER_FRAMES_MAX, "all frames of a place fit");
    ret[0] = 0;
    if (n >= i->places.count)
        return 1;
    p = id_table_get(&i->places, n);
    ret[0] = p->frame;
    base = *frame_table_get(i->frames, p->frame);
    switch (inlines_get(i->inlines, p->file, p->address, at, &count)) {
    case DWARF_FOUND:
        break;
    case DWARF_NOT_READ:
        i->stats.unread +=
            inlines_has_any(i->inlines, p->file) || inlines_lost(i->inlines, p->file);
        return 1;
    case DWARF_SPLIT:
        i->stats.split++;
        return 1;
    case DWARF_BEYOND:
        i->stats.beyond++;
        return 1;
    default:
        return 1;
    }
    i->stats.found++;
    i->stats.shared += lacks_names(at, count) && inlines_lacks_shared(i->inlines, p->file);
    frame_table_charge(i->frames, inlines_owner(i->inlines, p->file));
    for (size_t k = 0; k < count; k++) {
        ret[k] = make_frame(i, &base, &at[k], k + 1 < count);
        if (!ret[k]) { /* no room for names: the native frame stays */
            ret[0] = p->frame;
            count = 1;
        }
    }
    frame_table_charge(i->frames, 0);
    return count;
}

void inlined_decide(struct inlined *i)
{
    i->stats = (struct inlined_stats){ .dropped = i->stats.dropped };
}

bool inlined_waits(const struct inlined *i)
{
    return i->places.count && inlines_reads(i->inlines);
}

int inlined_rebase_add(const struct inlined *i, struct rebase *b)
{
    int r = 0;

    for (uint32_t n = 0; n < i->places.count && r == 0; n++)
        r = rebase_add_frame(b, ((const struct place *)id_table_get(&i->places, n))->frame);
    return r;
}

void inlined_rebase(struct inlined *i, const struct rebase *b, struct frame_table *frames)
{
    for (uint32_t n = 0; n < i->places.count; n++) {
        struct place *p = id_table_at(&i->places, n);

        p->frame = rebase_frame(b, p->frame);
    }
    id_table_rehash(&i->places);
    i->frames = frames;
}

struct inlined_stats inlined_stats(const struct inlined *i)
{
    return i->stats;
}
