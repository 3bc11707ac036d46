/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes a day: MINUTES one after another, without waiting for them, by the code of push/ and a
 * real flamed-push. Minute N of the day has the samples of a whole minute of the history in
 * HISTORY, by turns. Begins at minute FROM of the day, with the spool that an earlier part left in
 * STORE, as a restarted flamed does. Prints what happened. "away": nobody waits for the spool to be
 * empty. Usage: push_day CONFIG FLAMED_PUSH HISTORY STORE NODE FROM MINUTES here|away
 */
#include "api/past_impl.h"
#include "base/cleanup.h"
#include "push/push_impl.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MINUTE HISTORY_MINUTE_NS
#define DAY_NS (UINT64_C(29000000) * MINUTE) /* its first minute */
#define AWAY_TRIES_NS (NSEC_PER_SEC / 20)    /* of real time, for one minute */
#define ANSWER_NS (60 * NSEC_PER_SEC)        /* of real time, until the spool is empty */

static struct day {
    struct push push;
    struct push_state *state;
    struct api api;             /* of the history alone */
    uint64_t first_ns, minutes; /* in the history */
} day;

/* Gives a minute of the history as the minute @range of the day. */
static int past(void *ctx, const struct target_selector *t, const struct time_range *range,
                const char *event, enum past_from from, struct profile **ret, struct error *err)
{
    uint64_t at_ns = day.first_ns + (range->from_ns - DAY_NS) / MINUTE % day.minutes * MINUTE;
    struct history_reach reach;
    struct past_filter filter;
    int r = past_filter_init(t, &filter, err);

    (void)ctx;
    (void)from;
    *ret = NULL;
    filter.events = event;
    if (r == 0)
        r = past_history(&day.api, &filter, at_ns, at_ns + MINUTE, &reach, ret, err);
    past_filter_deinit(&filter);
    if (r == 0 && *ret)
        (*ret)->start_realtime_ns = range->from_ns;
    return r == 0 && !*ret ? BACKEND_NOT_FOUND : r;
}

static int past_known(void *ctx, uint64_t *ret_ns, struct error *err)
{
    (void)ctx;
    (void)err;
    *ret_ns = UINT64_MAX;
    return 0;
}

static const struct api_backend BACKEND = { .past = past, .past_known = past_known };

static int open_history(const char *dir, struct error *err)
{
    struct history_opts o = { .dir = dir,
                              .dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                              .max_bytes = UINT64_C(2) << 30,
                              .max_age_s = 86400 };
    struct history_stats stats;
    int r = history_open(&o, &day.api.engine.history, err);

    if (r < 0)
        return r;
    history_stats(day.api.engine.history, &stats);
    day.first_ns = stats.tier_oldest_ns[0] + MINUTE; /* the first one is not whole */
    if (!stats.tier_oldest_ns[0] || stats.newest_ns < day.first_ns + 2 * MINUTE)
        return error_set(err, -ENODATA, "the history has no whole minute");
    day.minutes = (stats.newest_ns - MINUTE - day.first_ns) / MINUTE;
    return 0;
}

