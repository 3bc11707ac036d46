/* SPDX-License-Identifier: Apache-2.0 */
/* Burns CPU, half of it in anonymous executable memory as a JIT compiler's code would be. */
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    /* mov $20000, %ecx; dec %ecx; jne -4; ret */
    static const unsigned char code[] = {
        0xb9, 0x20, 0x4e, 0x00, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3
    };
    void *p =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*jit)(void);

    if (p == MAP_FAILED)
        return 1;
    memcpy(p, code, sizeof(code));
    memcpy(&jit, &p, sizeof(jit));
    for (;;)
        jit();
}
