/* SPDX-License-Identifier: Apache-2.0 */
/* Files of container runtimes, and names in /var/log/containers: any bytes give clean names of
 * bounded length. */
#include "base/text.h"
#include "discover/pod.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_clean(const char *s, size_t size)
{
    struct buf b;

    if (strnlen(s, size) == size)
        abort();
    buf_init(&b, 4096);
    text_clean(span_of(s), TEXT_UTF8, 4096, &b);
    if (!span_eq_str(buf_span(&b), s))
        abort();
    buf_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size };

    for (int logs = 0; logs <= 1; logs++) {
        struct container c = {
            .id = "3f4e9f3a1c7b5d2e8a6f0b9c4d1e7f2a5b8c3d6e9f0a1b2c3d4e5f60718293a4"
        };

        if (logs)
            pod_parse_log_names(text, &c);
        else
            pod_parse_config(text, &c);
        check_clean(c.name, sizeof(c.name));
        check_clean(c.runtime, sizeof(c.runtime));
        check_clean(c.pod_uid, sizeof(c.pod_uid));
        check_clean(c.pod_name, sizeof(c.pod_name));
        check_clean(c.pod_namespace, sizeof(c.pod_namespace));
    }
    return 0;
}
