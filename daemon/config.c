/* SPDX-License-Identifier: Apache-2.0 */
#include "config_option.h"

#include "access/access_rules.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "profile/service_counters.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CONFIG_QUIET_NS (100 * (int64_t)NSEC_PER_MSEC) /* since the last write, at least */
/* The most reads, with pauses of half CONFIG_QUIET_NS between them. */
#define CONFIG_READS 20

static const struct choice LOG_LEVELS[] = {
    { "error", LOG_LEVEL_ERROR },
    { "warning", LOG_LEVEL_WARNING },
    { "info", LOG_LEVEL_INFO },
    { "debug", LOG_LEVEL_DEBUG },
};

static const struct choice SYMBOLS[] = {
    { "auto", CONFIG_SYMBOLS_AUTO },
    { "memory", CONFIG_SYMBOLS_MEMORY },
};

#define AT(member) offsetof(struct config, member)
#define CHOICES(table) .choices = (table), .choice_count = ARRAY_SIZE(table)

const struct option config_options[] = {
    { "config", OPTION_TEXT, AT(config_file), 1, CONFIG_TEXT_MAX, CONFIG_FILE_DEFAULT, "FILE",
      "Read options from FILE, in YAML: one `name: value` for each, with the names of this list "
      "and underscores in place of hyphens.",
      .flag_only = true },
    { "listen", OPTION_LIST, AT(listen), 1, CONFIG_TEXT_MAX,
      "unix:/run/flamed/flamed.sock 127.0.0.1:7979", "ADDR",
      .help = "Serve HTTP on ADDR: HOST:PORT, [HOST6]:PORT or unix:PATH. May be given several "
              "times; replaces the default. 127.0.0.1 and [::1] come together: both are localhost. "
              "A HOST that is not loopback speaks TLS. It needs tls_server_config and a rule under "
              "access in the file. https://HOST:PORT speaks TLS on loopback, too." },
    { "allowed_hosts", OPTION_LIST, AT(allowed_hosts), 1, 253, NULL, "HOST",
      .help = "Answer under the name HOST too, as behind a reverse proxy: the name in the "
              "browser's address bar, without scheme and port. May be given several times. Every "
              "client of that name can use flamed: let the proxy check them." },
    { "tcp_manage", OPTION_BOOL, AT(tcp_manage), 0, 1, "no", "BOOL",
      .help = "Let root and the group flamed have the role manage over TCP, too, by the kernel's "
              "word alone: others' captures, triggers, the audit. By default that takes the Unix "
              "socket, a token or a login." },
    { "mcp", OPTION_BOOL, AT(mcp), 0, 1, "no", "BOOL",
      .help = "Answer programs of language models at POST /mcp, by the Model Context Protocol, "
              "with the rights that each caller has on the other routes." },
    { "store", OPTION_TEXT, AT(store.folder), 1, CONFIG_TEXT_MAX, "/var/lib/flamed", "DIR",
      .help = "Keep data in DIR, which is closed to all other users. DIR may be missing. One that "
              "exists must be empty, or belong to flamed's user." },
    { "user", OPTION_TEXT, AT(user), 1, 32, "flamed", "NAME",
      .help = "Run the part that parses and serves as the user NAME. If there is no such user, use "
              "a fixed high user id." },
    { "log_level", OPTION_CHOICE, AT(log_level), 0, 0, "info", "LEVEL",
      .help = "Log to standard error what is at least as grave as LEVEL: error, warning, info or "
              "debug.",
      CHOICES(LOG_LEVELS) },
    { "symbols", OPTION_CHOICE, AT(symbols), 0, 0, "auto", "SOURCE",
      .help = "Where Java names may come from: auto, or memory, which forbids loading anything "
              "into a JVM.",
      CHOICES(SYMBOLS) },
    { "attach_mount", OPTION_BOOL, AT(broker.attach_mount), 0, 1, "no", "BOOL",
      .help = "If a JVM can load its agent in no other way, mount over an empty folder of its "
              "container during the load. The folder is /mnt, /media or /srv, or a read-only /tmp. "
              "Under systemd, give flamed-broker and flamed-launcher --attach-mount as well." },
    { "bpf_only", OPTION_BOOL, AT(broker.bpf_only), 0, 1, "no", "BOOL",
      .help = "Do not sample where the kernel refuses BPF programs. Without this option perf "
              "events then copy the stacks of all processes to flamed. Under systemd, give "
              "flamed-broker --bpf-only instead." },
    { "show_arguments", OPTION_BOOL, AT(show_arguments), 0, 1, "no", "BOOL",
      .help = "Show the values of -D and --name= arguments of processes, which often hold secrets, "
              "in place of masking them." },
    { "audit_log", OPTION_TEXT, AT(audit_log), 0, CONFIG_TEXT_MAX, "", "FILE",
      .help =
          "Append who did what to FILE (absolute), a line of JSON each. A reload opens FILE again. "
          "flamed-broker opens it: under systemd, give it --audit-log=FILE as well, and a folder "
          "that it may write to. A file that another user owns or may write to is refused." },
    { "captures_max", OPTION_NUMBER, AT(captures.max), 1, 1024, "64", "N",
      .help = "Take at most N profiles at once for one caller (a user, on the Unix socket or over "
              "TCP). Half of them may be longer than a minute. More are refused with status 429. "
              "All callers together have half as many again, and root an eighth more." },
    { "captures_max_bytes", OPTION_SIZE, AT(captures.max_bytes), UINT64_C(16) << 20,
      UINT64_C(1) << 40, "128M", "SIZE",
      .help = "Memory of the profiles that are being taken, answered or stored. Beyond it, the "
              "profile with the most samples is thinned, or ends early, and says so." },
    { "samples_max", OPTION_NUMBER, AT(captures.samples_max), 1000, 1000000000, "20000000", "N",
      .help = "Keep at most N samples of one profile. Beyond N, one of two is dropped, and the "
              "profile says so." },
    { "connections_max", OPTION_NUMBER, AT(connections_max), 8, 4096, "128", "N",
      .help = "Serve at most N connections at once to one caller, half of them as streams. New "
              "connections replace idle ones; more are refused with status 429, except for "
              "/healthz, /readyz and /metrics. All callers together have half as many again, and "
              "root an eighth more." },
    { "answer_max_bytes", OPTION_SIZE, AT(answer_max_bytes), 1 << 20, UINT64_C(2) << 30, "64M",
      "SIZE",
      .help = "Refuse an answer over SIZE bytes with status 413. SIZE may end in K, M or G (of "
              "1024). Long texts (collapsed, traces, json, speedscope) are held compressed. SIZE "
              "then limits the compressed text, and the text may be 16 times as long." },
    { "idle_timeout", OPTION_NUMBER, AT(idle_timeout_s), 1, 3600, "30", "SECONDS",
      .help =
          "Cut off a client that has not sent a whole request, or reads nothing, for SECONDS." },
    { "store_max_bytes", OPTION_SIZE, AT(store.max_bytes), UINT64_C(16) << 20, UINT64_C(1) << 50,
      "2G", "SIZE",
      .help = "Keep at most SIZE of finished captures. The oldest are dropped first." },
    { "store_max_age", OPTION_NUMBER, AT(store.max_age_s), 0, UINT64_C(100) * 365 * 86400, "0",
      "SECONDS", .help = "Drop captures that are older than SECONDS; 0: no limit by age." },
    { "unwind_max_frames", OPTION_NUMBER, AT(unwind_max_frames), 16, 2048, "2048", "N",
      .help = "Walk at most N frames of a stack, the leaf first. An interpreted one counts twice. "
              "What is deeper is cut and marked [truncated]." },
    { "recorder_hz", OPTION_NUMBER, AT(recorder.hz), 0, 1000, "19", "HZ",
      .help = "Rate of the flight recorder, which is always on and keeps the last minutes of the "
              "whole node; 0 turns it off." },
    { "recorder_seconds", OPTION_NUMBER, AT(recorder.seconds), 10, 86400, "720", "SECONDS",
      .help = "How far back the flight recorder reaches, if its memory suffices. /readyz says if "
              "it does not." },
    { "recorder_max_bytes", OPTION_SIZE, AT(recorder.max_bytes), 1 << 20, UINT64_C(16) << 30, "64M",
      "SIZE", .help = "Memory of the flight recorder." },
    { "recorder_waits", OPTION_BOOL, AT(recorder.waits), 0, 1, "yes", "BOOL",
      .help = "Have the flight recorder look every 1 to 6 s at what threads of JVMs wait for: "
              "event=wall, offcpu and lock of the last minutes." },
    { "recorder_requests", OPTION_BOOL, AT(recorder.requests), 0, 1, "yes", "BOOL",
      .help = "Have the flight recorder read the request of each sample out of the JVM's tracer. "
              "Then by=operation shows the last minutes and the history." },
    { "recorder_alloc", OPTION_BOOL, AT(recorder.alloc), 0, 1, "no", "BOOL",
      .help = "Have the flight recorder sample what JVMs allocate, by probes in their libjvm.so: "
              "event=alloc of the last minutes and of the history." },
    { "operation_callers", OPTION_TEXT, AT(requests.operation_callers), 0, CONFIG_TEXT_MAX, "",
      "METHODS",
      .help =
          "Dispatchers of requests, such as com.acme.Router.dispatch, with commas between them. In "
          "JVMs without a tracer the first method of the application below one names the "
          "operation, by its route or its own name." },
    { "mdc_keys", OPTION_TEXT, AT(requests.mdc_keys), 0, CONFIG_TEXT_MAX, "", "KEYS",
      .help =
          "Keys of a request in Logback's MDC and Log4j's ThreadContext, such as trace=requestId, "
          "span=spanId and operation=endpoint, with commas between them. They replace the built-in "
          "ones. No other value is read." },
    { "history_max_age", OPTION_NUMBER, AT(history.max_age_s), 0, UINT64_C(366) * 86400, "86400",
      "SECONDS",
      .help = "Keep what the flight recorder has had for SECONDS, merged by minute, in the folder "
              "of the store; 0: keep no history." },
    { "history_max_bytes", OPTION_SIZE, AT(history.max_bytes), UINT64_C(1) << 20, UINT64_C(1) << 50,
      "2G", "SIZE",
      .help = "Keep at most SIZE of that history. The oldest minutes are dropped first, then parts "
              "of 10 minutes, then hours." },
    { "metrics_heaviest", OPTION_NUMBER, AT(metrics.heaviest), 0, SERVICE_COUNTERS_HEAVIEST, "10",
      "N",
      .help = "Count in /metrics the CPU time of each service's N heaviest functions, and the "
              "waits for locks of its N heaviest classes; 0: of none. All others are one series." },
    { "metrics_functions", OPTION_LIST, AT(metrics.functions), 1, MATCH_PATTERN_BYTES_MAX, NULL,
      "PATTERN",
      .help = "Count the CPU time of each function that PATTERN matches, too: what it used itself, "
              "and with all that it called. PATTERN is a regular expression for names. May be "
              "given several times.",
      .pattern = true },
    { "external_url", OPTION_TEXT, AT(metrics.external_url), 0, 100, "", "URL",
      .help = "Say in /metrics that a browser reaches this flamed at URL (http:// or https://). "
              "Then counters of functions and locks have exemplars, which link to the profile of a "
              "minute there.",
      .address = true },
    { "new_token", OPTION_TEXT, AT(new_token), 0, 63, "", "NAME",
      .help = "Print a new token and what to put into the file for it, and exit. The token is "
              "shown only this once.",
      .flag_only = true },
    { "login", OPTION_ACTION, AT(only.login), 0, 0, NULL, NULL,
      .help = "Ask the running flamed for an address, print it, and exit. A browser that opens it "
              "logs in as the user who ran this. The address is good once, for two minutes. For "
              "root and the group flamed.",
      .flag_only = true },
    { "check_config", OPTION_ACTION, AT(only.check_config), 0, 0, NULL, NULL,
      .help = "Read the command line and the file, print what is wrong with them or that they are "
              "right, and exit.",
      .flag_only = true },
    { "version", OPTION_ACTION, AT(only.version), 0, 0, NULL, NULL,
      .help = "Print the version and exit.", .flag_only = true },
    { "help", OPTION_ACTION, AT(only.help), 0, 0, NULL, NULL, .help = "Print this list and exit.",
      .flag_only = true },
};

