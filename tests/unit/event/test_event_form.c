/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of event names: raw events, caches, PMUs, tracepoints, breakpoints, modifiers. */
#include "suite.h"

#include "event/event_form.h"
#include "event/events.h"

#define U (1 << 0) /* exclude_user */
#define K (1 << 1) /* exclude_kernel */

/* The values for perf_event_open(2). jvm_event_forms compares them with those of perf(1). */
static const struct {
    const char *text;
    int r;
    enum event_kind kind;
    uint64_t config;
    int excluded;
} CASES[] = {
    { "cycles", 0, EVENT_CYCLES, 0, 0 },
    { "cycles:u", 0, EVENT_CYCLES, 0, K },
    { "cycles:k", 0, EVENT_CYCLES, 0, U },
    { "page-faults:uk", 0, EVENT_PAGE_FAULTS, 0, 0 },
    { "cpu:u", 0, EVENT_CPU, 0, K },
    { "cycles:", -EINVAL, 0, 0, 0 },
    { "cycles:uu", -EINVAL, 0, 0, 0 },
    { "cycles:p", -EINVAL, 0, 0, 0 },
    { "r01c2", 0, EVENT_RAW, 0x1c2, 0 },
    { "rFFFFFFFFFFFFFFFF", 0, EVENT_RAW, UINT64_MAX, 0 },
    { "r1c2:u", 0, EVENT_RAW, 0x1c2, K },
    { "rFFFFFFFFFFFFFFFFF", -ENOENT, 0, 0, 0 },
    { "r", -ENOENT, 0, 0, 0 },
    { "r1g", -ENOENT, 0, 0, 0 },
    { "L1-dcache-loads", 0, EVENT_CACHE, 0, 0 },
    { "L1-dcache-load-misses", 0, EVENT_CACHE, 0x10000, 0 },
    { "L1-dcache-store-misses", 0, EVENT_CACHE, 0x10100, 0 },
    { "L1-icache-load-misses", 0, EVENT_CACHE, 0x10001, 0 },
    { "L1-icache-stores", -ENOENT, 0, 0, 0 },
    { "LLC-loads", 0, EVENT_CACHE, 2, 0 },
    { "LLC-prefetch-misses:k", 0, EVENT_CACHE, 0x10202, U },
    { "dTLB-stores", 0, EVENT_CACHE, 0x103, 0 },
    { "iTLB-load-misses", 0, EVENT_CACHE, 0x10004, 0 },
    { "branch-loads", 0, EVENT_CACHE, 5, 0 },
    { "node-prefetches", 0, EVENT_CACHE, 0x206, 0 },
    { "sched:sched_switch", 0, EVENT_TRACEPOINT, 0, 0 },
    { "sched:sched_switch:u", -EINVAL, 0, 0, 0 },
    { "lock:contention_begin", 0, EVENT_TRACEPOINT, 0, 0 },
    { "lock:uk", 0, EVENT_LOCK, 0, 0 },
    { "lock:ppp", -EINVAL, 0, 0, 0 },
    { "sched:", -ENOENT, 0, 0, 0 },
    { ":sched_switch", -ENOENT, 0, 0, 0 },
    { "..:sched_switch", -EINVAL, 0, 0, 0 },
    { "sched:..", -ENOENT, 0, 0, 0 },
    { "sched:a/b", -ENOENT, 0, 0, 0 },
    { "sched:sched_switch{prev_pid == 1}", 0, EVENT_TRACEPOINT, 0, 0 },
    { "sched:sched_switch{a ~ \"x/y,z:u\"}", 0, EVENT_TRACEPOINT, 0, 0 },
    { "sched:sched_switch{}", -EINVAL, 0, 0, 0 },
    { "sched:sched_switch{", -EINVAL, 0, 0, 0 },
    { "sched:sched_switch{a == 1", -EINVAL, 0, 0, 0 },
    { "sched:sched_switch{a == 1}u", -EINVAL, 0, 0, 0 },
    { "sched:sched_switch{{a == 1}}", -EINVAL, 0, 0, 0 },
    { "sched:sched_switch{a\t== 1}", -EINVAL, 0, 0, 0 },
    { "cpu{cpu == 1}", -EINVAL, 0, 0, 0 },
    { "libc.so.6:malloc{cpu == 1}", -EINVAL, 0, 0, 0 },
    { "{cpu == 1}", -ENOENT, 0, 0, 0 },
    { "cpu/event=0x3c/", 0, EVENT_PMU, 0, 0 },
    { "cpu/event=0x3c/u", 0, EVENT_PMU, 0, K },
    { "cpu/event=0x3c/:u", 0, EVENT_PMU, 0, K },
    { "cpu/event=0x3c/x", -EINVAL, 0, 0, 0 },
    { "cpu/cache-misses/", 0, EVENT_PMU, 0, 0 },
    { "cpu/event=/", -EINVAL, 0, 0, 0 },
    { "cpu/event=0x/", -EINVAL, 0, 0, 0 },
    { "cpu/event=99999999999999999999/", -EINVAL, 0, 0, 0 },
    { "cpu/event=1", -EINVAL, 0, 0, 0 },
    { "cpu//", -EINVAL, 0, 0, 0 },
    { "cpu/,/", -EINVAL, 0, 0, 0 },
    { "cpu/../", -EINVAL, 0, 0, 0 },
    { "cpu/a,b,c,d,e,f,g,h,i/", -EINVAL, 0, 0, 0 },
    { "../event=1/", -ENOENT, 0, 0, 0 },
    { "/event=1/", -ENOENT, 0, 0, 0 },
    { "libc.so.6:malloc", 0, EVENT_FUNCTION, 0, 0 },
    { "libstdc++.so:_ZNSt6threadD1Ev", 0, EVENT_FUNCTION, 0, 0 },
    { "libjvm.so:ObjectMonitor::enter+0x10", 0, EVENT_FUNCTION, 0, 0 },
    { "./node:main", 0, EVENT_FUNCTION, 0, 0 },
    { "libc.so.6:u", 0, EVENT_FUNCTION, 0, 0 },
    { "libc.so.6:", -EINVAL, 0, 0, 0 },
    { "libc.so.6:malloc+", -EINVAL, 0, 0, 0 },
    { "libc.so.6:malloc+x", -EINVAL, 0, 0, 0 },
    { "libc.so.6:malloc+0xffffffffff", -EINVAL, 0, 0, 0 },
    { "libc.so.6:+1", -EINVAL, 0, 0, 0 },
    { "libc.so.6:a b", -EINVAL, 0, 0, 0 },
    { "libc.so.6:0x10", -EINVAL, 0, 0, 0 },
    { "/lib/libc.so.6:malloc", -EINVAL, 0, 0, 0 },
    { "../libc.so.6:malloc", -ENOENT, 0, 0, 0 },
    { "./:main", -EINVAL, 0, 0, 0 },
    { "./..:main", -EINVAL, 0, 0, 0 },
    { "mem:0x7f0000001000", 0, EVENT_BREAKPOINT, 0, 0 },
    { "mem:0x7f0000001000:x", 0, EVENT_BREAKPOINT, 0, 0 },
    { "mem:0x7f0000001001:x", 0, EVENT_BREAKPOINT, 0, 0 },
    { "mem:0x7f0000001008/8:w", 0, EVENT_BREAKPOINT, 0, 0 },
    { "mem:0x7f0000001004/8:w", -EINVAL, 0, 0, 0 },
    { "mem:0x7f0000001004/3:w", -EINVAL, 0, 0, 0 },
    { "mem:0x7f0000001004:rx", -EINVAL, 0, 0, 0 },
    { "mem:0x7f0000001004:ww", -EINVAL, 0, 0, 0 },
    { "mem:0x7f0000001004:", -EINVAL, 0, 0, 0 },
    { "mem:0x7f0000001004:r:u", -EINVAL, 0, 0, 0 },
    { "mem:0xfffff7ff1000:x", 0, EVENT_BREAKPOINT, 0, 0 }, /* on aarch64 */
    { "mem:0x1000000000000:x", -EINVAL, 0, 0, 0 },
    { "mem:0xffffffff81000000:x", -EINVAL, 0, 0, 0 },
    { "mem:0", -EINVAL, 0, 0, 0 },
    { "mem:", -EINVAL, 0, 0, 0 },
    { "", -ENOENT, 0, 0, 0 },
    { "nothing", -ENOENT, 0, 0, 0 },
    { "a-name-that-is-much-too-long:"
      "0123456789012345678901234567890123456789012345678901234567890123"
      "45678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"
      "6"
      "7890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
      "8",
      -ENOENT, 0, 0, 0 },
};

