/* SPDX-License-Identifier: Apache-2.0 */
/* sample/refusal.c: the sentence for a BPF program that the kernel refuses. */
#include "suite.h"

#include "sample/refusal.h"

#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Passes a message as libbpf does. @log: the verifier's log. */
PRINTF_LIKE(1, 2) static void libbpf_warns(const char *fmt, ...)
{
    libbpf_print_fn_t listener = libbpf_set_print(NULL);
    va_list ap;

    libbpf_set_print(listener);
    va_start(ap, fmt);
    listener(LIBBPF_WARN, fmt, ap);
    va_end(ap);
}

static const struct {
    const char *log, *says, *remedy;
} VERDICTS[] = {
    { "0: R1=ctx() R10=fp0\ncombined stack size of 8 calls is 544. Too large\n"
      "processed 0 insns (limit 1000000) max_states_per_insn 0\n",
      "combined stack size of 8 calls is 544. Too large (this kernel allows programs less stack",
      "Linux 6.8" },
    { "Arg#0 type PTR in walk_once() is not supported yet.\nprocessed 0 insns\n",
      "Arg#0 type PTR in walk_once() is not supported yet.", "Linux 5.15" },
    { "Func#1 is safe for any args that match its prototype\nunknown func bpf_probe_read#4\n"
      "processed 53 insns (limit 1000000) max_states_per_insn 0\n\n",
      "unknown func bpf_probe_read#4", "confidentiality" },
    { "BPF program is too large. Processed 1000001 insn\nprocessed 1000001 insns\n",
      "BPF program is too large. Processed 1000001 insn", "5.15" },
    { "R3 has words nobody thought of\n", "R3 has words nobody thought of", "report this" },
};

START_TEST(the_verifiers_last_line_is_shown)
{
    struct error err = ERROR_NULL;

    refusal_watch();
    libbpf_warns("libbpf: prog 'cpu_tick': BPF program load failed: %s\n", "Permission denied");
    libbpf_warns("libbpf: prog 'cpu_tick': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
                 VERDICTS[_i].log);
    libbpf_warns("libbpf: failed to load object 'cpu_bpf'\n");
    ck_assert_int_eq(refusal_explain(-EACCES, &err), -EACCES);
    ck_assert_msg(strstr(err.msg, VERDICTS[_i].says), "%s", err.msg);
    ck_assert_msg(strstr(err.remedy, VERDICTS[_i].remedy), "%s", err.remedy);
    ck_assert_msg(!strstr(err.msg, "CAP_") && !strstr(err.remedy, "CAP_"), "%s; %s", err.msg,
                  err.remedy);
}
END_TEST

START_TEST(without_a_log_libbpf_says_why)
{
    struct error err = ERROR_NULL;

    refusal_watch();
    libbpf_warns("libbpf: map 'ring': failed to create: %s(%d)\n", "Cannot allocate memory", -12);
    ck_assert_int_eq(refusal_explain(-ENOMEM, &err), -ENOMEM);
    ck_assert_msg(strstr(err.msg, "map 'ring': failed to create"), "%s", err.msg);
    ck_assert_msg(strstr(err.remedy, "memory"), "%s", err.remedy);
}
END_TEST

static void *warn_of_another(void *unused)
{
    refusal_watch();
    libbpf_warns("-- BEGIN PROG LOAD LOG --\nunknown func bpf_other\n-- END PROG LOAD LOG --\n");
    libbpf_warns("libbpf: of another thread\n");
    return unused;
}

/* Another thread loads programs at the same time, with messages of its own. */
START_TEST(another_threads_messages_do_not_count)
{
    const bool has_log = _i;
    struct error err = ERROR_NULL;
    pthread_t other;

    refusal_watch();
    libbpf_warns("libbpf: map 'ring': failed to create\n");
    if (has_log)
        libbpf_warns("-- BEGIN PROG LOAD LOG --\nR3 is mine\n-- END PROG LOAD LOG --\n");
    ck_assert_int_eq(pthread_create(&other, NULL, warn_of_another, NULL), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    refusal_explain(-EACCES, &err);
    ck_assert_msg(strstr(err.msg, has_log ? "R3 is mine" : "map 'ring'"), "%s", err.msg);
    ck_assert_msg(!strstr(err.msg, "other"), "%s", err.msg);
}
END_TEST

/* A long line is cut at the buffer's end. */
START_TEST(a_line_without_end_is_cut)
{
    static char line[100000];
    struct error err = ERROR_NULL;

    memset(line, 'x', sizeof(line) - 1);
    refusal_watch();
    libbpf_warns("-- BEGIN PROG LOAD LOG --\n%s\n-- END PROG LOAD LOG --\n", line);
    refusal_explain(-EACCES, &err);
    ck_assert_msg(strstr(err.msg, "xxxx"), "%s", err.msg);
    ck_assert_uint_lt(strlen(err.msg), 300);
}
END_TEST

/* The sentence names capabilities only if they are missing. */
START_TEST(a_missing_capability_is_named)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { 0 };
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct error err = ERROR_NULL;

        if (syscall(SYS_capset, &head, none) < 0)
            _exit(2);
        refusal_watch();
        refusal_explain(-EPERM, &err);
        _exit(strstr(err.msg, "lacks CAP_BPF and CAP_PERFMON") && strstr(err.remedy, "CAP_BPF")
                  ? 0
                  : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("refusal");

    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    tcase_add_loop_test(tc, the_verifiers_last_line_is_shown, 0, ARRAY_SIZE(VERDICTS));
    tcase_add_test(tc, without_a_log_libbpf_says_why);
    tcase_add_loop_test(tc, another_threads_messages_do_not_count, 0, 2);
    tcase_add_test(tc, a_line_without_end_is_cut);
    tcase_add_test(tc, a_missing_capability_is_named);
    return suite_run_case("refusal", tc);
}
