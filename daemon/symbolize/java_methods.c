/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/java_methods.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "symbolize/java_function.h"

/* The method at an address, and the method that was there before. */
struct java_method {
    uint64_t stamp, first_ns, checked_ns; /* when the method was first read, and last read */
    uint64_t before_ns;                   /* when @before was read last */
    uint64_t asked_ns;                    /* last request for the route of a method here */
    uint32_t function, before;
    uint8_t route; /* enum route_state, of @function */
};

enum route_state { ROUTE_UNKNOWN, ROUTE_KNOWN, ROUTE_NONE /* for good */ };

void java_methods_init(struct java_methods *t, struct frame_table *frames)
{
    *t = (struct java_methods){ .frames = frames };
    u64_cache_init(&t->index, JAVA_METHODS_MAX);
}

void java_methods_deinit(struct java_methods *t)
{
    u64_cache_deinit(&t->index);
    free(t->list);
}

static uint32_t java_function(struct java_methods *t, const struct hotspot_method *m)
{
    const struct java_function_text text = {
        .class_name = { m->class_name, m->class_name_n },
        .name = { m->name, m->name_n },
        .signature = { m->signature, m->signature_n },
        .file = { m->file, m->file_n },
    };

    return java_function_id(t->frames, &text);
}

static uint64_t stamp_text(uint64_t h, const char *p, size_t n)
{
    static const uint8_t END = 0xff;

    return fnv1a(fnv1a(h, p, n), &END, 1);
}

/* Returns a hash of all names of a method. Its address does not identify it: the memory of an
 * unloaded class is given to the next class, which has the same layout. */
static uint64_t java_stamp(const struct hotspot_method *m)
{
    uint64_t h = FNV1A_START ^ m->const_method;

    h = stamp_text(h, m->class_name, m->class_name_n);
    h = stamp_text(h, m->name, m->name_n);
    return stamp_text(h, m->signature, m->signature_n);
}

/* Returns which of the two methods at one address was there at @at_ns. Between the last reading of
 * the earlier and the first of the later one, the nearer reading decides. */
static uint32_t java_method_then(const struct java_method *m, uint64_t at_ns)
{
    if (!m->before || at_ns >= m->first_ns)
        return m->function;
    return at_ns <= m->before_ns || at_ns - m->before_ns < m->first_ns - at_ns ? m->before
                                                                               : m->function;
}

/* Reads the route of the method at @method, with the names @m, unless its last answer is still
 * valid. */
static void java_route(struct java_methods *t, struct hotspot_vm *vm, uint64_t method,
                       const struct hotspot_method *m, struct java_method *known)
{
    uint64_t holds_ns = known->route == ROUTE_KNOWN ? JAVA_ROUTE_TRUST_NS : JAVA_ROUTE_RETRY_NS;
    char text[HOTSPOT_ROUTE_MAX];
    uint32_t route = FUNCTION_ROUTE_NONE;
    int n;

    if (known->route == ROUTE_NONE ||
        (known->asked_ns && known->checked_ns < known->asked_ns + holds_ns))
        return;
    n = hotspot_method_route(vm, method, m, text);
    if (n != -ENOENT)
        known->asked_ns = known->checked_ns;
    if (n < 0 && n != -ENOENT)
        return;
    known->route = n > 0 ? ROUTE_KNOWN : ROUTE_NONE;
    if (n > 0)
        route = frame_table_clean(t->frames, (struct span){ text, (size_t)n }, TEXT_MODIFIED_UTF8);
    frame_table_set_route(t->frames, known->function, route);
}

static struct java_method *java_method_add(struct java_methods *t, uint64_t method)
{
    uint32_t at;

    if (t->count >= JAVA_METHODS_MAX) {
        u64_cache_clear(&t->index);
        t->count = 0;
    }
    if (!array_grow(&t->list, &t->cap, t->count + 1, 64))
        return NULL;
    at = (uint32_t)t->count++;
    u64_cache_put(&t->index, method, at);
    t->list[at] = (struct java_method){ 0 };
    return &t->list[at];
}

/* Returns true if a result read at @read_ns was also right at @at_ns, because no class was unloaded
 * in between. */
static bool java_is_steady(const struct java_methods *t, uint64_t read_ns, uint64_t at_ns)
{
    return read_ns >= t->steady_from_ns && at_ns <= t->steady_to_ns &&
           at_ns < read_ns + JAVA_STEADY_NS;
}

static bool java_method_trusted(const struct java_methods *t, const struct java_method *m,
                                uint64_t at_ns)
{
    return at_ns < m->checked_ns + JAVA_METHOD_TRUST_NS || java_is_steady(t, m->checked_ns, at_ns);
}

void java_methods_see_unloads(struct java_methods *t, uint64_t unloads, uint64_t at_ns)
{
    if (t->uncounted || (t->steady_from_ns && at_ns <= t->steady_to_ns))
        return;
    if (!t->steady_from_ns || unloads != t->unloads)
        t->steady_from_ns = at_ns + JAVA_COUNTED_NS;
    t->unloads = unloads;
    t->steady_to_ns = at_ns;
}

bool java_methods_check_steady(struct java_methods *t, struct hotspot_vm *vm, uint64_t at_ns,
                               uint64_t now_ns)
{
    uint64_t unloads;
    int r;

    if (t->uncounted)
        return false;
    r = hotspot_vm_unloads(vm, at_ns, &now_ns, &unloads);
    t->uncounted = r == -ENOENT;
    if (r != 0)
        return r != -ENOENT;
    if (!t->steady_from_ns || unloads != t->unloads)
        t->steady_from_ns = now_ns;
    t->unloads = unloads;
    t->steady_to_ns = now_ns;
    return true;
}

enum java_want java_methods_want(const struct java_methods *t, uint64_t method, uint64_t at_ns)
{
    uint32_t at;

    if (!u64_cache_get(&t->index, method, &at))
        return JAVA_UNKNOWN;
    if (java_method_trusted(t, &t->list[at], at_ns))
        return JAVA_KNOWN;
    return at_ns < t->list[at].checked_ns + JAVA_STEADY_NS ? JAVA_EXPIRED : JAVA_UNKNOWN;
}

uint32_t java_methods_function(struct java_methods *t, struct hotspot_vm *vm, uint64_t method,
                               uint64_t at_ns, uint64_t now_ns)
{
    struct java_method *known = NULL;
    struct hotspot_method m;
    uint64_t stamp;
    uint32_t at;

    if (u64_cache_get(&t->index, method, &at))
        known = &t->list[at];
    if (known && (!vm || java_method_trusted(t, known, at_ns)))
        return java_method_then(known, at_ns);
    if (!vm || !method)
        return 0;
    /* The method has been unloaded, perhaps just now. */
    if (hotspot_method_read(vm, method, &m) != 0)
        return known && at_ns - known->checked_ns < now_ns - at_ns ? known->function : 0;
    stamp = java_stamp(&m);
    if (known && known->stamp == stamp) {
        known->checked_ns = now_ns;
        java_route(t, vm, method, &m, known);
        return known->function;
    }
    if (!known)
        known = java_method_add(t, method);
    if (!known)
        return 0;
    *known = (struct java_method){ .stamp = stamp,
                                   .first_ns = now_ns,
                                   .checked_ns = now_ns,
                                   .before_ns = known->checked_ns,
                                   .asked_ns = known->asked_ns,
                                   .before = known->function,
                                   .function = java_function(t, &m) };
    t->named++;
    java_route(t, vm, method, &m, known);
    return java_method_then(known, at_ns);
}
