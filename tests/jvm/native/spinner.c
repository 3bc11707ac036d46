/* SPDX-License-Identifier: Apache-2.0 */
/* Burns CPU in anonymous executable memory, as a JIT compiler's code would be, at 0x100000000000.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    /* mov $20000, %ecx; dec %ecx; jne -4; ret */
    static const unsigned char code[] = {
        0xb9, 0x20, 0x4e, 0x00, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3
    };
    void *p = mmap((void *)0x100000000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void (*jit)(void);

    if (p == MAP_FAILED)
        return 1;
    memcpy(p, code, sizeof(code));
    memcpy(&jit, &p, sizeof(jit));
    for (;;)
        jit();
}