START_TEST(says_what_it_means)
{
    struct event_form f = { .kind = EVENT_KINDS_ALL };
    struct error err = ERROR_NULL;
    const char *text = CASES[_i].text;
    int r = event_form_parse(span_of(text), &f, &err);

    ck_assert_msg(r == CASES[_i].r, "%s: %d, %s", text, r, err.msg);
    ck_assert_int_eq(err.msg[0] != '\0', r == -EINVAL);
    if (r < 0) {
        ck_assert_int_eq(f.kind, EVENT_KINDS_ALL);
        return;
    }
    ck_assert_msg(f.kind == CASES[_i].kind, "%s: kind %d", text, f.kind);
    ck_assert_uint_eq(f.config, CASES[_i].config);
    ck_assert_int_eq((f.exclude_user ? U : 0) | (f.exclude_kernel ? K : 0), CASES[_i].excluded);
}
END_TEST

START_TEST(parts)
{
    struct event_form f;

    ck_assert_int_eq(event_form_parse(SPAN("cpu/event=0x3c,umask=3,edge/"), &f, NULL), 0);
    ck_assert(span_eq_str(f.name, "cpu"));
    ck_assert_uint_eq(f.term_count, 3);
    ck_assert(span_eq_str(f.terms[0].name, "event") && f.terms[0].value == 0x3c);
    ck_assert(span_eq_str(f.terms[1].name, "umask") && f.terms[1].value == 3 && f.terms[1].given);
    ck_assert(span_eq_str(f.terms[2].name, "edge") && f.terms[2].value == 1 && !f.terms[2].given);

    ck_assert_int_eq(event_form_parse(SPAN("syscalls:sys_enter_read"), &f, NULL), 0);
    ck_assert(span_eq_str(f.group, "syscalls") && span_eq_str(f.name, "sys_enter_read"));

    ck_assert_int_eq(event_form_parse(SPAN("libjvm.so:ObjectMonitor::enter+0x10"), &f, NULL), 0);
    ck_assert(span_eq_str(f.group, "libjvm.so") && span_eq_str(f.name, "ObjectMonitor::enter"));
    ck_assert_uint_eq(f.address, 16);
    ck_assert_int_eq(event_form_parse(SPAN("./node:main"), &f, NULL), 0);
    ck_assert(span_eq_str(f.group, "node") && span_eq_str(f.name, "main") && f.address == 0);

    ck_assert_int_eq(event_form_parse(SPAN("mem:4096/2:w"), &f, NULL), 0);
    ck_assert(f.address == 4096 && f.bytes == 2 && f.access == EVENT_WRITE);
    ck_assert_int_eq(event_form_parse(SPAN("mem:4096"), &f, NULL), 0);
    ck_assert(f.bytes == 4 && f.access == (EVENT_READ | EVENT_WRITE));
    ck_assert_int_eq(event_form_parse(SPAN("mem:4097:x"), &f, NULL), 0);
    ck_assert(f.bytes == 8 && f.access == EVENT_EXECUTE);
}
END_TEST

/* Listed events can be sampled. */
START_TEST(lists_caches)
{
    char name[EVENT_CACHE_NAME_BYTES];
    struct event_form f;
    size_t i;

    for (i = 0; event_cache_name(i, name); i++) {
        ck_assert_int_eq(event_form_parse(span_of(name), &f, NULL), 0);
        ck_assert_int_eq(f.kind, EVENT_CACHE);
    }
    ck_assert_uint_eq(i, 32);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("event_form");
    TCase *tc = tcase_create("text");

    tcase_add_loop_test(tc, says_what_it_means, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, parts);
    tcase_add_test(tc, lists_caches);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
