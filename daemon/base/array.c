/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include "base/memory_guard.h"

#include <stdlib.h>
#include <string.h>

/* Grows the list. @list points to a pointer of any type, so its value is copied byte by byte. */
static char *resize(void *list, size_t *cap, size_t want, size_t size)
{
    void *before, *after;

    if (size && want > SIZE_MAX / size)
        return NULL;
    if (!memory_guard_admits((want - *cap) * size))
        return NULL;
    memcpy(&before, list, sizeof(before));
    after = reallocarray(before, want, size);
    if (!after)
        return NULL;
    memcpy(list, &after, sizeof(after));
    *cap = want;
    return after;
}

bool array_grow_bytes(void *list, size_t *cap, size_t need, size_t first, size_t size)
{
    size_t want = *cap ? *cap : first;

    if (need <= *cap)
        return true;
    while (want < need) {
        if (want > (size_t)-1 / 2)
            return false;
        want *= 2;
    }
    return resize(list, cap, want, size) != NULL;
}

bool array_extend_bytes(void *list, size_t *cap, size_t want, size_t size)
{
    size_t before = *cap;
    char *p;

    if (want <= before)
        return true;
    p = resize(list, cap, want, size);
    if (!p)
        return false;
    memset(p + before * size, 0, (want - before) * size);
    return true;
}
