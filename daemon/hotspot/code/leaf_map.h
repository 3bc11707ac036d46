/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of the loops in compiled code to the frames that the loops belong to (hotspot/leaf/leaf.h).
 * A map is made at the first request for a version of code, and kept. Thread: the VM's.
 */
#pragma once

#include "hotspot/code/leaf_maps.h"

#define LEAF_CODE_BYTES_MAX ((size_t)512 << 10)     /* bytes of one nmethod's code */
#define LEAF_CONSTANTS_BYTES_MAX ((size_t)16 << 10) /* bytes of constants right before the code */
#define LEAF_RECORDS_MAX ((size_t)16 << 10)
#define LEAF_FRAMES_MAX ((size_t)256 << 10) /* frames of all records of one nmethod */
#define LEAF_METHODS_MAX ((size_t)1024)     /* methods inlined into one nmethod */
#define LEAF_BYTECODES_MAX ((size_t)1 << 20)
#define LEAF_WAYS_MAX ((size_t)8 << 10)
#define LEAF_TARGETS_MAX 4096u /* targets of calls out of the code */

/* The frames that a pc in a loop belongs to. */
struct leaf_spot {
    uint32_t scope;  /* offset of the scope; 0: the compiled method, at an unknown bytecode */
    int32_t bci;     /* LEAF_BCI_KEPT: the bci of the scope */
    uint64_t callee; /* Method* that is inlined there without a record; 0: none */
    int32_t callee_bci;
    uint8_t drop, verdict;
};

/* Finds the spot of code offset @pc of blob @b, which @code describes. Return: 1 and *ret; 0: @pc
 * is in no loop, so HotSpot's own rule holds; -ESRCH; -errno. */
int leaf_map_find(struct hotspot_vm *vm, const struct hotspot_code *code, const struct blob *b,
                  uint32_t pc, struct leaf_spot *ret);

/* ---- input of the rule from one nmethod: leaf_input.c and leaf_tables.c ---- */

/* Material for the map of one nmethod. Owns its arrays. */
struct leaf_material {
    struct leaf_input in; /* points into the arrays below */
    struct leaf_instruction *instructions;
    struct leaf_way *traps, *handlers;
    uint32_t *tables;
    struct leaf_record *records;
    struct leaf_chain *chains;
    uint32_t *scopes; /* [chain_count] offset of each chain's scope in the nmethod's scopes */
    struct leaf_frame *frames;
    struct leaf_method *methods; /* [LEAF_METHODS_MAX] */
    uint64_t *addresses;         /* [LEAF_METHODS_MAX] address of each Method */
    uint8_t *wanted;             /* [LEAF_METHODS_MAX] */
    struct leaf_span *spans;
    struct leaf_invoke *invokes;
    struct leaf_sign *signs;
    uint8_t *code; /* of the nmethod, behind its constants */
};
void leaf_material_deinit(struct leaf_material *m);
/* Reads the instructions of @b and the ways between them. Return: 0; -E2BIG: a limit is exceeded;
 * -errno. */
int leaf_read_code(struct hotspot_vm *vm, struct u64_cache *stubs, const struct blob *b,
                   struct leaf_material *ret);
/* Reads the records of @b, their frames, and the loops of the methods in those frames. Returns as
 * leaf_read_code(). */
struct leaf_methods;
int leaf_read_records(struct hotspot_vm *vm, const struct blob *b, struct leaf_methods *methods,
                      struct leaf_material *ret);
