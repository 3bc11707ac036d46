/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/ over an image of memory (hotspot_image.h): for any contents, every answer is bounded.
 * The corpus was recorded from real JVMs by record_hotspot.c and reduced to the bytes that are
 * read. */
#include "hotspot_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image i;

    if (image_parse((struct span){ (const char *)data, size }, &i))
        image_exercise(&i);
    image_deinit(&i);
    return 0;
}
