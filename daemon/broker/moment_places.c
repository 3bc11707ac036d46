/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/moment_places.h"

#include "broker/usdt.h"
#include "broker_client/broker.h"

_Static_assert((int)USDT_NOWHERE == (int)MOMENT_NOWHERE &&
                   (int)USDT_REGISTER == (int)MOMENT_IN_REGISTER &&
                   (int)USDT_MEMORY == (int)MOMENT_IN_MEMORY &&
                   (int)USDT_OPERANDS_MAX == (int)MOMENT_OPERANDS,
               "operands of both sides");

/* Indexed by enum moment_kind. Operands: by enum moment_operand_no. */
static const struct usdt_wanted WANTED[MOMENT_PROBED] = {
    [MOMENT_SAFEPOINT_BEGIN] = { "hs_private", "safepoint__begin", { 0 } },
    [MOMENT_SAFEPOINT_END] = { "hs_private", "safepoint__end", { 0 } },
    [MOMENT_OPERATION_BEGIN] = { "hotspot", "vmops__begin", { 1 } },
    [MOMENT_OPERATION_END] = { "hotspot", "vmops__end", { 0 } },
    [MOMENT_GC_BEGIN] = { "hotspot", "gc__begin", { 0 } },
    [MOMENT_GC_END] = { "hotspot", "gc__end", { 0 } },
    [MOMENT_COLLECTOR] = { "hotspot", "mem__pool__gc__begin", { 1 } },
    [MOMENT_COMPILE_BEGIN] = { "hotspot", "method__compile__begin", { 0 } },
    [MOMENT_COMPILE_END] = { "hotspot", "method__compile__end", { 3, 4, 5, 6, 1 } },
    [MOMENT_CLASS_LOADED] = { "hotspot", "class__loaded", { 1, 2 } },
    [MOMENT_CLASS_UNLOADED] = { "hotspot", "class__unloaded", { 1, 2 } },
};
#define NEEDED_KINDS                                                                               \
    (MOMENT_OPERATION_END + 1) /* the first kinds: if one is missing, nothing is                   \
                                * sampled */

static struct moment_place place_of(const struct usdt_place *p)
{
    struct moment_place ret = { 0 };

    for (size_t i = 0; i < MOMENT_OPERANDS; i++)
        ret.operands[i] = (struct moment_operand){
            .where = (uint8_t)p->operands[i].where,
            .bytes = (uint8_t)p->operands[i].bytes,
            .reg = (uint16_t)p->operands[i].reg,
            .disp = p->operands[i].disp,
        };
    return ret;
}

int moment_places_find(int fd, struct moment_probe ret[MOMENT_PLACES_MAX], uint32_t *ret_count,
                       struct error *err)
{
    struct usdt_place places[MOMENT_PLACES_MAX];
    uint32_t seen = 0;
    int n = usdt_find(fd, WANTED, ARRAY_SIZE(WANTED), places, ARRAY_SIZE(places), err);

    for (int i = 0; i < n; i++) {
        const struct usdt_place *p = &places[i];

        seen |= 1U << p->wanted;
        ret[i] =
            (struct moment_probe){ .offset = p->offset, .kind = p->wanted, .place = place_of(p) };
    }
    if (n < 0)
        return n;
    if ((seen & ((1U << NEEDED_KINDS) - 1)) != (1U << NEEDED_KINDS) - 1)
        return BROKER_ABSENT;
    *ret_count = (uint32_t)n;
    return 0;
}
