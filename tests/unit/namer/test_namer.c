/* SPDX-License-Identifier: Apache-2.0 */
/* namer/: the names of symbols, found in the namer's own process, and what that process can do to
 * flamed. */
#include "suite.h"

#include "namer/mangled.h"
#include "namer/namer.h"
#include "namer/namer_abi.h"
#include "namer/namer_process.h"

#include "base/buf.h"
#include "base/clock.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define ALICE 11
#define BOB 12
#define SOON_NS (20 * NSEC_PER_SEC)

static int namer_fd = -1;
static struct namer *namer;

static void start(void)
{
    ck_assert_int_eq(namer_fork(&namer_fd, NULL), 0);
    ck_assert_int_eq(namer_new(namer_fd, -1, &namer), 0);
}

static void stop(void)
{
    namer = namer_free(namer);
    namer_fd = close_fd(namer_fd);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static struct namer_stats stats(void)
{
    struct namer_stats s;

    namer_stats(namer, &s);
    return s;
}

/* Asks for the name of @symbol of @owner. */
static int name(uint64_t owner, struct span symbol, struct buf *out)
{
    buf_init(out, 10000);
    return namer_name_wait(namer, owner, symbol, clock_monotonic_ns() + SOON_NS, out);
}

static void check_name(uint64_t owner, const char *symbol, const char *expected)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    ck_assert_int_eq(name(owner, span_of(symbol), &out), 0);
    ck_assert_str_eq(out.p ? out.p : "", expected);
}

/* ---- names ---- */

static const struct {
    const char *in, *out;
} DEMANGLE_CASES[] = {
    { "malloc", "malloc" },
    { "", "" },
    { "_ZN3foo3barEi", "foo::bar" },
    { "_Z3fooIiEvT_", "foo<int>" },
    { "_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size" },
    { "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo" },
    { "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()" },
    { "_ZNSt8ios_base4InitC2Ev", "std::ios_base::Init::Init" },
    { "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt" },
    { "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
    { "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
      "<std::path::PathBuf>::new" },
    { "_ZN3FooIiE3barEv.cold", "Foo<int>::bar" },
    { "_ZN3FooIiE3barEv.cold.12", "Foo<int>::bar" },
    { "process.part.0.constprop.1.isra.0", "process" },
    { "_RNvCs1234_7mycrate3foo.llvm.8113342", "mycrate::foo" },
    { ".cold", ".cold" },
    { "main.main", "main.main" }, /* Go */
    { "net/http.(*conn).serve", "net/http.(*conn).serve" },
    { "f.partial", "f.partial" }, /* not ".part" */
    { "_Z", "_Z" },
    { "_ZN", "_ZN" },
    { "_R", "_R" },
};

START_TEST(demangles_one_symbol)
{
    check_name(ALICE, DEMANGLE_CASES[_i].in, DEMANGLE_CASES[_i].out);
}
END_TEST

START_TEST(without_a_namer_symbols_are_raw)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 100);
    ck_assert_int_eq(namer_name(NULL, ALICE, SPAN("_ZN3foo3barEi.cold"), &out), NAMER_REFUSED);
    ck_assert_str_eq(out.p, "_ZN3foo3barEi");
    ck_assert(!namer_wait(NULL, 0));
}
END_TEST

/* Asking does not wait. */
START_TEST(a_name_comes_later)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 100);
    ck_assert_int_eq(namer_name(namer, ALICE, SPAN("_ZN3foo5laterEv"), &out), NAMER_COMING);
    ck_assert_uint_eq(out.n, 0);
    while (namer_name(namer, ALICE, SPAN("_ZN3foo5laterEv"), &out) == NAMER_COMING)
        namer_wait(namer, clock_monotonic_ns() + SOON_NS);
    ck_assert_str_eq(out.p, "foo::later");
    ck_assert(!namer_wait(namer, clock_monotonic_ns() + SOON_NS)); /* no symbol was asked for */
    ck_assert_uint_eq(stats().named, 1);
}
END_TEST

/* Substitutions double the text with each step: 40 steps would give terabytes. */
START_TEST(a_short_symbol_for_a_long_text_stays_mangled)
{
    _cleanup_buf_ struct buf in = BUF_NULL;

    buf_init(&in, 10000);
    buf_add_str(&in, "_Z1fI1AIiiE");
    for (int i = 1; i <= 34; i++) {
        int c = i < 10 ? '0' + i : 'A' + i - 10;

        buf_printf(&in, "S0_IS%c_S%c_E", c, c);
    }
    buf_add_str(&in, "Evv");
    check_name(ALICE, in.p, in.p);
    buf_clear(&in);
    buf_add_str(&in, "_Z");
    while (in.n < MANGLED_MAX + 1)
        buf_add_char(&in, 'P');
    check_name(ALICE, in.p, in.p);
}
END_TEST

/* ---- symbols that never end ---- */

