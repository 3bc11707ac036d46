/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's rule for probes: for any file, a probe is only at a known instruction. The first
 * eight bytes are the requested offset. */
#include "broker/function_start.h"

#include "base/cleanup.h"
#include "broker/start_aarch64.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

/* push, a no-op, a jump */
static bool is_known(const uint8_t *p)
{
    return (p[0] & 0xf8) == 0x50 || (p[0] == 0x41 && (p[1] & 0xf8) == 0x50) || p[0] == 0xe9 ||
           (p[0] & 0xf0) == 0x70 || (p[0] == 0x0f && (p[1] & 0xf0) == 0x80) ||
           memcmp(p, "\x0f\x1f\x44\x00\x00", 5) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
    struct error err = ERROR_NULL;
    struct function_result results[FUNCTION_RESULTS_MAX];
    uint64_t offset, at;
    size_t count = 0;
    uint8_t code[6];
    int r;

    if (size < sizeof(offset) || fd < 0 ||
        write(fd, data + sizeof(offset), size - sizeof(offset)) != (ssize_t)(size - sizeof(offset)))
        return 0;
    memcpy(&offset, data, sizeof(offset));
    r = function_start_check(fd, offset, &at, &err);
    if (r == 0) {
        if ((at != offset && at != offset + 4 && at != offset + 7 && at != offset + 11 &&
             at != offset + 10 && at != offset + 14 && at != offset + 3 && at != offset + 6) ||
            pread(fd, code, 5, (off_t)at) != 5 || !is_known(code))
            abort();
    } else if ((r != -EPERM && r != -ENOEXEC) || !err.msg[0]) {
        abort();
    }
    r = function_start_check_of(EM_AARCH64, fd, offset, &at, &err);
    if (r == 0 ? ((at != offset && at != offset + 4) || pread(fd, code, 4, (off_t)at) != 4 ||
                  !start_aarch64_known(code))
               : ((r != -EPERM && r != -ENOEXEC) || !err.msg[0]))
        abort();
    r = function_results_find(fd, offset, results, &count, &err);
    if (r == 0 ? !count || count > FUNCTION_RESULTS_MAX : r != -EPERM && r != -ENOEXEC)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (results[i].reg > 15 || pread(fd, code, 2, (off_t)results[i].offset) != 2 ||
            ((code[0] & 0xf0) != 0x70 && (code[0] != 0x0f || (code[1] & 0xf0) != 0x80)))
            abort();
    }
    r = function_results_find_of(EM_AARCH64, fd, offset, results, &count, &err);
    if (r == 0 ? !count || count > FUNCTION_RESULTS_MAX : r != -EPERM && r != -ENOEXEC)
        abort();
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (results[i].reg > 15 || pread(fd, code, 4, (off_t)results[i].offset) != 4 ||
            (code[3] & 0xfe) != 0xb4)
            abort();
    }
    return 0;
}
