/* SPDX-License-Identifier: Apache-2.0 */
/* proc/owner_budget.c and proc/cgroup_owner.c: how long the broker waits for the files of each
 * owner. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/shares.h"
#include "proc/owner_budget.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ONE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TWO "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const FILES[] = { "cgroup", "status", "stat", "uid_map" };

static char folder[64];
static int proc_fd;
static bool nested; /* processes that are made have a pid namespace of their own */

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    nested = false;
    proc_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(proc_fd, 0);
}

static void teardown(void)
{
    close(proc_fd);
    for (int pid = 1; pid < 10; pid++) {
        char path[128];

        for (size_t i = 0; i < ARRAY_SIZE(FILES); i++) {
            snprintf(path, sizeof(path), "%s/%d/%s", folder, pid, FILES[i]);
            unlink(path);
        }
        snprintf(path, sizeof(path), "%s/%d", folder, pid);
        rmdir(path);
    }
    rmdir(folder);
}

/* Writes the file @name of process @pid; @text NULL: there is none. */
static void write_file(int pid, const char *name, const char *text)
{
    _cleanup_fclose_ FILE *f = NULL;
    char path[128];

    snprintf(path, sizeof(path), "%s/%d", folder, pid);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/%d/%s", folder, pid, name);
    unlink(path);
    if (!text)
        return;
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
}

