/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses /proc/PID/stat. The target chooses the bytes of the second field, in parentheses, which
 * may hold line breaks and ") R 1". The kernel writes all that follows the last parenthesis.
 */
#include "base/ascii.h"
#include "proc/proc.h"

#define STAT_PF_KTHREAD 0x00200000

/* Skips @n fields, which may be negative numbers. */
static bool skip_words(struct span *s, size_t n)
{
    struct span w;

    while (n--) {
        if (!span_take_word(s, &w))
            return false;
    }
    return true;
}

int proc_stat_parse(struct span text, struct proc_stat *ret)
{
    size_t open = span_find(text, '('), close = span_rfind(text, ')');
    struct proc_stat st = { 0 };
    uint64_t ppid, flags, threads, waited_user, waited_system;
    struct span rest, state;
    uint64_t exit_status, rss_pages;

    if (open >= text.n || close >= text.n || close < open)
        return -EBADMSG;
    rest = span_from(text, close + 1);
    if (!span_take_word(&rest, &state) || state.n != 1 ||
        !ascii_take_number(&rest, INT32_MAX, &ppid) || !skip_words(&rest, 4) ||
        !ascii_take_number(&rest, UINT64_MAX, &flags) || !skip_words(&rest, 2) ||
        !ascii_take_number(&rest, UINT64_MAX, &st.major_faults) || !skip_words(&rest, 1) ||
        !ascii_take_number(&rest, UINT64_MAX, &st.utime_ticks) ||
        !ascii_take_number(&rest, UINT64_MAX, &st.stime_ticks) ||
        !ascii_take_number(&rest, UINT64_MAX, &waited_user) ||
        !ascii_take_number(&rest, UINT64_MAX, &waited_system) || !skip_words(&rest, 2) ||
        !ascii_take_number(&rest, UINT32_MAX, &threads) || !skip_words(&rest, 1) ||
        !ascii_take_number(&rest, UINT64_MAX, &st.start_ticks) ||
        !ascii_take_number(&rest, UINT64_MAX, &st.vsize_bytes) ||
        !ascii_take_number(&rest, UINT64_MAX, &rss_pages))
        return -EBADMSG;
    span_copy((struct span){ text.p + open + 1, close - open - 1 }, st.comm, sizeof(st.comm));
    st.state = state.p[0];
    st.waited_ticks = waited_user + waited_system;
    st.ppid = (int32_t)ppid;
    st.threads = (uint32_t)threads;
    st.rss_bytes = rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    st.kernel_thread = (flags & STAT_PF_KTHREAD) != 0;
    if (skip_words(&rest, 3) && ascii_take_number(&rest, UINT64_MAX, &st.stack_start) &&
        skip_words(&rest, 23) && ascii_take_number(&rest, UINT16_MAX, &exit_status))
        st.exit_status = (int)exit_status;
    *ret = st;
    return 0;
}
