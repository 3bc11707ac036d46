/* SPDX-License-Identifier: Apache-2.0 */
#include "base/old_kernel.h"

#include "base/span.h"

bool old_kernel_pretended(const char *feature)
{
    const char *names = getenv("FLAMED_OLD_KERNEL");
    /* "all" leaves these out: without them, tests of events and of clients over TCP could not run.
     */
    bool in_all = strcmp(feature, "uprobes") != 0 && strcmp(feature, "task_file") != 0 &&
                  strcmp(feature, "bpf") != 0;
    struct span rest, name;

    if (!names)
        return false;
    rest = span_of(names);
    while (span_take_until(&rest, ',', &name)) {
        if ((span_eq_str(name, "all") && in_all) || span_eq_str(name, feature))
            return true;
    }
    return false;
}

static unsigned seconds_of(const char *variable)
{
    const char *text = getenv(variable);
    uint64_t seconds = 0;

    return text && span_parse_dec(span_of(text), &seconds) && seconds < 3600 ? (unsigned)seconds
                                                                             : 0;
}

unsigned old_kernel_load_s(void)
{
    return seconds_of("FLAMED_SLOW_LOAD");
}

unsigned old_kernel_hook_s(void)
{
    return seconds_of("FLAMED_SLOW_HOOKS");
}
