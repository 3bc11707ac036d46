/* SPDX-License-Identifier: Apache-2.0 */
/* One message of POST /mcp. */
#include "serve/mcp/mcp_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcp_fault fault = { .data = NULL };
    struct mcp_message m;
    int r = mcp_message_parse((struct span){ (const char *)data, size }, &m, &fault);

    if ((r != 0) != (fault.err.msg[0] != '\0') || (r != 0) != (fault.code != 0) || fault.data)
        abort();
    if (m.id && !json_is_string(m.id) && !json_is_integer(m.id))
        abort();
    if (r == 0 && (!json_is_object(m.root) || !m.method || (m.params && !json_is_object(m.params))))
        abort();
    json_decref(m.root);
    return 0;
}
