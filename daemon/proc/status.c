/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses /proc/PID/status. The kernel escapes line breaks in "Name:", so the target cannot forge a
 * line. The target chooses the length of the list of groups, so the text after that list may be
 * cut. A line counts only if its end is there.
 */
#include "base/ascii.h"
#include "proc/proc.h"

enum {
    SEEN_STATE = 1,
    SEEN_TGID = 2,
    SEEN_PPID = 4,
    SEEN_UID = 8,
    SEEN_ALL = 15,
    SEEN_VMSIZE = 16,
    SEEN_THREADS = 32,
    SEEN_KTHREAD = 64,
    SEEN_NSPID = 128,
    SEEN_CAPPRM = 256,
    SEEN_CAPBND = 512,
    SEEN_WHOLE = SEEN_ALL | SEEN_NSPID | SEEN_CAPPRM | SEEN_CAPBND, /* these are the last lines */
};

/* Takes the real, effective and saved id, and the file system id. */
static bool take_ids(struct span s, uint32_t ret[4])
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t id;

        if (!ascii_take_number(&s, UINT32_MAX, &id))
            return false;
        ret[i] = (uint32_t)id;
    }
    return true;
}

static bool take_pid(struct span s, int32_t *ret)
{
    uint64_t v;

    if (!ascii_take_number(&s, INT32_MAX, &v))
        return false;
    *ret = (int32_t)v;
    return true;
}

static uint64_t take_kib(struct span s)
{
    uint64_t v;

    return ascii_take_number(&s, UINT64_MAX >> 10, &v) ? v << 10 : 0;
}

/* Keeps the innermost pid, however many pids there are. */
static void take_ns_pids(struct span s, struct proc_status *st)
{
    uint64_t v;

    st->ns_depth = 0;
    while (ascii_take_number(&s, INT32_MAX, &v)) {
        if (st->ns_depth == PROC_NS_DEPTH_MAX)
            st->ns_depth--;
        st->ns_pid[st->ns_depth++] = (int32_t)v;
    }
}

static bool take_mask(struct span s, uint64_t *ret)
{
    uint64_t v;

    s = span_trim(s);
    if (!span_take_hex(&s, &v))
        return false;
    *ret = v;
    return true;
}

/* Stores the line @key in @st. Returns its SEEN_ bit, or 0. */
static unsigned parse_field(struct span key, struct span value, struct proc_status *st)
{
    uint32_t ids[4];
    uint64_t v;

    if (span_eq_str(key, "State")) {
        value = span_trim(value);
        st->state = value.n ? value.p[0] : '?';
        return value.n ? SEEN_STATE : 0;
    }
    if (span_eq_str(key, "Tgid"))
        return take_pid(value, &st->tgid) ? SEEN_TGID : 0;
    if (span_eq_str(key, "PPid"))
        return take_pid(value, &st->ppid) ? SEEN_PPID : 0;
    if (span_eq_str(key, "TracerPid")) {
        take_pid(value, &st->tracer);
        return 0;
    }
    if (span_eq_str(key, "Uid")) {
        if (!take_ids(value, ids))
            return 0;
        st->real_uid = ids[0];
        st->uid = ids[1];
        st->saved_uid = ids[2];
        st->file_uid = ids[3];
        return SEEN_UID;
    }
    if (span_eq_str(key, "Gid")) {
        if (take_ids(value, ids))
            st->gid = ids[1];
        return 0;
    }
    if (span_eq_str(key, "NSpid")) {
        if (!st->ns_depth)
            take_ns_pids(value, st);
        return st->ns_depth ? SEEN_NSPID : 0;
    }
    if (span_eq_str(key, "VmSize"))
        return SEEN_VMSIZE;
    if (span_eq_str(key, "VmRSS")) {
        st->rss_bytes = take_kib(value);
    } else if (span_eq_str(key, "VmSwap")) {
        st->swap_bytes = take_kib(value);
    } else if (span_eq_str(key, "RssAnon") || span_eq_str(key, "RssShmem")) {
        st->kept_bytes += take_kib(value);
    } else if (span_eq_str(key, "Threads")) {
        if (ascii_take_number(&value, UINT32_MAX, &v))
            st->threads = (uint32_t)v;
        return SEEN_THREADS;
    } else if (span_eq_str(key, "Kthread")) {
        st->kernel_thread = ascii_take_number(&value, 1, &v) && v == 1;
        return SEEN_KTHREAD;
    } else if (span_eq_str(key, "SigCgt")) {
        take_mask(value, &st->signals_caught);
    } else if (span_eq_str(key, "CapPrm")) {
        return take_mask(value, &st->capabilities) ? SEEN_CAPPRM : 0;
    } else if (span_eq_str(key, "CapBnd")) {
        return take_mask(value, &st->capability_bounds) ? SEEN_CAPBND : 0;
    }
    return 0;
}

/* Takes the next line that has an end. */
static bool take_whole_line(struct span *text, struct span *ret)
{
    return span_find(*text, '\n') < text->n && span_take_line(text, ret);
}

int proc_status_parse(struct span text, struct proc_status *ret)
{
    struct proc_status st = { .capability_bounds = UINT64_MAX, .capabilities = UINT64_MAX };
    unsigned seen = 0;
    struct span line;

    while (take_whole_line(&text, &line)) {
        size_t colon = span_find(line, ':');
        unsigned field =
            parse_field((struct span){ line.p, colon }, span_from(line, colon + 1), &st);

        if (seen & field) /* the kernel writes each line once */
            return -EBADMSG;
        seen |= field;
    }
    if ((seen & SEEN_ALL) != SEEN_ALL)
        return -EBADMSG;
    st.whole = (seen & SEEN_WHOLE) == SEEN_WHOLE;
    if (!(seen & SEEN_KTHREAD)) /* Linux before 6.8 has no "Kthread:" */
        st.kernel_thread =
            (seen & SEEN_THREADS) && !(seen & SEEN_VMSIZE) && st.state != 'Z' && st.state != 'X';
    *ret = st;
    return 0;
}

int32_t proc_innermost_tid(int proc_fd, int32_t host_pid, int32_t host_tid)
{
    struct proc_status status;

    if (proc_fd < 0 || proc_read_status(proc_fd, host_tid, &status) != 0 ||
        status.tgid != host_pid || !status.ns_depth)
        return 0;
    return status.ns_pid[status.ns_depth - 1];
}
