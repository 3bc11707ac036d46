/* SPDX-License-Identifier: Apache-2.0 */
#include "live_jvm.h"

#include "base/clock.h"
#include "tests/read_jvm.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define JVM_FOLDER "/usr/lib/jvm"

#define RUNNING_MAX 16

static char classes[64];
static struct live_jvm *running[RUNNING_MAX];

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static void remove_classes(void)
{
    nftw(classes, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

const char *live_classes(void)
{
    if (!classes[0]) {
        snprintf(classes, sizeof(classes), "/tmp/flamed-classes.XXXXXX");
        if (!mkdtemp(classes) || chmod(classes, 0755) < 0)
            die("mkdtemp");
        atexit(remove_classes);
    }
    return classes;
}

bool live_output(const char *const *argv, char *buf, size_t size)
{
    int fds[2], status;
    size_t n = 0;
    ssize_t r;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        die("pipe2");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        dup2(fds[1], 1);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(fds[1]);
    while (n + 1 < size && (r = read(fds[0], buf + n, size - 1 - n)) > 0)
        n += (size_t)r;
    buf[n] = '\0';
    while (n + 1 == size && read(fds[0], (char[4096]){ 0 }, 4096) > 0)
        ;
    close(fds[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The release is a number in the folder's name: java-17-openjdk-amd64, temurin-25-jdk-amd64. */
const char *live_home(int jdk)
{
    static char home[32][280];
    struct dirent *e;
    DIR *dir;

    if (jdk < 0 || jdk >= 32)
        return NULL;
    if (home[jdk][0])
        return home[jdk];
    dir = opendir(JVM_FOLDER);
    while (dir && (e = readdir(dir))) {
        char java[320];
        const char *dash = strchr(e->d_name, '-');

        if (!dash || strtol(dash + 1, NULL, 10) != jdk)
            continue;
        snprintf(java, sizeof(java), JVM_FOLDER "/%s/bin/java", e->d_name);
        if (access(java, X_OK) == 0)
            snprintf(home[jdk], sizeof(home[jdk]), JVM_FOLDER "/%s", e->d_name);
    }
    if (dir)
        closedir(dir);
    return home[jdk][0] ? home[jdk] : NULL;
}

/* Finds the root of a JDK: FLAMED_JDK_ROOTS, or tests/.cache, has folders "jdk-8", "jdk-11", ...
 * each with its own /usr/lib/jvm. */
static bool root_of(int jdk, char *buf, size_t size)
{
    const char *roots = getenv("FLAMED_JDK_ROOTS");
    char java[512];

    snprintf(buf, size, "%s/jdk-%d", roots ? roots : FLAMED_TEST_DATA "/../.cache", jdk);
    snprintf(java, sizeof(java), "%s/usr/lib/jvm/java-%d-openjdk-amd64/bin/java", buf, jdk);
    return access(java, X_OK) == 0;
}

bool live_has(int jdk)
{
    char root[400];

    return live_home(jdk) || (geteuid() == 0 && root_of(jdk, root, sizeof(root)));
}

bool live_compile(const char *source)
{
    const char *home = live_home(17) ? live_home(17) : live_home(25);
    char javac[320], sources[] = FLAMED_TEST_DATA "/../jvm/java", file[512], output[16];
    const char *argv[] = { javac,
                           "-J-XX:TieredStopAtLevel=1", /* javac ends too early to gain from C2 */
                           "-J-XX:+UseSerialGC",
                           "-proc:none",
                           "--release",
                           "8",
                           "-nowarn",
                           "-Xlint:-options",
                           "-g",
                           "-sourcepath",
                           sources,
                           "-d",
                           live_classes(),
                           file,
                           NULL };

    if (!home)
        return false;
    snprintf(javac, sizeof(javac), "%s/bin/javac", home);
    snprintf(file, sizeof(file), "%s/%s", sources, source);
    return live_output(argv, output, sizeof(output));
}

/* In the child: makes a mount namespace in which @root has /proc, /dev and the classes as /tmp. */
static void enter_root(const char *root)
{
    static const char *const POINTS[] = { "proc", "dev", "tmp" };
    char path[512];

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(120);
    for (size_t i = 0; i < ARRAY_SIZE(POINTS); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, POINTS[i]);
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            _exit(119);
    }
    snprintf(path, sizeof(path), "%s/proc", root);
    if (mount("proc", path, "proc", 0, NULL) < 0)
        _exit(121);
    snprintf(path, sizeof(path), "%s/dev", root);
    if (mount("/dev", path, NULL, MS_BIND, NULL) < 0)
        _exit(122);
    snprintf(path, sizeof(path), "%s/tmp", root);
    if (mount(live_classes(), path, NULL, MS_BIND, NULL) < 0)
        _exit(123);
    if (chroot(root) < 0 || chdir("/") < 0)
        _exit(124);
}

void live_start(int jdk, const char *const *args, struct live_jvm *ret)
{
    const char *argv[LIVE_ARGS_MAX + 5], *home = live_home(jdk);
    char java[320], root[400] = "";
    int in[2], out[2];
    size_t n = 0;
    pid_t pid;

    live_classes();
    if (home) {
        snprintf(java, sizeof(java), "%s/bin/java", home);
    } else {
        root_of(jdk, root, sizeof(root));
        snprintf(java, sizeof(java), JVM_FOLDER "/java-%d-openjdk-amd64/bin/java", jdk);
    }
    argv[n++] = java;
    argv[n++] = "-cp";
    argv[n++] = root[0] ? "/tmp" : classes;
    for (size_t i = 0; args[i] && i < LIVE_ARGS_MAX; i++)
        argv[n++] = args[i];
    argv[n] = NULL;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        die("pipe2");
    pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        if (root[0])
            enter_root(root);
        execv(java, (char *const *)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *ret = (struct live_jvm){
        .pid = pid, .in = in[1], .out = out[0], .mem_fd = -1, .chrooted = root[0] != '\0'
    };
    for (n = 0; n < RUNNING_MAX && running[n]; n++)
        ;
    if (n < RUNNING_MAX)
        running[n] = ret;
}

bool live_line(struct live_jvm *j, char *buf, size_t size, int timeout_ms)
{
    uint64_t deadline = clock_monotonic_ns() + (uint64_t)timeout_ms * NSEC_PER_MSEC;

    for (;;) {
        char *end = memchr(j->buffered, '\n', j->buffered_n);
        struct pollfd p = { j->out, POLLIN, 0 };
        uint64_t now = clock_monotonic_ns();
        ssize_t r;

        if (end) {
            size_t n = (size_t)(end - j->buffered);

            snprintf(buf, size, "%.*s", (int)n, j->buffered);
            j->buffered_n -= n + 1;
            memmove(j->buffered, end + 1, j->buffered_n);
            return true;
        }
        if (j->buffered_n == sizeof(j->buffered) || now >= deadline ||
            poll(&p, 1, (int)((deadline - now) / NSEC_PER_MSEC) + 1) <= 0)
            return false;
        r = read(j->out, j->buffered + j->buffered_n, sizeof(j->buffered) - j->buffered_n);
        if (r <= 0)
            return false;
        j->buffered_n += (size_t)r;
    }
}

void live_attach(struct live_jvm *j)
{
    uint64_t deadline = clock_monotonic_ns() + 10 * NSEC_PER_SEC;

    while (!(j->libjvm_base = find_libjvm(j->pid))) {
        if (clock_monotonic_ns() > deadline)
            die("no libjvm in the JVM");
        usleep(1000);
    }
    j->mem_fd = open_proc_file(j->pid, "mem");
    if (j->mem_fd < 0)
        die("the JVM's memory");
}

void live_stop(struct live_jvm *j)
{
    kill(j->pid, SIGKILL);
    while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(j->in);
    close(j->out);
    j->mem_fd = close_fd(j->mem_fd);
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        if (running[i] == j)
            running[i] = NULL;
    }
}

void live_stop_all(void)
{
    for (size_t i = 0; i < RUNNING_MAX; i++) {
        if (running[i])
            live_stop(running[i]);
    }
}
