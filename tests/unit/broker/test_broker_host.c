/* SPDX-License-Identifier: Apache-2.0 */
/* broker: its facts about the node, and the files of the node that can be requested by name. */
#include "broker_fixture.h"

#include <sched.h>

#define CONFIG_ID "f1a3ed0000000000000000000000000000000000000000000000000000000001"

START_TEST(container_config_takes_ids_only)
{
    static const char *const BAD[] = {
        "../../../../../../../etc/passwd",
        "../../../../etc/../etc/../etc/../etc/../etc/../etc/../etc/passwd",
        "F1A3ED0000000000000000000000000000000000000000000000000000000001",
        "f1a3ed000000000000000000000000000000000000000000000000000000000",
        "f1a3ed00000000000000000000000000000000000000000000000000000000011",
        "f1a3ed000000000000000000000000000000000000000000000000000000000/",
        "",
    };
    static const char FOLDER_OF_ID[] =
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" CONFIG_ID;
    struct error err = ERROR_NULL;
    char path[256];
    int fd = -1;

    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        ck_assert_int_eq(broker_container_config(fx.b, BAD[i], &fd, &err), -EINVAL);
    ck_assert_int_eq(broker_container_config(fx.b, CONFIG_ID, &fd, &err), BROKER_ABSENT);
    for (const char *p = FOLDER_OF_ID + 5; (p = strchr(p, '/')); p++) {
        snprintf(path, sizeof(path), "%.*s", (int)(p - FOLDER_OF_ID), FOLDER_OF_ID);
        mkdir(path, 0755);
    }
    ck_assert_int_eq(mkdir(FOLDER_OF_ID, 0755), 0);
    snprintf(path, sizeof(path), "%s/config.json", FOLDER_OF_ID);
    write_file(path, "{}", 2);
    ck_assert_msg(broker_container_config(fx.b, CONFIG_ID, &fd, &err) == 0, "%s", err.msg);
    ck_assert(file_is(fd, "{}"));
    close_fd(fd);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(broker_container_config(fx.b, CONFIG_ID, &fd, &err), -EPERM);
    unlink(path);
    rmdir(FOLDER_OF_ID);
}
END_TEST

START_TEST(the_host_tells_about_itself)
{
    struct error err = ERROR_NULL;
    struct broker_facts f;
    char text[64];
    int fd = -1, r;

    facts_once_loaded(fx.b, &f);
    ck_assert_uint_ge(f.kernel_version, 5u << 16);
    ck_assert_uint_eq(f.cpus, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_uint_ne(f.capabilities, 0);
    ck_assert_uint_eq(f.capabilities & 1, 0); /* CAP_CHOWN is not reported */
    ck_assert(f.bpf_loaded == (f.bpf_problem[0] == '\0'));
    ck_assert(f.sideband == (f.sideband_problem[0] == '\0'));
    ck_assert_int_eq(broker_kallsyms(fx.b, &fd, &err), 0);
    ck_assert_int_gt(read(fd, text, sizeof(text)), 10);
    ck_assert(f.kallsyms == (memcmp(text, "0000000000000000", 16) != 0));
    close_fd(fd);
    fd = -1;
    r = broker_container_logs(fx.b, &fd, &err);
    ck_assert(r == 0 || r == BROKER_ABSENT);
    close_fd(fd);
    fd = -1;
    r = broker_tracepoints(fx.b, &fd, &err);
    ck_assert(r == 0 ? read(fd, text, sizeof(text)) > 0 && memchr(text, ':', sizeof(text))
                     : r == -ENOENT && strstr(err.remedy, "mount"));
    close_fd(fd);
}
END_TEST

/* Checks that the configuration that the broker gives begins with @text. */
static void expect_config(const char *text)
{
    struct error err = ERROR_NULL;
    char got[64] = "";
    int fd = -1;

    ck_assert_msg(broker_config(fx.b, TLS_FILE_CONFIG, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_ge(read(fd, got, sizeof(got) - 1), 0);
    ck_assert_str_eq(got, text);
    close(fd);
}

START_TEST(gives_the_configuration_as_it_is_now)
{
    static char big[(256 << 10) + 1];
    struct error err = ERROR_NULL;
    char path[64], fresh[80];
    int fd = -1;

    snprintf(path, sizeof(path), FIXTURE_CONFIG, getpid());
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    unlink(path);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_CONFIG, &fd, &err), BROKER_ABSENT);
    write_file(path, "one", 3);
    expect_config("one");
    write_file(fresh, "two", 3); /* replaced by a rename, as editors do */
    ck_assert_int_eq(rename(fresh, path), 0);
    expect_config("two");
    write_file(fresh, "three", 5); /* replaced by a link, as Kubernetes does */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(fresh, path), 0);
    expect_config("three");
    write_file(fresh, big, sizeof(big));
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_CONFIG, &fd, &err), -EFBIG);
    unlink(path);
    unlink(fresh);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_CONFIG, &fd, &err),
                     -EINVAL); /* the broker does not wait for a writer */
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_CONFIG, &fd, &err), -EINVAL);
    rmdir(path);
    ck_assert(!broker_lost(fx.b));
}
END_TEST

