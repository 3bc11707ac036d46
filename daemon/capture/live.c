/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/live.h"

#include "base/cleanup.h"

_Static_assert(HOTSPOT_LIVE_MAX >= STREAM_LIVE_MAX, "all that an agent follows");

#define KEPT_MAX ((size_t)2 * STREAM_LIVE_MAX)
#define STEP ((size_t)512) /* samples of a charge */
_Static_assert(KEPT_MAX % STEP == 0, "the last step is whole");
#define WORTH_MAX 0x1p50 /* bytes, per sample: the sum of all does not overflow */

/* An object that the agent follows, at the look. */
struct followed {
    struct stream_live at;
    bool alive;
};

struct live {
    struct record *record;    /* borrowed: its budget is charged */
    struct live_sample *kept; /* owned: [KEPT_MAX], not touched from `charged` on */
    size_t count, charged;
    bool looked;
    struct followed *followed; /* owned: [followed_count], by id; NULL: none */
    size_t followed_count;
    uint32_t collections, newest_dead; /* number of begun collections plus 1, 0: unknown; newest id
                                          found dead, 0: none */
    uint64_t missed;
    bool under_way, young_blind;
};

int live_new(struct record *r, struct live **ret)
{
    struct live *l = calloc(1, sizeof(*l));

    if (!l)
        return -ENOMEM;
    l->kept = calloc(KEPT_MAX, sizeof(*l->kept));
    if (!l->kept) {
        free(l);
        return -ENOMEM;
    }
    l->record = r;
    *ret = l;
    return 0;
}

struct live *live_free(struct live *l)
{
    if (l) {
        free(l->kept);
        free(l->followed);
        free(l);
    }
    return NULL;
}

size_t live_count(const struct live *l)
{
    return l->count;
}

/* ---- the agent's table ---- */

