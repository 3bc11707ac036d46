/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons why a stack is cut, in words. */
#include "profile/profile.h"
#include "unwind/unwind.h"

static const struct {
    const char *name, *words;
} ENDS[PROFILE_ENDS] = {
    [UNWIND_END_ROOT] = { "none", "not cut" },
    [UNWIND_END_COPY] = { "copied_stack", "more stack than a sample without BPF has" },
    [UNWIND_END_LIMIT] = { "max_frames", "deeper than unwind_max_frames" },
    [UNWIND_END_NO_PROCESS] = { "no_process", "taken before the process was known" },
    [UNWIND_END_NO_MAPPING] = { "no_mapping", "code in a mapping that flamed does not know: a new "
                                              "one, or beyond its limit" },
    [UNWIND_END_NO_RULE] = { "no_rule", "native code without an unwind rule" },
    [UNWIND_END_MEMORY] = { "memory", "stack memory that could not be read" },
    [UNWIND_END_PROGRESS] = { "progress", "a caller's frame that did not lie above the callee's" },
    [UNWIND_END_RETURN] = { "return_address", "no return address at its place in native code" },
    [UNWIND_END_NO_BLOB] = { "no_blob", "an address in the code cache but in no live code" },
    [UNWIND_END_COMPILED] = { "compiled", "no return address at its place in a compiled frame" },
    [UNWIND_END_INTERPRETED] = { "interpreted", "no interpreter frame where there should be one" },
    [UNWIND_END_STUB] = { "stub", "a stub or adapter whose caller was not found" },
    [UNWIND_END_RUNTIME] = { "runtime",
                             "a runtime or deoptimization blob whose caller was not found" },
    [UNWIND_END_THREAD] = { "virtual_thread", "frozen frames of a virtual thread" },
    [UNWIND_END_NOT_TAKEN] = { "not_taken", "the thread had run on, or sampling took too long" },
    [UNWIND_END_REFUSED] = { "not_walked", "copied, but not walked: other readings of the owner's "
                                           "processes took too long" },
    [UNWIND_END_NO_COPY] = { "no_copy", "the kernel copied nothing of the stack" },
};
_Static_assert(UNWIND_END_COUNT <= PROFILE_ENDS, "every reason needs its words");

const char *profile_end_name(unsigned end)
{
    return end < PROFILE_ENDS && ENDS[end].name ? ENDS[end].name : "other";
}

const char *profile_end_words(unsigned end)
{
    return end < PROFILE_ENDS && ENDS[end].words ? ENDS[end].words : "another reason";
}