/* Adds "S_", "S0_", ... "SZ_", "S10_": the substitution number @i. */
static void add_substitution(struct buf *b, unsigned i)
{
    static const char DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    buf_add_char(b, 'S');
    if (i > 36)
        buf_add_char(b, DIGITS[(i - 1) / 36]);
    if (i)
        buf_add_char(b, DIGITS[(i - 1) % 36]);
    buf_add_char(b, '_');
}

/* Writes a type of @levels levels. Each level contains the one below twice, so a walk of the tree
 * doubles each time. */
static void write_graph(struct buf *b, char function, unsigned levels)
{
    buf_init(b, MANGLED_MAX + 1);
    buf_printf(b, "_Z1%cIDp1BI", function);
    for (unsigned i = 1; i < levels; i++)
        buf_add_str(b, "S0_I");
    buf_add_str(b, "iE");
    for (unsigned i = 1; i < levels; i++) {
        add_substitution(b, i + 1);
        buf_add_char(b, 'E');
    }
    buf_add_str(b, "Evv");
}

/* 23 bytes: bound lifetimes of Rust are counted up to 2^63, and nothing is printed. */
#define LIFETIMES "_RNvMIC1aFGzzzzzzzzzz_EuEu1f"

START_TEST(a_symbol_without_end_stays_raw)
{
    _cleanup_buf_ struct buf graph = BUF_NULL;
    uint64_t began_ns = clock_monotonic_ns();

    write_graph(&graph, 'f', 100);
    check_name(ALICE, LIFETIMES, LIFETIMES);
    check_name(ALICE, graph.p, graph.p);
    check_name(ALICE, "_ZN3foo3barEi", "foo::bar");
    ck_assert_uint_eq(stats().timed_out, 2);
    ck_assert_uint_eq(stats().died, 0);
    /* the namer remembers them */
    check_name(BOB, LIFETIMES, LIFETIMES);
    check_name(BOB, graph.p, graph.p);
    ck_assert_uint_eq(stats().timed_out, 2);
    ck_assert_uint_lt(clock_monotonic_ns() - began_ns, 5 * NSEC_PER_SEC);
}
END_TEST

/* One owner has a thousand such symbols. Its time is soon used up, and another owner's names still
 * come. */
START_TEST(an_owner_spends_its_own_time)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    uint64_t began_ns, spent_ns, asked_ns = clock_monotonic_ns();
    unsigned refused = 0;

    buf_init(&out, 10000);
    for (unsigned i = 0; i < 1000; i++) {
        _cleanup_buf_ struct buf graph = BUF_NULL;
        _cleanup_buf_ struct buf text = BUF_NULL;

        buf_init(&text, 10000);
        write_graph(&graph, (char)('a' + i % 26), 60 + i / 26);
        refused += namer_name(namer, ALICE, buf_span(&graph), &text) == NAMER_REFUSED;
    }
    ck_assert_uint_eq(refused, 0); /* it had spent no time yet */
    began_ns = clock_monotonic_ns();
    ck_assert_int_eq(name(BOB, SPAN("_ZN3foo3barEi"), &out), 0);
    ck_assert_str_eq(out.p, "foo::bar");
    ck_assert_uint_lt(clock_monotonic_ns() - began_ns, NSEC_PER_SEC);
    while (stats().waiting)
        namer_wait(namer, clock_monotonic_ns() + SOON_NS);
    ck_assert_uint_ge(stats().timed_out, 50);
    spent_ns = stats().timed_out * NAMER_NAME_NS;
    ck_assert_uint_lt(spent_ns, 2 * (NAMER_OWNER_AT_ONCE_NS +
                                     (clock_monotonic_ns() - asked_ns) / NAMER_OWNER_SHARE));
    /* dropped symbols are asked for again, and use up the time gained since */
    for (unsigned i = 0; i < 10000 && !refused; i++) {
        _cleanup_buf_ struct buf graph = BUF_NULL;

        buf_clear(&out);
        write_graph(&graph, (char)('a' + i % 26), 60 + i / 26 % 39);
        refused += namer_name(namer, ALICE, buf_span(&graph), &out) == NAMER_REFUSED;
        if (refused)
            ck_assert(span_eq(buf_span(&out), buf_span(&graph)));
        poll(NULL, 0, refused ? 0 : 1);
    }
    ck_assert_uint_eq(refused, 1);
    ck_assert_uint_eq(stats().refused, 1);
}
END_TEST

/* More symbols than can wait: none is lost. Those without room come when asked for again. */
START_TEST(more_symbols_than_can_wait)
{
    const unsigned count = 2 * NAMER_OWN_QUEUE_MAX;

    for (unsigned i = 0; i < count; i++) {
        _cleanup_buf_ struct buf out = BUF_NULL, symbol = BUF_NULL;

        buf_init(&symbol, 64);
        buf_init(&out, 64);
        buf_printf(&symbol, "_ZN3foo6n%05uEi", i % 100000);
        ck_assert_int_eq(namer_name(namer, ALICE, buf_span(&symbol), &out), NAMER_COMING);
        ck_assert_uint_le(stats().waiting, NAMER_OWN_QUEUE_MAX + 64);
    }
    for (unsigned i = 0; i < count; i++) {
        char symbol[64], expected[64];

        snprintf(symbol, sizeof(symbol), "_ZN3foo6n%05uEi", i);
        snprintf(expected, sizeof(expected), "foo::n%05u", i);
        check_name(ALICE, symbol, expected);
    }
}
END_TEST

