/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's rule for the marks of a file: whatever it says, a probe stands at a no-op alone. */
#include "broker/usdt.h"

#include "base/cleanup.h"

#include <sys/mman.h>
#include <unistd.h>

#define PLACES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct usdt_wanted WANTED[] = { { "p", "begin", { 0 } },
                                                 { "p", "named", { 1, 2 } } };
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct usdt_place places[PLACES];
    struct error err = ERROR_NULL;
    uint8_t code;
    int n;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    n = usdt_find(fd, WANTED, ARRAY_SIZE(WANTED), places, PLACES, &err);
    if (n < 0 ? n != -EPERM || !err.msg[0] : n > PLACES)
        abort();
    for (int i = 0; i < n; i++) {
        const struct usdt_place *p = &places[i];

        if (pread(fd, &code, 1, (off_t)p->offset) != 1 || code != 0x90 ||
            p->wanted >= ARRAY_SIZE(WANTED))
            abort();
        for (size_t k = 0; k < USDT_OPERANDS_MAX; k++) {
            const struct usdt_operand *o = &p->operands[k];

            if (o->where == USDT_NOWHERE ? o->bytes || o->reg || o->disp
                                         : o->where > USDT_MEMORY || o->reg > 15 || k > 1 ||
                                               p->wanted == 0 || (o->bytes != 4 && o->bytes != 8))
                abort();
        }
    }
    return 0;
}