/* Makes process @pid of @uid, started at @start, with this text of its cgroup file. */
static void make(int pid, uint64_t start, char state, unsigned uid, const char *cgroup)
{
    char text[512];

    write_file(pid, "cgroup", cgroup);
    snprintf(text, sizeof(text),
             "State:\t%c\nTgid:\t%d\nPPid:\t1\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%d%s\n", state, pid,
             uid, uid, uid, uid, pid, nested ? "\t1" : "");
    write_file(pid, "status", text);
    snprintf(
        text, sizeof(text),
        "%d (java) %c 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ju 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        pid, state, (uintmax_t)start);
    write_file(pid, "stat", text);
}

/* Returns the key of process @pid, if it began at @start. */
static uint64_t key(int pid, uint64_t start)
{
    return proc_owner(proc_fd, &(struct proc_id){ .host_pid = pid, .start_ticks = start });
}

/* Returns the key of a process of root's, which is made. */
static uint64_t key_of(int pid, uint64_t start, const char *text)
{
    make(pid, start, 'S', 0, text);
    return key(pid, start);
}

START_TEST(a_container_is_one_owner_and_a_process_outside_is_one)
{
    uint64_t one = key_of(1, 7, "0::/docker/" ONE "\n");
    uint64_t shell = key_of(5, 9, "0::/system.slice/ssh.service\n");

    ck_assert_uint_ne(one, 0);
    ck_assert_uint_eq(one, key_of(2, 8, "0::/docker/" ONE "\n"));
    /* A container makes another inside, with a third one's number. The outer one has a number or
     * not. */
    ck_assert_uint_eq(one, key_of(2, 8, "0::/docker/" ONE "/docker/" TWO "\n"));
    ck_assert_uint_ne(one, key_of(2, 8, "0::/lxc.payload.web/docker/" ONE "\n"));
    ck_assert_uint_eq(one, key_of(3, 8, "0::/docker/" ONE "/a/cgroup/of/its/own\n"));
    ck_assert_uint_eq(one, key_of(3, 9, "4:memory:/docker/" ONE "/a\n0::/\n"));
    ck_assert_uint_ne(one, key_of(4, 8, "0::/docker/" TWO "\n"));
    ck_assert_uint_ne(shell, key_of(6, 9, "0::/system.slice/ssh.service\n"));
    ck_assert_uint_ne(shell, key_of(5, 10, "0::/system.slice/ssh.service\n"));
    ck_assert_uint_eq(shell, key_of(5, 9, "0::/another.slice\n"));
}
END_TEST

/* Cgroups below the one of a container or user, whatever their names, make no owners. */
static void check_below(const char *of)
{
    static const char *const BELOW[] = {
        "",
        "/",
        "/a",
        "/docker/" TWO,
        "/user.slice/user-7.slice/a",
        "/lxc.payload.other",
        "/machine.slice/machine-other.scope",
        "/kubepods/pod1/" TWO,
    };
    uint64_t all = 0;

    for (size_t k = 0; k < ARRAY_SIZE(BELOW); k++) {
        char text[512];
        uint64_t owner;

        snprintf(text, sizeof(text), "%s%s\n", of, BELOW[k]);
        owner = key_of(1 + (int)k, k, text);
        all = all ?: owner;
        ck_assert_msg(owner == all, "%s", text);
    }
    ck_assert_uint_ne(all, key_of(1, 7, "0::/lxc.payload.another\n"));
}

START_TEST(an_owner_makes_no_others_below_its_cgroup)
{
    static const char *const OF[] = {
        "0::/lxc.payload.web",
        "0::/lxc/web",
        "0::/lxc.payload/web",
        "0::/machine.slice/machine-web.scope",
        "0::/machine.slice/systemd-nspawn@web.service",
        "0::/system.slice/runc-web.scope",
        "0::/crun-web.scope",
        "0::/docker/" ONE,
        "0::/user.slice/user-1000.slice",
        "3:cpu:/\n1:name=systemd:/lxc/web",
    };
    static const char *const BARE[] = {
        "0::/web",        "0::/../web",       "0::/default/web",
        "0::/docker/web", "0::/my.slice/web", "3:cpu:/\n1:name=systemd:/web",
    };

    for (size_t i = 0; i < ARRAY_SIZE(OF); i++) {
        nested = false;
        check_below(OF[i]);
        nested = true;
        check_below(OF[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(BARE); i++)
        check_below(BARE[i]);
}
END_TEST

/* Returns the key of a process of user 7, which is made. */
static uint64_t key_of_user(int pid, const char *text)
{
    make(pid, 7, 'S', 7, text);
    return key(pid, 7);
}

/* A service with Delegate= may make any cgroup below its own. */
START_TEST(a_service_of_a_user_makes_no_owners_below_itself)
{
    uint64_t service = key_of_user(1, "0::/system.slice/a.service\n");

    ck_assert_uint_eq(service, key_of_user(2, "0::/system.slice/a.service/x\n"));
    ck_assert_uint_eq(service, key_of_user(3, "0::/system.slice/a.service/b.service/y.scope\n"));
    ck_assert_uint_ne(service, key_of_user(4, "0::/system.slice/b.service/x\n"));
    ck_assert_uint_ne(service, key_of_user(4, "0::/system.slice/x\n"));
    service = key_of_user(1, "0::/a.scope/x\n");
    ck_assert_uint_eq(service, key_of_user(2, "0::/a.scope\n"));
    ck_assert_uint_ne(service, key_of_user(2, "0::/a.scope2\n"));
}
END_TEST

/* A user may have the numbers of 65,536 others in user namespaces (subuid). */
START_TEST(many_users_of_a_user_namespace_are_one_owner)
{
    static const char GROUP[] = "0::/system.slice/a.service\n";
    uint64_t owner = 0;

    for (unsigned i = 0; i < 9; i++) {
        char map[64];

        make(1 + (int)i, 7, 'S', 100000 + i, GROUP);
        snprintf(map, sizeof(map), "         0     %u          1\n", 100000 + i);
        write_file(1 + (int)i, "uid_map", map);
        owner = owner ?: key(1, 7);
        ck_assert_uint_eq(key(1 + (int)i, 7), owner);
    }
    write_file(1, "uid_map", "         0          0 4294967295\n");
    ck_assert_uint_ne(key_of_user(1, GROUP), owner);
}
END_TEST

/* The folders of runtimes are no containers, nor are services. A process of the host's may be in a
 * cgroup with any name. */
START_TEST(a_pid_namespace_joins_no_containers)
{
    static const char *const FOLDERS[] = {
        "0::/docker/",
        "0::/kubepods/burstable/pod0ae0a4be-6c0a-4d1c-9a7b-6f7d8f3f9b1e/",
        "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-",
        "0::/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:",
        "3:cpu:/web/\n0::/k8s.io/",
    };
    char one[256], two[256];

    nested = true;
    for (size_t i = 0; i < ARRAY_SIZE(FOLDERS); i++) {
        snprintf(one, sizeof(one), "%s" ONE "\n", FOLDERS[i]);
        snprintf(two, sizeof(two), "%s" TWO "\n", FOLDERS[i]);
        ck_assert_msg(key_of(1, 7, one) != key_of(2, 7, two), "%s", one);
    }
    nested = false;
    ck_assert_uint_ne(key_of(1, 7, "0::/web/" ONE "\n"), key_of(2, 7, "0::/web/" TWO "\n"));
    ck_assert_uint_ne(key_of(1, 7, "0::/web\n"), key_of(2, 7, "0::/web\n"));
}
END_TEST

/* Returns the key of a process in many hierarchies, each with a path of @each bytes, and then in
 * one. */
static uint64_t key_of_long(size_t each, const char *last)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    uint64_t key;

    buf_init(&text, 1 << 20);
    for (int i = 13; i > 0; i--) {
        buf_printf(&text, "%d:name=h%d:/", i, i);
        for (size_t n = 1; n < each; n++)
            buf_add_char(&text, 'x');
        buf_add_char(&text, '\n');
    }
    buf_add_str(&text, last);
    buf_add_char(&text, '\0');
    key = key_of(1, 7, text.p);
    return key;
}

START_TEST(a_cgroup_counts_only_where_it_is_read_whole)
{
    uint64_t one = key_of(1, 7, "0::/docker/" ONE "\n");

    ck_assert_uint_eq(key_of_long(4095, "0::/docker/" ONE "\n"), one);
    ck_assert_uint_eq(key_of_long(6000, "0::/docker/" ONE "\n"), OWNER_FOREIGN);
}
END_TEST

/* It has no number of its own, with which it could have a share for each process that ends. */
START_TEST(what_has_ended_is_foreign)
{
    static const char *const GROUPS[] = { "0::/system.slice/ssh.service\n",
                                          "0::/docker/" ONE "\n" };
    const char *group = GROUPS[_i];
    uint64_t own;

    ck_assert_uint_eq(key(1, 7), OWNER_FOREIGN);
    own = key_of(1, 7, group);
    ck_assert_uint_ne(own, OWNER_FOREIGN);
    ck_assert_uint_ne(key(1, 0), OWNER_FOREIGN); /* the start time is not known */
    ck_assert_int_eq(key(1, 0) == own, _i);
    ck_assert_uint_eq(key(1, 6), OWNER_FOREIGN); /* another process has its pid now */
    write_file(1, "stat", NULL);                 /* it ends between the reads */
    ck_assert_uint_eq(key(1, 7), OWNER_FOREIGN);
    make(1, 7, 'S', 0, group);
    write_file(1, "status", NULL);
    ck_assert_uint_eq(key(1, 7), _i ? own : OWNER_FOREIGN);
}
END_TEST

/* A zombie is in the topmost cgroup of version 1. Its parent may keep any number of them. */
START_TEST(a_zombie_is_foreign)
{
    static const unsigned UIDS[] = { 0, 1000 };

    make(1, 7, 'Z', UIDS[_i], "4:memory:/\n");
    ck_assert_uint_eq(key(1, 7), OWNER_FOREIGN);
    make(1, 7, 'X', UIDS[_i], "4:memory:/\n");
    ck_assert_uint_eq(key(1, 7), OWNER_FOREIGN);
    make(1, 7, 'S', UIDS[_i], "4:memory:/\n");
    ck_assert_uint_ne(key(1, 7), OWNER_FOREIGN);
    make(1, 7, 'Z', UIDS[_i], "0::/docker/" ONE "\n");
    ck_assert_uint_eq(key(1, 7), key_of(2, 8, "0::/docker/" ONE "\n"));
}
END_TEST

START_TEST(a_kernel_without_cgroups_has_users)
{
    make(1, 7, 'S', 1000, NULL);
    make(2, 8, 'S', 1000, NULL);
    ck_assert_uint_ne(key(1, 7), OWNER_FOREIGN);
    ck_assert_uint_eq(key(1, 7), key(2, 8));
}
END_TEST

START_TEST(nobody_can_foresee_its_number)
{
    const struct fingerprint_key mine = { 1, 2 }, other = { 1, 3 }, own = { 0 };
    uint64_t by_own = key_of(1, 7, "0::/docker/" ONE "\n"), by_mine;

    proc_owner_use_key(&mine);
    by_mine = key_of(1, 7, "0::/docker/" ONE "\n");
    ck_assert_uint_ne(by_mine, by_own);
    proc_owner_use_key(&other);
    ck_assert_uint_ne(key_of(1, 7, "0::/docker/" ONE "\n"), by_mine);
    proc_owner_use_key(&mine);
    ck_assert_uint_eq(key_of(1, 7, "0::/docker/" ONE "\n"), by_mine);
    proc_owner_use_key(&own);
}
END_TEST

START_TEST(it_ends_and_comes_back_slowly)
{
    static struct owner_budgets p;
    uint64_t now_ns = 100 * NSEC_PER_SEC;

    ck_assert(budget_has(owner_budget_of(&p, 1, now_ns), now_ns));
    budget_spend(owner_budget_of(&p, 1, now_ns), OWNER_BUDGET_AT_ONCE_NS * 2);
    ck_assert(!budget_has(owner_budget_of(&p, 1, now_ns), now_ns));
    ck_assert(budget_has(owner_budget_of(&p, 2, now_ns), now_ns)); /* another budget is full */
    now_ns += NSEC_PER_SEC;
    ck_assert(!budget_has(owner_budget_of(&p, 1, now_ns), now_ns));
    now_ns += OWNER_BUDGET_AT_ONCE_NS * OWNER_BUDGET_SHARE;
    ck_assert(budget_has(owner_budget_of(&p, 1, now_ns), now_ns));
}
END_TEST

/* Returns true if @key has budget left, one nanosecond after the last call. */
static bool has(struct owner_budgets *p, uint64_t key)
{
    static uint64_t now_ns = 100 * NSEC_PER_SEC;

    now_ns++;
    return budget_has(owner_budget_of(p, key, now_ns), now_ns);
}

START_TEST(as_many_as_fit_are_remembered)
{
    static struct owner_budgets p;

    for (uint64_t key = 1; key <= OWNER_BUDGETS_MAX; key++) {
        ck_assert(has(&p, key));
        budget_spend(owner_budget_of(&p, key, key), OWNER_BUDGET_AT_ONCE_NS * 2);
        has(&p, key);
    }
    for (uint64_t key = 1; key <= OWNER_BUDGETS_MAX; key++)
        ck_assert(!has(&p, key));
    ck_assert(has(&p, 1000)); /* takes the place of owner 1 */
    ck_assert(!has(&p, 2));
    ck_assert(has(&p, 1));
}
END_TEST

/* A sweep over many owners does not renew a slow one's budget. */
START_TEST(owners_that_cost_nothing_displace_no_slow_one)
{
    static struct owner_budgets p;

    ck_assert(has(&p, 1));
    budget_spend(owner_budget_of(&p, 1, 0), OWNER_BUDGET_AT_ONCE_NS * 2);
    for (uint64_t key = 2; key < 4 * OWNER_BUDGETS_MAX; key++)
        ck_assert(has(&p, key));
    ck_assert(!has(&p, 1));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("owner_budget");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_container_is_one_owner_and_a_process_outside_is_one);
    tcase_add_test(tc, an_owner_makes_no_others_below_its_cgroup);
    tcase_add_test(tc, a_service_of_a_user_makes_no_owners_below_itself);
    tcase_add_test(tc, many_users_of_a_user_namespace_are_one_owner);
    tcase_add_test(tc, a_pid_namespace_joins_no_containers);
    tcase_add_test(tc, a_cgroup_counts_only_where_it_is_read_whole);
    tcase_add_loop_test(tc, what_has_ended_is_foreign, 0, 2);
    tcase_add_loop_test(tc, a_zombie_is_foreign, 0, 2);
    tcase_add_test(tc, a_kernel_without_cgroups_has_users);
    tcase_add_test(tc, nobody_can_foresee_its_number);
    tcase_add_test(tc, it_ends_and_comes_back_slowly);
    tcase_add_test(tc, as_many_as_fit_are_remembered);
    tcase_add_test(tc, owners_that_cost_nothing_displace_no_slow_one);
    return suite_run_case("owner_budget", tc);
}
