/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the broker's rule where a probe may stand in FILE, for each offset of standard input. Writes
 * "OFFSET PLACE" for those that it takes, "OFFSET PLACE in" for those within the function, and at
 * the end "refused N", or what was wrong with a refusal. */
#include "broker/function_start.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <inttypes.h>

int main(int argc, char **argv)
{
    _cleanup_close_ int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    struct function_result results[FUNCTION_RESULTS_MAX];
    uint64_t offset, place, refused = 0;

    if (fd < 0)
        return 2;
    while (scanf("%" SCNu64, &offset) == 1) {
        struct error err = ERROR_NULL;
        int r = function_start_check(fd, offset, &place, &err);
        size_t count = 0;

        function_results_find(fd, offset, results, &count, NULL);
        for (size_t i = 0; i < count; i++)
            printf("%" PRIu64 " %" PRIu64 " in\n", offset, results[i].offset);

        if (r == 0) {
            printf("%" PRIu64 " %" PRIu64 "\n", offset, place);
            continue;
        }
        refused++;
        if ((r != -EPERM && r != -ENOEXEC) || !strchr(err.msg, ' ')) {
            printf("refused %" PRIu64 " with %d and no sentence\n", offset, r);
            return 1;
        }
    }
    printf("refused %" PRIu64 "\n", refused);
    return 0;
}
