/* SPDX-License-Identifier: Apache-2.0 */
/* A jar of any bytes: a broken one has no facts, no read leaves the file, and their number is
 * bounded. */
#include "base/text.h"
#include "discover/jar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READS_MAX (4 + JAR_DIRECTORY_BYTES_MAX / 65536)

struct file {
    const uint8_t *data;
    size_t size, reads;
};

static ssize_t read_file(void *cookie, uint64_t at, void *buf, size_t n)
{
    struct file *f = cookie;

    if (at > f->size || n > f->size - at || ++f->reads > READS_MAX)
        abort();
    memcpy(buf, f->data + at, n);
    return (ssize_t)n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct file f = { data, size, 0 };
    struct jar_facts facts;
    char again[JAR_VERSION_BYTES];
    int r = jar_read(size, read_file, &f, &facts);

    if ((r == 0) != (facts.identity != 0) || (r < 0 && r != -EBADMSG && r != -EFBIG))
        abort();
    jar_manifest_version((struct span){ (const char *)data, size }, facts.version);
    text_clean_into(span_of(facts.version), again, sizeof(again));
    if (strcmp(again, facts.version) != 0)
        abort();
    return 0;
}
