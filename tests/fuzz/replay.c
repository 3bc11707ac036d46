/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of its corpus folder: the same target as a plain test, with any
 * compiler. Fails if the folder is empty, so that a lost corpus is noticed. */
#include "base/buf.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    unsigned files = 0;
    struct dirent *e;
    DIR *dir;

    if (argc != 2 || !(dir = opendir(argv[1]))) {
        fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    while ((e = readdir(dir))) {
        _cleanup_buf_ struct buf b = BUF_NULL;
        uint8_t *exact;

        if (e->d_name[0] == '.')
            continue;
        buf_init(&b, (size_t)64 << 20);
        if (buf_read_at(&b, dirfd(dir), e->d_name) < 0)
            continue;
        exact = malloc(b.n ? b.n : 1); /* the exact size, so that a sanitizer sees an overrun */
        if (!exact)
            return 2;
        if (b.n)
            memcpy(exact, b.p, b.n);
        LLVMFuzzerTestOneInput(exact, b.n);
        free(exact);
        files++;
    }
    closedir(dir);
    printf("%u files\n", files);
    return files ? 0 : 1;
}