/* ---- the process ---- */

/* Returns the keeper (@of: this process) or its worker; 0: none. */
static pid_t child(pid_t of)
{
    char path[64], text[64] = "";
    _cleanup_fclose_ FILE *f = NULL;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)of, (int)of);
    f = fopen(path, "re");
    return f && fgets(text, sizeof(text), f) ? (pid_t)strtol(text, NULL, 10) : 0;
}

static pid_t worker(void)
{
    pid_t pid = 0;

    for (int i = 0; i < 2000 && !pid; i++) {
        pid = child(child(getpid()));
        poll(NULL, 0, pid ? 0 : 5);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

static long status_field(pid_t pid, const char *name_of, int base)
{
    char path[64], line[256];
    _cleanup_fclose_ FILE *f = NULL;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, name_of, strlen(name_of)) == 0 && line[strlen(name_of)] == ':')
            return strtol(line + strlen(name_of) + 1, NULL, base);
    }
    return -1;
}

static unsigned open_files(pid_t pid)
{
    unsigned count = 0;
    struct dirent *e;
    char path[64];
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d)))
        count += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return count;
}

START_TEST(the_process_has_no_rights)
{
    check_name(ALICE, "_ZN3foo3barEi", "foo::bar");
    for (int i = 0; i < 2; i++) {
        pid_t pid = i ? worker() : child(getpid());

        ck_assert_int_eq(status_field(pid, "Seccomp", 10), 2);
        ck_assert_int_eq(status_field(pid, "Seccomp_filters", 10), 1 + i);
        ck_assert_int_eq(status_field(pid, "NoNewPrivs", 10), 1);
        ck_assert_int_eq(status_field(pid, "CapEff", 16), 0);
        ck_assert_int_eq(status_field(pid, "CapPrm", 16), 0);
        if (geteuid() == 0) /* only root may read its memory */
            ck_assert_uint_eq(open_files(pid), 1);
    }
}
END_TEST

/* A worker that ends between two symbols loses none. */
START_TEST(a_worker_is_killed)
{
    check_name(ALICE, "_ZN3foo3barEi", "foo::bar");
    ck_assert_int_eq(kill(child(getpid()), SIGTERM), 0); /* it ends with flamed, and ignores this */
    for (int i = 0; i < 3; i++) {
        char symbol[64], expected[64];

        ck_assert_int_eq(kill(worker(), SIGKILL), 0);
        snprintf(symbol, sizeof(symbol), "_ZN3foo2m%dEi", i);
        snprintf(expected, sizeof(expected), "foo::m%d", i);
        check_name(ALICE, symbol, expected);
    }
    ck_assert_uint_eq(stats().died, 0);
    ck_assert_uint_eq(stats().timed_out, 0);
}
END_TEST

START_TEST(the_keeper_is_killed)
{
    struct pollfd lost = { .fd = namer_fd };
    _cleanup_buf_ struct buf out = BUF_NULL;

    check_name(ALICE, "_ZN3foo3barEi", "foo::bar");
    ck_assert_int_eq(poll(&lost, 1, 0), 0);
    ck_assert_int_eq(kill(child(getpid()), SIGKILL), 0);
    ck_assert_int_eq(poll(&lost, 1, 20000), 1); /* the worker ends with the keeper */
    ck_assert_int_eq(name(ALICE, SPAN("_ZN3foo5otherEi"), &out), NAMER_REFUSED);
    ck_assert_str_eq(out.p, "_ZN3foo5otherEi");
    check_name(ALICE, "_ZN3foo3barEi", "foo::bar"); /* known names stay */
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("namer");

    /* An owner's time passes on the clock, and is spent by a process that has to run for that. */
    setpriority(PRIO_PROCESS, 0, -10);
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, demangles_one_symbol, 0, ARRAY_SIZE(DEMANGLE_CASES));
    tcase_add_test(tc, without_a_namer_symbols_are_raw);
    tcase_add_test(tc, a_name_comes_later);
    tcase_add_test(tc, a_short_symbol_for_a_long_text_stays_mangled);
    tcase_add_test(tc, a_symbol_without_end_stays_raw);
    tcase_add_test(tc, an_owner_spends_its_own_time);
    tcase_add_test(tc, more_symbols_than_can_wait);
    tcase_add_test(tc, the_process_has_no_rights);
    tcase_add_test(tc, a_worker_is_killed);
    tcase_add_test(tc, the_keeper_is_killed);
    return suite_run_case("namer", tc);
}
