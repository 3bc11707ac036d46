/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program as GraalVM's native-image makes one: a heap in its file, and code in the shape of
 * compiled Java code, without rules for unwinding. main calls entry, that image_outer, and that
 * image_inner, which uses the frame pointer for numbers.
 */
__asm__(".section .svm_heap, \"aw\", @progbits\n"
        ".fill 4096, 1, 7\n"
        ".text\n"
        ".macro function name\n"
        ".p2align 4, 0xcc\n"
        ".type \\name, @function\n"
        "\\name:\n"
        ".endm\n"

        ".globl image_locator\n" /* it has no size */
        "function image_locator\n"
        "hlt\n"
        "ud2\n"

        "function image_inner\n"
        "lea -24(%rsp), %rbx\n" /* the stack is checked first */
        "cmp 8(%r15), %rbx\n"
        "jbe 2f\n"
        ".byte 0x48, 0x8b, 0xe3\n" /* mov %rbx, %rsp, as Graal writes it */
        "mov $3000000, %ebp\n"
        "1: dec %rbp\n"
        "jnz 1b\n"
        "add $24, %rsp\n"
        "ret\n"
        "2: hlt\n"
        "ud2\n"
        ".size image_inner, . - image_inner\n"
        ".long 0x50505050\n" /* numbers behind the code */

        "function image_outer\n"
        "sub $312, %rsp\n"
        "test %rdi, %rdi\n"
        "jz 2f\n"
        "1: call image_inner\n"
        "nop\n"
        "add $312, %rsp\n"
        "ret\n"
        "2: jmp 1b\n"
        ".size image_outer, . - image_outer\n"

        ".globl entry\n"
        "function entry\n"
        "push %rbp\n"
        "sub $32, %rsp\n"
        "mov %rbx, 24(%rsp)\n"
        "mov %r15, 16(%rsp)\n"
        "lea image_thread(%rip), %r15\n"
        "mov %rsp, %rdi\n"
        "call image_outer\n"
        "nop\n"
        "mov 24(%rsp), %rbx\n"
        "mov 16(%rsp), %r15\n"
        "add $32, %rsp\n"
        "pop %rbp\n"
        "ret\n"
        ".size entry, . - entry\n"
        ".p2align 4, 0xcc\n"
        ".purgem function\n"
        ".data\n"
        "image_thread: .quad 0, 0\n" /* the end of its stack is in the second word */
        ".text\n");

void entry(void);

int main(void)
{
    for (;;)
        entry();
}
