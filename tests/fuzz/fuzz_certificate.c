/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a client's certificate, in DER. */
#include "access/certificate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct certificate_names names;

    if (size > (1 << 16) || !certificate_read(data, size, &names))
        return 0;
    if (names.count > CERTIFICATE_NAMES_MAX)
        abort();
    for (size_t i = 0; i < names.count; i++) {
        const char *text = names.names[i].text;

        if (!text[0])
            abort();
        for (size_t k = 0; text[k]; k++) {
            if (text[k] < ' ' || text[k] > '~')
                abort();
        }
        certificate_has(&names, text);
    }
    return 0;
}