static int open_push(char **argv, struct error *err)
{
    static char text[1 << 16];
    _cleanup_close_ int file = open(argv[1], O_RDONLY | O_CLOEXEC);
    _cleanup_close_ int store = open(argv[4], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int program = open(argv[2], O_RDONLY | O_CLOEXEC);
    ssize_t n = read(file, text, sizeof(text));
    struct spool_opts spool = { .store_fd = store, .kind = "otlp" };
    struct push_config *config = NULL;
    int r =
        n < 0 ? -errno : push_config_parse((struct span){ text, (size_t)n }, argv[1], &config, err);

    if (r < 0 || !config)
        return r < 0 ? r : error_set(err, -EINVAL, "%s names no target", argv[1]);
    day.push.o = (struct push_opts){
        .config = config, .backend = &BACKEND, .host = argv[5], .version = "day"
    };
    day.push.next_id = 1;
    day.push.spread = push_spread(argv[5]);
    day.state = &day.push.states[0];
    day.state->target = day.state->status.target = &config->targets[0];
    day.state->phase_ns = day.push.spread % config->targets[0].every_ns;
    buf_init(&day.state->body, SPOOL_BODY_MAX);
    series_init(&day.state->series);
    spool.name = config->targets[0].name;
    spool.max_bytes = config->targets[0].spool_bytes;
    spool.max_age_ns = config->targets[0].spool_age_ns;
    r = spool_open(&spool, &day.state->spool);
    return r == 0 ? pusher_start(program, config, &day.push.o.pusher_fd, err) : r;
}

/* Sends for @real_ns at most; @until_empty: until nothing waits. */
static int pump(uint64_t real_ns, bool until_empty)
{
    uint64_t begun_ns = clock_monotonic_ns();

    while (clock_monotonic_ns() - begun_ns < real_ns) {
        struct pollfd fd = { .fd = day.push.o.pusher_fd, .events = POLLIN };
        bool room = push_send(&day.push, day.state, clock_monotonic_ns());

        if (day.push.ready && until_empty && spool_is_empty(day.state->spool))
            return 0;
        fd.events |= room ? POLLOUT : 0;
        if (poll(&fd, 1, 10) > 0 && !push_receive(&day.push))
            return -EPIPE;
    }
    return until_empty ? -ETIMEDOUT : 0;
}

static int go(uint64_t from, uint64_t count, bool away)
{
    int r = 0;

    day.state->begin_ns = push_first_minute(day.state, DAY_NS + from * MINUTE);
    for (uint64_t i = from; i < from + count && r == 0; i++) {
        uint64_t over_ns = DAY_NS + (i + 1) * MINUTE + PUSH_SETTLE_NS + day.state->phase_ns;

        push_take_minutes(&day.push, day.state, over_ns);
        r = pump(away ? AWAY_TRIES_NS : ANSWER_NS, !away);
        day.state->retry.next_ns -= MIN(day.state->retry.next_ns, MINUTE); /* which has passed */
    }
    return r;
}

static double seconds(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_NULL;
    const struct push_status *st;
    struct spool_stats spool;
    double before;
    int r;

    if (argc != 9) {
        fprintf(stderr,
                "usage: push_day CONFIG FLAMED_PUSH HISTORY STORE NODE FROM MINUTES here|away\n");
        return 2;
    }
    r = open_push(argv, &err) ?: open_history(argv[3], &err);
    before = seconds(RUSAGE_SELF);
    if (r == 0)
        r = go(strtoul(argv[6], NULL, 10), strtoul(argv[7], NULL, 10),
               strcmp(argv[8], "away") == 0);
    if (r < 0) {
        fprintf(stderr, "push_day: %s\n", err.msg[0] ? err.msg : strerror(-r));
        return 1;
    }
    before = seconds(RUSAGE_SELF) - before;
    st = &day.state->status;
    spool_stats(day.state->spool, &spool);
    close_fd(day.push.o.pusher_fd);
    wait(NULL); /* flamed-push ends with its socket */
    printf("{\"recorded_minutes\":%llu,\"requests\":%llu,\"bytes\":%llu,\"samples\":%llu,"
           "\"failures\":%llu,\"rejected\":%llu,\"missed\":%llu,\"dropped\":%llu,\"waiting\":%llu,"
           "\"cpu\":%.6f,\"cpu_flamed_push\":%.6f,\"last_error\":\"%.60s\"}\n",
           (unsigned long long)day.minutes, (unsigned long long)st->requests,
           (unsigned long long)st->bytes, (unsigned long long)st->samples,
           (unsigned long long)st->failures, (unsigned long long)st->rejected,
           (unsigned long long)st->missed, (unsigned long long)spool.lost[SPOOL_TOO_OLD],
           (unsigned long long)spool.bodies, before, seconds(RUSAGE_CHILDREN), st->error);
    spool_close(day.state->spool);
    return 0;
}