const size_t config_option_count = ARRAY_SIZE(config_options);
_Static_assert(ARRAY_SIZE(config_options) <= CONFIG_OPTIONS_MAX, "a set has a bit for each option");

int config_init(struct config *c)
{
    *c = (struct config){ 0 };
    for (size_t i = 0; i < config_option_count; i++) {
        const struct option *o = &config_options[i];
        struct span rest = span_of(o->initial ? o->initial : ""), one;
        int r = 0;

        if (o->type == OPTION_LIST) {
            while (r == 0 && span_take_until(&rest, ' ', &one))
                r = option_set(o, one, c);
        } else if (o->initial) {
            r = option_set(o, rest, c);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

void config_deinit(struct config *c)
{
    for (size_t i = 0; i < config_option_count; i++)
        option_clear(&config_options[i], c);
    c->rules = rules_free(c->rules);
    c->push = push_config_free(c->push);
    c->access = access_rules_free(c->access);
    free(c->tls);
    c->tls = NULL;
}

struct listen_rights config_listen_rights(const struct config *c)
{
    return (struct listen_rights){ .tls = c->tls != NULL,
                                   .authentication = access_rules_have_shown(c->access) };
}

/* Opens a file that can be read to its end: no device, and no FIFO without a writer. */
static int open_file(const char *path, int *ret_fd)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    *ret_fd = take_fd(&fd);
    return 0;
}

/* Returns true if the file was the same at both times and was not written just before the second.
 */
static bool is_quiet(const struct stat *before, const struct stat *after)
{
    struct timespec now;
    int64_t age_ns;

    clock_gettime(CLOCK_REALTIME, &now);
    age_ns = (now.tv_sec - after->st_mtim.tv_sec) * (int64_t)NSEC_PER_SEC + now.tv_nsec -
             after->st_mtim.tv_nsec;
    return before->st_size == after->st_size &&
           memcmp(&before->st_mtim, &after->st_mtim, sizeof(after->st_mtim)) == 0 &&
           (age_ns > CONFIG_QUIET_NS || age_ns < 0); /* negative: the clock was set back */
}

/* Reads all of a file, and reads it again while a program writes to it: a missing part might narrow
 * a rule. Returns 0; -EBUSY if the writing does not end; or -errno. */
static int read_whole(int fd, struct buf *ret)
{
    const struct timespec pause = { .tv_nsec = CONFIG_QUIET_NS / 2 };
    struct stat before, after;
    int r;

    for (int i = 0; i < CONFIG_READS; i++) {
        if (i)
            nanosleep(&pause, NULL);
        buf_clear(ret);
        if (lseek(fd, 0, SEEK_SET) < 0 || fstat(fd, &before) < 0)
            return -errno;
        r = buf_read_fd(ret, fd);
        if (r < 0)
            return r;
        if (fstat(fd, &after) < 0)
            return -errno;
        if (is_quiet(&before, &after) && (off_t)ret->n == after.st_size)
            return 0;
    }
    return -EBUSY;
}

int config_parse_fd(int fd, uint64_t given, struct config *c, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(CONFIG_FILE_MAX_BYTES);
    int r;

    r = read_whole(fd, &text);
    if (r == -EBUSY)
        return error_set(err, r, "a program writes to the configuration '%.128s' all the time",
                         c->config_file);
    if (r < 0)
        return error_code(err, r, "cannot read the configuration '%.128s'", c->config_file);
    c->has_file = true;
    return config_parse_yaml(buf_span(&text), c->config_file, given, c, err);
}

/* Returns whether @given has the option for the member of struct config at @offset. */
static bool is_given(uint64_t given, size_t offset)
{
    size_t i = 0;

    while (config_options[i].offset != offset)
        i++;
    return given & UINT64_C(1) << i;
}

int config_load(int argc, char *const *argv, struct config *c, struct error *err)
{
    _cleanup_close_ int fd = -1;
    uint64_t given = 0;
    int r = config_init(c);

    if (r < 0)
        return error_set(err, r, "out of memory");
    r = config_parse_argv(argc, argv, c, &given, err);
    if (r < 0 || c->only.help || c->only.version)
        return r;
    r = open_file(c->config_file, &fd);
    if (r == -ENOENT && !is_given(given, AT(config_file)))
        return 0;
    if (r < 0)
        return error_code(err, r, "cannot read the configuration '%.128s'", c->config_file);
    return config_parse_fd(fd, given, c, err);
}

void config_differences(const struct config *a, const struct config *b, struct buf *out)
{
    for (size_t i = 0; i < config_option_count; i++) {
        if (option_differs(&config_options[i], a, b))
            buf_printf(out, "%s%s", out->n ? ", " : "", config_options[i].name);
    }
    push_config_differences(a->push, b->push, out);
}
