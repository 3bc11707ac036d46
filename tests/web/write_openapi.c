/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the document of the interface, for the page's tests, which have no flamed. */
#include "serve/serve.h"

#include <stdio.h>

int main(void)
{
    struct span document = serve_openapi();

    return document.n && fwrite(document.p, 1, document.n, stdout) == document.n ? 0 : 1;
}
