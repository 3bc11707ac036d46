/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the loops of compiled code are, and what they belong to (hotspot/leaf/leaf.h). A map is
 * made once of each version of code that is asked for, and kept. Thread: as the VM's.
 */
#pragma once

#include "hotspot/code/leaf_maps.h"

#define LEAF_CODE_BYTES_MAX ((size_t)512 << 10)     /* of one nmethod */
#define LEAF_CONSTANTS_BYTES_MAX ((size_t)16 << 10) /* that stand before them */
#define LEAF_RECORDS_MAX ((size_t)16 << 10)
#define LEAF_FRAMES_MAX ((size_t)256 << 10) /* of all records together */
#define LEAF_METHODS_MAX ((size_t)1024)     /* that one nmethod has inlined */
#define LEAF_BYTECODES_MAX ((size_t)1 << 20)
#define LEAF_WAYS_MAX ((size_t)8 << 10)
#define LEAF_TARGETS_MAX 4096u /* of calls that leave the code */

/* What a pc in a loop belongs to. */
struct leaf_spot {
    uint32_t scope;  /* 0: the compiled method, at no known bytecode */
    int32_t bci;     /* LEAF_BCI_KEPT */
    uint64_t callee; /* Method* of what is inlined there and left no record; 0 */
    int32_t callee_bci;
    uint8_t drop, verdict;
};

/* Finds what code offset @pc of @b belongs to, the code of the blob that @code says. 1 and *ret; 0:
 * it is in no loop, so HotSpot's own rule holds; -ESRCH; -errno. */
int leaf_map_find(struct hotspot_vm *vm, const struct hotspot_code *code, const struct blob *b,
                  uint32_t pc, struct leaf_spot *ret);

/* ---- what one nmethod has that the rule takes: leaf_input.c and leaf_tables.c ---- */

/* All owned. */
struct leaf_material {
    struct leaf_input in; /* points into what follows */
    struct leaf_instruction *instructions;
    struct leaf_way *traps, *handlers;
    uint32_t *tables;
    struct leaf_record *records;
    struct leaf_chain *chains;
    uint32_t *scopes; /* [chain_count] where each chain begins */
    struct leaf_frame *frames;
    struct leaf_method *methods; /* [LEAF_METHODS_MAX] */
    uint64_t *addresses;         /* the same: of each Method */
    uint8_t *wanted;             /* the same */
    struct leaf_span *spans;
    struct leaf_invoke *invokes;
    struct leaf_sign *signs;
    uint8_t *code; /* of the nmethod, behind the constants that it reads */
};
void leaf_material_deinit(struct leaf_material *m);
/* Reads the instructions of @b and the ways between them. 0; -E2BIG: too much for a limit; -errno.
 */
int leaf_read_code(struct hotspot_vm *vm, struct u64_cache *stubs, const struct blob *b,
                   struct leaf_material *ret);
/* Reads its records, their frames, and the loops of the methods. The same. */
struct leaf_methods;
int leaf_read_records(struct hotspot_vm *vm, const struct blob *b, struct leaf_methods *methods,
                      struct leaf_material *ret);
