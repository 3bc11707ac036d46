/* SPDX-License-Identifier: Apache-2.0 */
#include "code_image.h"

#include <string.h>

struct code_image code_good(void)
{
    static const uint8_t CODE[6][9] = {
        [PUSH_RBP] = { 0x55, 0x48, 0x89, 0xe5 },   [PUSH_R12] = { 0x41, 0x54 },
        [NOP5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, [ENDBR] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57 },
        [TEST_RDI] = { 0x48, 0x85, 0xff, 0x55 },   [SHORT_NOP] = { 0x90, 0x55 },
    };
    struct code_image m = {
        .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
                  .e_machine = EM_X86_64,
                  .e_phoff = offsetof(struct code_image, programs),
                  .e_phentsize = sizeof(Elf64_Phdr),
                  .e_phnum = 2 },
        .programs = { { .p_type = PT_LOAD,
                        .p_flags = PF_R | PF_X,
                        .p_offset = offsetof(struct code_image, code),
                        .p_vaddr = CODE_VADDR,
                        .p_filesz = sizeof(m.code) },
                      { .p_type = PT_GNU_EH_FRAME,
                        .p_offset = offsetof(struct code_image, table),
                        .p_vaddr = TABLE_VADDR,
                        .p_filesz = sizeof(m.table) } },
        .table = { .version = 1, .pointer = 0x1b, .count_form = 3, .table_form = 0x3b, .count = 6 },
    };

    for (int i = 0; i < 6; i++) {
        m.table.starts[i].address = CODE_VADDR + i * 32 - TABLE_VADDR;
        memcpy(m.code[i], CODE[i], sizeof(CODE[i]));
    }
    return m;
}

struct code_image code_calling(void)
{
    static const uint8_t CODE[] = { 0x53, 0xe8, 0x3a, 0x00, 0x00, 0x00, /* push, call */
                                    0x48, 0x85, 0xc0,                   /* test %rax, %rax */
                                    0x74, 0x02, 0x5b, 0xc3 };           /* je, pop, ret */
    struct code_image m = code_good();

    memcpy(m.code[0], CODE, sizeof(CODE));
    return m;
}

uint64_t code_offset(int function)
{
    return offsetof(struct code_image, code) + (uint64_t)function * 32;
}

void code_spoil(struct code_image *m, int count, uint64_t *random)
{
    uint64_t x = *random;

    for (int i = 0; i < count; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        ((uint8_t *)m)[x % sizeof(*m)] = (uint8_t)(x >> 32);
    }
    *random = x;
}

bool code_is_known(const uint8_t *p)
{
    return (p[0] & 0xf8) == 0x50 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x50) || p[0] == 0xe9 ||
           (p[0] & 0xf0) == 0x70 || (p[0] == 0x0f && (p[1] & 0xf0) == 0x80) ||
           memcmp(p, "\x0f\x1f\x44\x00\x00", 5) == 0;
}
