/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/cgroup and the container in it: an accepted id is valid in a file name and in JSON. */
#include "discover/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plain(const char *s, size_t size)
{
    if (strnlen(s, size) == size)
        abort();
    for (; *s; s++) {
        if (*s < '+' || *s > 'z' || *s == '/' || *s == '\\' || *s == '<')
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size }, path = cgroup_path(text);
    struct container c;

    if (path.n == 0 || path.p[0] != '/')
        abort();
    for (int nested = 0; nested <= 1; nested++) {
        if (container_parse(text, nested == 1, &c) != (c.id[0] != '\0'))
            abort();
        check_plain(c.id, sizeof(c.id));
        check_plain(c.name, sizeof(c.name));
        check_plain(c.runtime, sizeof(c.runtime));
        check_plain(c.pod_uid, sizeof(c.pod_uid));
    }
    return 0;
}
