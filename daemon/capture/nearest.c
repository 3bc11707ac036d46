/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/nearest.h"

#include "base/fnv1a.h"
#include "base/text.h"

#define NEAREST_NONE UINT32_MAX /* distance of a name that is too far */

/* Returns the distance from which on names are not kept. */
static unsigned limit_of(const struct nearest *n)
{
    return n->found < NEAREST_TEXTS_MAX ? NEAREST_NONE : n->best[NEAREST_TEXTS_MAX - 1].distance;
}

/* Returns the lower of @least and the distance of @part to the wanted name. */
static unsigned closer(struct nearest *n, struct span part, unsigned least)
{
    struct span w = span_of(n->wanted);
    size_t a = MIN(w.n, (size_t)TEXT_DISTANCE_MAX), b = MIN(part.n, (size_t)TEXT_DISTANCE_MAX);
    unsigned distance;

    if ((a > b ? a - b : b - a) >= least) /* each byte of difference in length is a change */
        return least;
    n->computed++;
    distance = text_distance(w, part);
    return MIN(least, distance);
}

/* Returns the lowest of @least and the distances of @name, of its last word, and of its
 * beginning. */
static unsigned name_closer(struct nearest *n, const char *name, unsigned least)
{
    struct span w = span_of(n->wanted), s = span_of(name), last = s;

    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' || s.p[i] == '/')
            last = span_from(s, i + 1);
    }
    least = closer(n, s, least);
    if (last.n < s.n)
        least = closer(n, last, least);
    return w.n < s.n ? closer(n, (struct span){ s.p, w.n }, least) : least;
}

/* Returns the distance of @name or @other, computed once per pair; NEAREST_NONE: too far. */
static unsigned distance_of(struct nearest *n, const char *name, const char *other)
{
    uint64_t hash = fnv1a(fnv1a(FNV1A_START, name, strlen(name) + 1), other, strlen(other));
    unsigned limit = limit_of(n), distance = limit;

    for (unsigned i = 0; i < n->name_count; i++) {
        if (n->names[i].hash == hash)
            return n->names[i].distance;
    }
    if (strcasestr(name, n->wanted) || strcasestr(other, n->wanted))
        return 0;
    if (n->name_count == NEAREST_NAMES_MAX)
        return NEAREST_NONE;
    if (name[0])
        distance = name_closer(n, name, distance);
    if (other[0])
        distance = name_closer(n, other, distance);
    if (distance == limit) /* a limit never rises, so the name stays too far */
        distance = NEAREST_NONE;
    n->names[n->name_count].hash = hash;
    n->names[n->name_count++].distance = distance;
    return distance;
}

void nearest_keep(struct nearest *n, const char *text, const char *name, const char *other)
{
    unsigned distance = 0, at = 0;

    for (unsigned i = 0; i < n->found; i++) {
        if (strcmp(n->best[i].text, text) == 0)
            return;
    }
    if (limit_of(n) == 0)
        return;
    if (n->wanted)
        distance = distance_of(n, name, other);
    if (distance == NEAREST_NONE)
        return;
    for (unsigned i = 0; i < n->found; i++)
        at += n->best[i].distance <= distance;
    if (at == NEAREST_TEXTS_MAX)
        return;
    n->found = MIN(n->found + 1, (unsigned)NEAREST_TEXTS_MAX);
    memmove(&n->best[at + 1], &n->best[at], (n->found - 1 - at) * sizeof(n->best[0]));
    n->best[at].distance = distance;
    snprintf(n->best[at].text, sizeof(n->best[at].text), "%s", text);
}

void nearest_text(const struct nearest *n, char *buf, size_t size)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < n->found; i++) {
        if (used + strlen(n->best[i].text) + 3 > size)
            return;
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", n->best[i].text);
    }
}
