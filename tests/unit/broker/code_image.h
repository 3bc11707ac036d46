/* SPDX-License-Identifier: Apache-2.0 */
/* A small ELF file with code, which allows probes at some places. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_VADDR 0x401000 /* differs from its offset in the file */
#define TABLE_VADDR 0x500000

struct code_table {
    uint8_t version, pointer, count_form, table_form;
    int32_t frames;
    uint32_t count;
    struct {
        int32_t address, entry;
    } starts[6];
};

/* A file with six functions of 32 bytes each. */
struct code_image {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    struct code_table table;
    uint8_t code[6][32];
};

/* The functions, named after their first instruction. */
enum { PUSH_RBP, PUSH_R12, NOP5, ENDBR, TEST_RDI, SHORT_NOP };

/* Returns a file with all of these functions. */
struct code_image code_good(void);
/* Returns a file in which function 0 calls function 2 and jumps on its result. */
struct code_image code_calling(void);
/* Returns the offset of a function in the file. */
uint64_t code_offset(int function);
/* Overwrites @count bytes of @m by random ones. @random: the state of the generator, not 0. */
void code_spoil(struct code_image *m, int count, uint64_t *random);
/* Returns true if a probe may ever stand at the instruction at @p, whatever the file says. */
bool code_is_known(const uint8_t *p);
