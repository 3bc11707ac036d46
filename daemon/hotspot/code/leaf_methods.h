/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of one nmethod, as input of the rule (leaf_map.h). Thread: the VM's. */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/code/leaf_map.h"
#include "hotspot/leaf/bytecode.h"

#define LEAF_BYTECODES_ONE_MAX ((size_t)64 << 10) /* of one method: HotSpot's own limit */
#define LEAF_FEATURES_ONE_MAX 256                 /* features of one method */

struct leaf_methods {
    struct hotspot_vm *vm;
    struct leaf_material *m; /* owns the methods, spans, invokes and signs; they grow */
    struct u64_cache index;  /* Method* -> number of the method */
    size_t span_room, invoke_room, sign_room, bytecodes;
    uint8_t *code; /* owned; [LEAF_BYTECODES_ONE_MAX] */
    struct leaf_numbers numbers;
    struct leaf_bytecode_feature features[LEAF_FEATURES_ONE_MAX];
};

/* Returns 0, -EAGAIN or -errno. Call leaf_methods_deinit() in both cases. */
int leaf_methods_init(struct hotspot_vm *vm, struct leaf_material *m, struct leaf_methods *ret);
void leaf_methods_deinit(struct leaf_methods *l);
/* Finds the number of @method. Reads the loops of a new method. Return: 0; -EBADMSG: @method is 0;
 * -E2BIG; -errno. */
int leaf_methods_find(struct leaf_methods *l, uint64_t method, uint32_t *ret);
/* Reads the targets of the calls of method @number, and its signs. Returns 0, -E2BIG or -errno. */
int leaf_methods_resolve(struct leaf_methods *l, uint32_t number);