START_TEST(gives_the_files_for_tls_that_it_names)
{
    struct error err = ERROR_NULL;
    char path[64], key[80], text[256], got[8] = "";
    int fd = -1;

    snprintf(path, sizeof(path), FIXTURE_CONFIG, getpid());
    snprintf(key, sizeof(key), "%s.key", path);
    unlink(path);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_KEY, &fd, &err), BROKER_ABSENT);
    snprintf(text, sizeof(text), "tls_server_config:\n  key_file: %s\n", strrchr(key, '/') + 1);
    write_file(path, text, strlen(text));
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_CERT, &fd, &err), BROKER_ABSENT);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_KEY, &fd, &err),
                     -ENOENT); /* named, but missing */
    write_file(key, "secret", 6);
    ck_assert_int_eq(chmod(key, 0600), 0);
    ck_assert_msg(broker_config(fx.b, TLS_FILE_KEY, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_eq(read(fd, got, sizeof(got) - 1), 6);
    ck_assert_str_eq(got, "secret");
    close(fd);
    ck_assert_int_eq(chmod(path, 0664), 0); /* members of a group may choose what root reads */
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_KEY, &fd, &err), -EPERM);
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(chown(path, 12345, 0), 0);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_KEY, &fd, &err), -EPERM);
    ck_assert_int_eq(chown(path, 0, 0), 0);
    unlink(key);
    ck_assert_int_eq(mkfifo(key, 0600), 0);
    ck_assert_int_eq(broker_config(fx.b, TLS_FILE_KEY, &fd, &err), -EINVAL);
    unlink(key);
    unlink(path);
    ck_assert(!broker_lost(fx.b));
}
END_TEST

/* One hierarchy of each version in which folders of any name can be made. */
static const char *const HIERARCHIES[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd",
                                           "/sys/fs/cgroup/pids", "/sys/fs/cgroup" };

/* Folders below the test's own one, from the outermost on. uid and mode: owner and rights of the
 * second to last. counted: how many count as root's. */
static const struct {
    const char *names[3];
    uid_t uid;
    mode_t mode;
    size_t counted;
} CGROUPS[] = {
    { { "kubepods.slice", "pod.slice", "cri.scope" }, 0, 0755, 3 },
    { { "user.slice", "delegated", "cri.scope" }, 1001, 0755, 2 },
    { { "user.slice", "shared", "cri.scope" }, 0, 0775, 2 },
    { { "user.slice", "anyones", "cri.scope" }, 0, 0757, 2 },
    { { "user.slice", "user@1001.service", "cri.scope" }, 0, 0755, 2 },
};

/* Returns the line of @text that contains @word. Changes @text. NULL: no such line. */
static char *line_with(char *text, const char *word)
{
    for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text)) {
        if (strstr(line, word))
            return line;
    }
    return NULL;
}

static void check_cgroup(const char *top, size_t row)
{
    char own[64], outermost[128], path[3][192], procs[320], text[4096] = "", pid_text[16], *line;
    pid_t pid = start_child(NULL, NULL);
    struct proc_id id = id_of(pid);
    struct error err = ERROR_NULL;
    uint64_t cpu_limit;
    int fd = -1;

    snprintf(own, sizeof(own), "flamed-test-%d", getpid());
    snprintf(outermost, sizeof(outermost), "%s/%s", top, own);
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", top);
    if (access(procs, F_OK) < 0 || mkdir(outermost, 0755) < 0) { /* missing or read-only */
        end_child(pid);
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", i ? path[i - 1] : outermost,
                 CGROUPS[row].names[i]);
        ck_assert_int_eq(mkdir(path[i], 0755), 0);
    }
    ck_assert_int_eq(chown(path[1], CGROUPS[row].uid, 0), 0);
    ck_assert_int_eq(chmod(path[1], CGROUPS[row].mode), 0);
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", path[2]);
    snprintf(pid_text, sizeof(pid_text), "%d", pid);
    write_file(procs, pid_text, strlen(pid_text));
    ck_assert_msg(broker_cgroup(fx.b, &id, &fd, &cpu_limit, &err) == 0, "%s", err.msg);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    close(fd);
    line = line_with(text, own);
    end_child(pid);
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(line, CGROUPS[row].names[CGROUPS[row].counted - 1]));
    ck_assert(CGROUPS[row].counted == 3 || !strstr(line, CGROUPS[row].names[2]));
    for (int n = 0; rmdir(path[2]) < 0 && n < 500; n++) /* until the last process has left */
        usleep(10000);
    ck_assert_int_eq(rmdir(path[1]), 0);
    ck_assert_int_eq(rmdir(path[0]), 0);
    ck_assert_int_eq(rmdir(outermost), 0);
}

