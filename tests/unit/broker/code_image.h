/* SPDX-License-Identifier: Apache-2.0 */
/* A small ELF file with code, in which a probe may stand at some places. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_VADDR 0x401000 /* its offset in the file is another */
#define TABLE_VADDR 0x500000

struct code_table {
    uint8_t version, pointer, count_form, table_form;
    int32_t frames;
    uint32_t count;
    struct {
        int32_t address, entry;
    } starts[6];
};

/* A file with six functions, 32 bytes each. */
struct code_image {
    Elf64_Ehdr head;
    Elf64_Phdr programs[2];
    struct code_table table;
    uint8_t code[6][32];
};

/* The functions, by what they begin with. */
enum { PUSH_RBP, PUSH_R12, NOP5, ENDBR, TEST_RDI, SHORT_NOP };

/* Returns a file with each of those functions. */
struct code_image code_good(void);
/* Returns one whose function 0 calls function 2, and jumps on what it gets. */
struct code_image code_calling(void);
/* Returns the offset in the file of a function. */
uint64_t code_offset(int function);
/* Writes @count random bytes over @m. @random: the state of the numbers, not 0. */
void code_spoil(struct code_image *m, int count, uint64_t *random);
/* Returns whether the instruction at @p is of those that a probe may stand at, whatever a file
 * says. */
bool code_is_known(const uint8_t *p);