/* Returns whether id @a is newer than id @b; ids wrap around. */
static bool is_newer(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

ORDER_FUNCTION(by_id, struct followed, COMPARE(x->at.id, y->at.id))

/* Copies the entries of @table to @ret, sorted by id. Returns their number. */
static size_t sort_table(const struct stream_live *table, const bool *alive, struct followed *ret)
{
    size_t n = 0;

    for (uint32_t i = 0; i < STREAM_LIVE_MAX; i++) {
        if (table[i].id)
            ret[n++] = (struct followed){ table[i], alive && alive[i] };
    }
    qsort(ret, n, sizeof(*ret), by_id);
    return n;
}

static struct followed *find(struct followed *all, size_t count, uint32_t id)
{
    const struct followed key = { .at.id = id };

    return count ? bsearch(&key, all, count, sizeof(key), by_id) : NULL;
}

static struct stream_live *new_table(void)
{
    return calloc(STREAM_LIVE_MAX, sizeof(struct stream_live));
}

static struct followed *new_followed(void)
{
    return calloc(STREAM_LIVE_MAX, sizeof(struct followed));
}

void live_let_go(struct live *l, const struct stream_live *table)
{
    _cleanup_free_ struct followed *f = new_followed();
    size_t count, kept = 0;

    if (!f)
        return;
    count = sort_table(table, /* alive= */ NULL, f);
    for (size_t i = 0; i < l->count; i++) {
        struct followed *one = find(f, count, l->kept[i].object);

        if (!one || one->alive)
            continue;
        one->alive = true; /* a second sample with this id is invalid */
        l->kept[kept++] = l->kept[i];
    }
    l->count = kept;
}

static bool has_room(struct live *l)
{
    if (l->count == l->charged && l->charged < KEPT_MAX &&
        record_beside(l->record, STEP * sizeof(*l->kept)))
        l->charged += STEP;
    return l->count < l->charged;
}

bool live_keep(struct live *l, struct attachment *a, const struct live_sample *s)
{
    bool fits = has_room(l);

    if (!fits && a && !l->looked) {
        _cleanup_free_ struct stream_live *table = new_table();
        struct stream_status status;

        if (table && attachment_live(a, table, &status))
            live_let_go(l, table);
        fits = has_room(l);
    }
    if (!fits)
        return false;
    l->kept[l->count++] = *s;
    return true;
}

/* ---- the look ---- */

static void note_dead(struct live *l, uint32_t id)
{
    if (id && (!l->newest_dead || is_newer(id, l->newest_dead)))
        l->newest_dead = id;
}

void live_compare(struct live *l, const struct live_tables *t)
{
    struct followed *f = new_followed();
    _cleanup_free_ struct followed *again = new_followed();
    size_t count, again_count, kept = 0;

    free(l->followed);
    l->followed = f;
    l->followed_count = 0;
    l->looked = f && again;
    if (!l->looked)
        return;
    l->collections = t->collections;
    l->under_way = t->under_way;
    l->young_blind = t->young_blind;
    l->missed = t->missed;
    note_dead(l, t->newest_dead);
    count = sort_table(t->before, t->alive, f);
    again_count = sort_table(t->after, /* alive= */ NULL, again);
    for (size_t i = 0; i < count; i++) {
        const struct followed *same = find(again, again_count, f[i].at.id);

        /* The object's word may hold another reference once the object has left the table. */
        if (!same || same->at.ref != f[i].at.ref)
            continue;
        if (!f[i].alive)
            note_dead(l, f[i].at.id);
        f[kept++] = (struct followed){ same->at, f[i].alive };
    }
    l->followed_count = kept;
}

void live_look(struct live *l, struct attachment *a, struct hotspot_vm *vm)
{
    _cleanup_free_ struct stream_live *before = new_table(), *after = new_table();
    _cleanup_free_ struct hotspot_live *words = calloc(1, sizeof(*words));
    struct stream_status status;

    if (!before || !after || !words || !vm || !attachment_live(a, before, &status))
        return;
    words->count = STREAM_LIVE_MAX;
    for (uint32_t i = 0; i < STREAM_LIVE_MAX; i++)
        words->words[i] = before[i].id ? before[i].ref & ~STREAM_LIVE_KIND_BITS : 0;
    if (hotspot_vm_live(vm, words) == 0 && attachment_live(a, after, &status))
        live_compare(l, &(struct live_tables){ .before = before,
                                               .after = after,
                                               .alive = words->alive,
                                               .collections = words->collections,
                                               .newest_dead = status.live_dead,
                                               .missed = status.live_missed,
                                               .under_way = words->under_way,
                                               .young_blind = words->young_blind });
}

/* ---- results ---- */

/* Returns the number of collections that began since @s was taken. */
static uint32_t age_of(const struct live *l, const struct live_sample *s)
{
    uint32_t age = l->collections - s->collections;

    return l->collections && s->collections && (int32_t)age > 0 ? age : 0;
}

/* Returns whether a collection has checked the object of @s. If a collection may be under way, only
 * those before it count. If collections may skip young objects, only a dead object that is no older
 * than the object of @s is proof. */
static bool is_looked_at(const struct live *l, const struct live_sample *s)
{
    return (!l->young_blind && age_of(l, s) > (l->under_way ? 1 : 0)) ||
           (l->newest_dead && !is_newer(s->object, l->newest_dead));
}

/* Returns @s scaled by the chance with which the agent kept its object. */
static struct live_sample worth(const struct live_sample *s, const struct stream_live *at)
{
    uint64_t stands = MAX(at->bytes, (uint64_t)at->interval);
    struct live_sample w = *s;

    if (stands && at->threshold > stands)
        w.sample.value = (uint64_t)MIN(
            (double)s->sample.value * ((double)at->threshold / (double)stands), WORTH_MAX);
    return w;
}

static uint32_t objects_of(const struct live_sample *s, const struct stream_live *at)
{
    return (uint32_t)CLAMP((double)s->sample.value / (double)MAX(at->bytes, UINT64_C(1)) + 0.5, 1.0,
                           (double)UINT32_MAX);
}

void live_each(struct live *l, live_fn fn, void *cookie, struct live_found *ret)
{
    struct live_found f = { .looked = l->looked, .missed = l->missed };

    for (size_t i = 0; i < l->count; i++) {
        f.any_looked_at |= is_looked_at(l, &l->kept[i]);
        f.collections = MAX(f.collections, age_of(l, &l->kept[i]));
    }
    for (size_t i = 0; i < l->count; i++) {
        const struct live_sample *s = &l->kept[i];
        struct followed *at = find(l->followed, l->followed_count, s->object);
        struct live_sample w;

        if (!at || !at->alive) {
            f.gone++;
            continue;
        }
        at->alive = false; /* a second sample with this id is invalid */
        if (f.any_looked_at && !is_looked_at(l, s)) {
            f.young++;
            continue;
        }
        w = worth(s, &at->at);
        f.thinned |= w.sample.value > s->sample.value;
        f.alive++;
        fn(cookie, &w, objects_of(&w, &at->at),
           f.any_looked_at && !f.collections ? LIVE_NO_AGE : age_of(l, s));
    }
    l->count = 0;
    *ret = f;
}