START_TEST(a_cgroup_counts_as_far_as_root_made_it)
{
    for (size_t i = 0; i < ARRAY_SIZE(HIERARCHIES); i++)
        check_cgroup(HIERARCHIES[i], (size_t)_i);
}
END_TEST

/* The user as which a child makes a user namespace before it waits, and its kind. */
static const struct {
    uint32_t uid;
    bool roots_pids; /* in a pid namespace that root made */
    bool nested;     /* with another user namespace inside */
    bool own_pids;   /* with its own pid namespace */
    uint32_t owner;  /* 0: no owner is reported */
} NAMESPACES[] = {
    { 61007, false, false, false, 61007 },
    { 61007, false, true, false, 61007 },
    { 61007, false, true, true, 61007 },
    { 61007, true, false, false, 0 }, /* a container of root may have a user with this number */
    { 61007, true, true, true, 0 },
    { 0, false, false, false, 0 },
};

static int be_namespaced(int row)
{
    uint32_t uid = NAMESPACES[row].uid;
    char map[32];

    if (NAMESPACES[row].roots_pids && (unshare(CLONE_NEWPID) < 0 || fork() != 0))
        return -1;
    if (uid && (setgid(uid) < 0 || setuid(uid) < 0))
        return -1;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* otherwise root owns /proc/self */
    if (unshare(CLONE_NEWUSER) < 0)
        return -1;
    if (NAMESPACES[row].nested) { /* needs a user and a group that are mapped */
        snprintf(map, sizeof(map), "0 %u 1\n", uid);
        write_file("/proc/self/uid_map", map, strlen(map));
        write_file("/proc/self/setgroups", "deny", 4);
        write_file("/proc/self/gid_map", map, strlen(map));
        if (unshare(CLONE_NEWUSER) < 0)
            return -1;
    }
    return NAMESPACES[row].own_pids && (unshare(CLONE_NEWPID) < 0 || fork() != 0) ? -1 : 0;
}

/* Starts a process that lives until the test closes its end of @fd. Sends its pid in the test's pid
 * namespace by @fd. */
static void namespaced_child(int fd, int row)
{
    char byte = 'x';
    int r;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    r = be_namespaced(row);
    if (r == 0 && write(fd, &byte, 1) == 1)
        r = (int)read(fd, &byte, 1);
    else if (r < 0)
        wait(NULL);
    _exit(0);
}

START_TEST(a_container_without_root_is_of_who_made_it)
{
    struct proc_id id = { 0 };
    struct error err = ERROR_NULL;
    struct ucred sender;
    uint32_t uid = 0;
    char control[CMSG_SPACE(sizeof(sender))] = { 0 }, byte;
    struct iovec iov = { &byte, 1 };
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    int pair[2], r, one = 1;
    pid_t pid;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        namespaced_child(pair[1], _i);
    }
    close(pair[1]);
    ck_assert_int_eq(recvmsg(pair[0], &m, 0), 1); /* needs user namespaces */
    memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(sender));
    id.host_pid = sender.pid;
    ck_assert_int_eq(proc_read_start(fx.proc_fd, id.host_pid, &id.start_ticks), 0);
    r = broker_namespace_user(fx.b, &id, &uid, &err);
    close(pair[0]);
    waitpid(pid, NULL, 0);
    ck_assert_msg(r == (NAMESPACES[_i].owner ? 0 : BROKER_ABSENT), "%d: %s", r, err.msg);
    ck_assert_uint_eq(uid, NAMESPACES[_i].owner);
    ck_assert_int_eq(broker_namespace_user(fx.b, &id, &uid, &err), PROC_GONE);
}
END_TEST

START_TEST(a_process_of_the_host_is_in_no_container)
{
    struct proc_id id = { .host_pid = getpid() };
    uint32_t uid = 0;

    ck_assert_int_eq(proc_read_start(fx.proc_fd, id.host_pid, &id.start_ticks), 0);
    ck_assert_int_eq(broker_namespace_user(fx.b, &id, &uid, NULL), BROKER_ABSENT);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_host");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_with_client, fixture_stop);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, container_config_takes_ids_only);
    tcase_add_loop_test(tc, a_container_without_root_is_of_who_made_it, 0, ARRAY_SIZE(NAMESPACES));
    tcase_add_test(tc, a_process_of_the_host_is_in_no_container);
    tcase_add_loop_test(tc, a_cgroup_counts_as_far_as_root_made_it, 0, ARRAY_SIZE(CGROUPS));
    tcase_add_test(tc, the_host_tells_about_itself);
    tcase_add_test(tc, gives_the_configuration_as_it_is_now);
    tcase_add_test(tc, gives_the_files_for_tls_that_it_names);
    return suite_run_case("broker_host", tc);
}
