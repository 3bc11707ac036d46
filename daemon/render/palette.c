/* SPDX-License-Identifier: Apache-2.0 */
#include "render/palette.h"

#include "profile/frame.h"

#define VARIANTS 8

static const uint32_t COLOURS[FRAME_KIND_COUNT][VARIANTS] = {
    { 0xd1d1d1, 0xd1d1d1, 0xd1d1d1, 0xd1d1d1, 0xd1d1d1, 0xd1d1d1, 0xd1d1d1, 0xd1d1d1 },
    { 0x93d685, 0x8ed687, 0x88d58a, 0x83d58c, 0x7dd48f, 0x78d491, 0x72d394, 0x6cd396 },
    { 0x4db2a9, 0x4bb1aa, 0x48b0ac, 0x46aead, 0x44adae, 0x43acaf, 0x42aab0, 0x40a9b2 },
    { 0xc4eeaa, 0xbfedab, 0xbbedad, 0xb7ecae, 0xb3ecaf, 0xafebb1, 0xabebb3, 0xa7eab4 },
    { 0xffee8e, 0xffee8d, 0xffee8d, 0xfdee8d, 0xf9ef8d, 0xf5ef8d, 0xf0ef8d, 0xecef8e },
    { 0xffb265, 0xfcb262, 0xf9b25e, 0xf6b25b, 0xf3b259, 0xf0b356, 0xecb353, 0xe9b351 },
    { 0xaa9be8, 0xab99e6, 0xad97e3, 0xae95e1, 0xb094de, 0xb192db, 0xb390d9, 0xb48ed6 },
    { 0xccbaf2, 0xcdb8ef, 0xceb6ed, 0xcfb4eb, 0xd0b3e8, 0xd0b1e6, 0xd1afe3, 0xd2aee0 },
    { 0xf37866, 0xf27860, 0xf0785b, 0xee7755, 0xed7750, 0xeb774a, 0xe97744, 0xe7773e },
    { 0xd6dfea, 0xd6dfea, 0xd6dfea, 0xd6dfea, 0xd6dfea, 0xd6dfea, 0xd6dfea, 0xd6dfea },
    { 0xc4cfdc, 0xc4cfdc, 0xc4cfdc, 0xc4cfdc, 0xc4cfdc, 0xc4cfdc, 0xc4cfdc, 0xc4cfdc },
    { 0xe1e1e1, 0xe1e1e1, 0xe1e1e1, 0xe1e1e1, 0xe1e1e1, 0xe1e1e1, 0xe1e1e1, 0xe1e1e1 },
    { 0xffd4ad, 0xffd3ab, 0xffd3a9, 0xfed2a7, 0xfbd2a5, 0xf9d2a3, 0xf6d1a1, 0xf4d1a0 },
};

/* "com.acme.shop" of "com.acme.shop.Order.total(int):42". */
static struct span package_of(struct span name)
{
    size_t dots = 0;

    name.n = MIN(span_find(name, '('), name.n);
    while (name.n && dots < 2) {
        if (name.p[name.n - 1] == '.')
            dots++;
        name.n--;
    }
    return name;
}

/* What neighbours of one colour have in common. */
static struct span family_of(uint32_t kind, struct span name)
{
    if (frame_kind_is_java((enum frame_kind)kind))
        return package_of(name);
    if (kind == FRAME_NATIVE || kind == FRAME_JVM || kind == FRAME_NATIVE_INLINED) {
        for (size_t i = 1; i + 1 < name.n; i++)
            if (name.p[i] == ':' && name.p[i + 1] == ':')
                return (struct span){ name.p, i };
    } else if (kind == FRAME_KERNEL) {
        size_t first = MIN(span_find(name, '_') + 1, name.n);

        return (struct span){ name.p, first + span_find(span_from(name, first), '_') };
    }
    return SPAN_NULL;
}

uint32_t palette_frame(uint32_t kind, struct span name)
{
    struct span family = family_of(kind, name);
    uint32_t h = 0x811c9dc5;

    for (size_t i = 0; i < family.n; i++)
        h = (h ^ (unsigned char)family.p[i]) * 0x01000193;
    h = h ^ h >> 13 ^ h >> 21;
    return COLOURS[kind < FRAME_KIND_COUNT ? kind : FRAME_UNKNOWN][h % VARIANTS];
}
