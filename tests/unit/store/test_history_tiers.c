/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of 10 minutes and hours contain the same as their minutes, whatever was rolled up
 * before. */
#include "history_fixture.h"

#include "store/history_impl.h"

#include <sqlite3.h>

static const struct made_jvm JVMS[] = { { 42, 1000, "shop", "work", 40, NULL },
                                        { 43, 1001, "cart", "other", 20, NULL } };
#define CPU_A_MINUTE (2 * (20 + 10))

static void put_minutes(struct history *h, uint64_t start_ns, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(put_minute(h, start_ns + i * HISTORY_MINUTE_NS, JVMS, ARRAY_SIZE(JVMS)),
                         0);
}

/* 2 h and 17 min, rolled up after each number of minutes. */
static const unsigned ROLL_EVERY[] = { 1000, 7 };

START_TEST(test_tiers_equal_minutes)
{
    struct history *h = open_history(1 << 30, 86400);
    unsigned minutes = 2 * 60 + 17;
    struct history_reach reach;

    for (unsigned i = 0; i < minutes; i++) {
        put_minutes(h, T0 + i * HISTORY_MINUTE_NS, 1);
        if ((i + 1) % ROLL_EVERY[_i] == 0)
            ck_assert_int_eq(history_roll(h, T0 + (i + 1) * HISTORY_MINUTE_NS, NULL), 0);
    }
    for (unsigned from = 0; from < minutes; from += 23) {
        for (unsigned to = from + 1; to <= minutes; to += 31) {
            struct read_sums fine = { 0 }, coarse = { 0 };

            read_range(h, T0 + from * HISTORY_MINUTE_NS, T0 + to * HISTORY_MINUTE_NS,
                       HISTORY_MINUTE_NS, &fine);
            read_range(h, T0 + from * HISTORY_MINUTE_NS, T0 + to * HISTORY_MINUTE_NS, 0, &coarse);
            ck_assert_uint_eq(fine.count[0], (to - from) * CPU_A_MINUTE);
            ck_assert_uint_eq(coarse.count[0], fine.count[0]);
            ck_assert_uint_eq(coarse.count[1], fine.count[1]);
            ck_assert_uint_eq(coarse.value[1], fine.value[1]);
        }
    }
    reach = read_range(h, T0, T0 + 2 * 60 * HISTORY_MINUTE_NS, 0, &(struct read_sums){ 0 });
    if (ROLL_EVERY[_i] < 1000) {
        ck_assert_uint_eq(reach.resolution_ns, 60 * HISTORY_MINUTE_NS);
        ck_assert_uint_eq(reach.parts, 2 * ARRAY_SIZE(JVMS));
    } else {
        ck_assert_uint_eq(reach.resolution_ns, HISTORY_MINUTE_NS);
    }
    history_close(h);
}
END_TEST

/* Minutes that come late, after the clock was set back. Their bucket is rolled up already. */
struct summing {
    size_t samples, times;
    uint64_t count, value, first_ns, last_ns;
};

static int add_up(void *cookie, struct profile *p)
{
    struct summing *s = cookie;

    for (size_t i = 0; i < p->sample_count; i++) {
        uint64_t at_ns = p->samples[i].time_ns + p->start_realtime_ns - p->start_ns;

        s->samples++;
        s->times += at_ns != s->last_ns;
        s->last_ns = at_ns;
        s->first_ns = s->first_ns ? MIN(s->first_ns, at_ns) : at_ns;
        s->count += p->samples[i].count;
        s->value += p->samples[i].value;
    }
    return 0;
}

/* Three minutes of the same stacks are read as so many samples as one. */
START_TEST(test_summed_minutes_are_as_one)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .from_ns = T0, .to_ns = T0 + 3 * HISTORY_MINUTE_NS };
    struct summing timed = { 0 }, summed = { 0 };
    struct history_reach reach;

    put_minutes(h, T0, 3);
    ck_assert_int_eq(history_read(h, &q, add_up, &timed, &reach, NULL), 0);
    q.summed = true;
    ck_assert_int_eq(history_read(h, &q, add_up, &summed, &reach, NULL), 0);
    ck_assert_uint_eq(timed.times, 3);
    ck_assert_uint_eq(summed.times, 1);
    ck_assert_uint_eq(summed.first_ns, T0);
    ck_assert_uint_eq(timed.samples, 3 * summed.samples);
    ck_assert_uint_eq(timed.count, summed.count);
    ck_assert_uint_eq(timed.value, summed.value);
    history_close(h);
}
END_TEST

static void add_time(void *cookie, const struct history_sums *s)
{
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        *(uint64_t *)cookie += s->samples[i] * s->period_ns;
}

/* A part of minutes before and after a change of recorder_hz has the CPU time of both, whichever
 * rate came first. */
START_TEST(test_sums_of_two_rates)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .from_ns = T0, .to_ns = T0 + 60 * HISTORY_MINUTE_NS };
    uint64_t fine = 0, coarse = 0;
    struct history_reach reach;

    made_period_ns = _i ? 1000 : 5000;
    put_minutes(h, T0, 25);
    made_period_ns = _i ? 5000 : 1000;
    put_minutes(h, T0 + 25 * HISTORY_MINUTE_NS, 35);
    made_period_ns = 1000;
    ck_assert_int_eq(history_roll(h, T0 + 60 * HISTORY_MINUTE_NS, NULL), 0);
    ck_assert_int_eq(history_sums(h, &q, add_time, &coarse, &reach, NULL), 0);
    ck_assert_uint_eq(reach.resolution_ns, 60 * HISTORY_MINUTE_NS);
    q.coarsest_ns = HISTORY_MINUTE_NS;
    ck_assert_int_eq(history_sums(h, &q, add_time, &fine, &reach, NULL), 0);
    ck_assert_uint_eq(reach.resolution_ns, HISTORY_MINUTE_NS);
    ck_assert_uint_eq(fine, CPU_A_MINUTE * (_i ? 25 * 1000 + 35 * 5000 : 25 * 5000 + 35 * 1000));
    ck_assert_uint_eq(coarse, fine);
    history_close(h);
}
END_TEST

START_TEST(test_minutes_that_come_late_count_once)
{
    struct history *h = open_history(1 << 30, 86400);
    struct read_sums fine = { 0 }, coarse = { 0 };

    put_minutes(h, T0, 60);
    ck_assert_int_eq(history_roll(h, T0 + 60 * HISTORY_MINUTE_NS, NULL), 0);
    put_minutes(h, T0 + 30 * HISTORY_MINUTE_NS, 15);
    read_range(h, T0, T0 + 60 * HISTORY_MINUTE_NS, 0, &coarse);
    ck_assert_uint_eq(coarse.count[0], 75 * CPU_A_MINUTE);
    ck_assert_int_eq(history_roll(h, T0 + 61 * HISTORY_MINUTE_NS, NULL), 0);
    coarse = (struct read_sums){ 0 };
    read_range(h, T0, T0 + 60 * HISTORY_MINUTE_NS, 0, &coarse);
    read_range(h, T0, T0 + 60 * HISTORY_MINUTE_NS, HISTORY_MINUTE_NS, &fine);
    ck_assert_uint_eq(coarse.count[0], 75 * CPU_A_MINUTE);
    ck_assert_uint_eq(fine.count[0], 75 * CPU_A_MINUTE);
    history_close(h);
}
END_TEST

START_TEST(test_what_is_too_old_goes)
{
    struct history *h = open_history(1 << 30, 2 * 3600);
    struct read_sums sums = { 0 };
    struct history_reach reach;
    struct history_stats stats;

    for (unsigned hour = 0; hour < 4; hour++) {
        put_minutes(h, T0 + hour * 60 * HISTORY_MINUTE_NS, 60);
        ck_assert_int_eq(history_roll(h, T0 + (hour + 1) * 60 * HISTORY_MINUTE_NS, NULL), 0);
    }
    reach = read_range(h, 0, UINT64_MAX, 0, &sums);
    ck_assert_uint_eq(reach.oldest_ns, T0 + 2 * 60 * HISTORY_MINUTE_NS);
    ck_assert_uint_eq(sums.count[0], 2 * 60 * CPU_A_MINUTE);
    history_stats(h, &stats);
    ck_assert_uint_gt(stats.dropped_by_age, 0);
    ck_assert_uint_eq(stats.dropped_by_size, 0);
    history_close(h);
}
END_TEST

/* A wrong clock must not drop data. */
START_TEST(test_no_time_drops_nothing)
{
    struct history *h = open_history(1 << 30, 3600);
    struct read_sums sums = { 0 };

    put_minutes(h, T0, 120);
    ck_assert_int_eq(history_roll(h, 0, NULL), 0);
    read_range(h, 0, UINT64_MAX, 0, &sums);
    ck_assert_uint_eq(sums.count[0], 120 * CPU_A_MINUTE);
    history_close(h);
}
END_TEST

/* An hour in which the recorder ran only for the last 7 minutes. These represent it, whatever the
 * range of the request. */
START_TEST(test_a_part_that_began_late)
{
    struct history *h = open_history(1 << 30, 86400 * 10);
    uint64_t began_ns = T0 + 53 * HISTORY_MINUTE_NS;
    struct read_sums sums = { 0 }, later = { 0 };
    struct history_reach reach;

    put_minutes(h, began_ns, 7);
    ck_assert_int_eq(history_roll(h, T0 + 61 * HISTORY_MINUTE_NS, NULL), 0);
    reach = read_range(h, 0, UINT64_MAX, 0, &sums);
    ck_assert_uint_eq(reach.from_ns, began_ns);
    ck_assert_uint_eq(reach.resolution_ns, HISTORY_MINUTE_NS);
    ck_assert_uint_eq(sums.first, began_ns);
    ck_assert_uint_eq(sums.count[0], 7 * CPU_A_MINUTE);
    reach = read_range(h, T0 + 51 * HISTORY_MINUTE_NS, UINT64_MAX, HISTORY_MINUTE_NS, &later);
    ck_assert_uint_eq(reach.from_ns, began_ns);
    ck_assert_uint_eq(reach.resolution_ns, HISTORY_MINUTE_NS);
    ck_assert_uint_eq(later.first, began_ns);
    ck_assert_uint_eq(later.count[0], 7 * CPU_A_MINUTE);
    history_close(h);
}
END_TEST

/* Too many bytes: the oldest minutes are dropped first, and their hours still answer. */
START_TEST(test_what_is_too_much_goes_tier_by_tier)
{
    struct history *h = open_history(120000, 86400 * 10);
    struct read_sums sums = { 0 }, old = { 0 };
    struct history_reach reach;
    struct history_stats stats;

    for (unsigned hour = 0; hour < 5; hour++) {
        put_minutes(h, T0 + hour * 60 * HISTORY_MINUTE_NS, 60);
        ck_assert_int_eq(history_roll(h, T0 + (hour + 1) * 60 * HISTORY_MINUTE_NS, NULL), 0);
    }
    history_stats(h, &stats);
    ck_assert_uint_gt(stats.dropped_by_size, 0);
    ck_assert_uint_gt(stats.tier_oldest_ns[0], T0);
    ck_assert_uint_eq(stats.tier_oldest_ns[2], T0);
    reach = read_range(h, 0, UINT64_MAX, 0, &sums);
    ck_assert_uint_eq(sums.count[0], 5 * 60 * CPU_A_MINUTE);
    ck_assert_uint_eq(reach.oldest_ns, T0);
    /* a range of five minutes: only the whole hour is left, and the answer says so */
    reach = read_range(h, T0 + 5 * HISTORY_MINUTE_NS, T0 + 10 * HISTORY_MINUTE_NS, 0, &old);
    ck_assert_uint_eq(reach.from_ns, T0);
    ck_assert_uint_ge(reach.resolution_ns, 10 * HISTORY_MINUTE_NS);
    history_close(h);
}
END_TEST

/* Only hours are left of three hours. Each range, in minutes, is answered by the hours around it.
 */
static const struct {
    unsigned from, to, coarsest, answered;
} OF_HOURS[] = { { 0, 180, 0, 180 },   { 0, 180, 20, 180 }, { 0, 180, 5, 180 },
                 { 50, 120, 0, 120 },  { 55, 120, 0, 120 }, { 60, 150, 0, 120 },
                 { 60, 155, 43, 120 }, { 5, 175, 43, 180 } };

START_TEST(test_parts_that_were_dropped_are_not_asked_for)
{
    struct history *h = open_history(1 << 30, 30 * 86400);

    put_minutes(h, T0, 180);
    ck_assert_int_eq(history_roll(h, T0 + 180 * HISTORY_MINUTE_NS, NULL), 0);
    ck_assert_int_eq(history_roll(h, T0 + 20 * DAY_NS, NULL), 0);
    for (size_t i = 0; i < ARRAY_SIZE(OF_HOURS); i++) {
        struct read_sums sums = { 0 };
        struct history_reach reach = read_range(h, T0 + OF_HOURS[i].from * HISTORY_MINUTE_NS,
                                                T0 + OF_HOURS[i].to * HISTORY_MINUTE_NS,
                                                OF_HOURS[i].coarsest * HISTORY_MINUTE_NS, &sums);

        ck_assert_uint_eq(sums.count[0], OF_HOURS[i].answered * CPU_A_MINUTE);
        ck_assert_uint_eq(reach.resolution_ns, 60 * HISTORY_MINUTE_NS);
    }
    history_close(h);
}
END_TEST

#define FLOOD 200 /* JVMs a minute that one container starts */

static void count_image(void *cookie, const struct history_image *image)
{
    size_t *counts = cookie;

    counts[image->container[0] != '\0']++;
}

/* A container starts JVMs without end. It loses its oldest ones, and other users lose none. */
START_TEST(test_jvms_of_a_flood_take_no_place_of_others)
{
    const uint64_t max_bytes = UINT64_C(4) << 20;
    struct history *h = open_history(max_bytes, 86400);
    struct history_image flood[FLOOD];
    struct history_query q = { .to_ns = UINT64_MAX };
    struct read_sums sums = { 0 };
    size_t counts[2] = { 0 };
    struct history_stats stats;

    for (unsigned i = 0; i < 20; i++) {
        uint64_t start_ns = T0 + i * HISTORY_MINUTE_NS;

        for (int32_t k = 0; k < FLOOD; k++) {
            flood[k] = made_image((int32_t)i * FLOOD + k + 1000, "shop");
            flood[k].container = "0123456789abcdef";
            flood[k].payer = 1;
        }
        put_minutes(h, start_ns, 1);
        put_images(h, start_ns, NULL, flood, FLOOD);
        ck_assert_int_eq(history_roll(h, start_ns + HISTORY_MINUTE_NS, NULL), 0);
    }
    ck_assert_int_eq(history_images(h, &q, count_image, counts, NULL), 0);
    ck_assert_uint_ge(counts[1], FLOOD); /* the last minute's */
    ck_assert_uint_le(counts[0] + counts[1], max_bytes / 8192);
    read_range(h, 0, UINT64_MAX, 0, &sums);
    ck_assert_uint_eq(sums.count[0], 20 * CPU_A_MINUTE);
    history_stats(h, &stats);
    ck_assert_uint_eq(stats.images_dropped, 20 * FLOOD - counts[1]);
    ck_assert_uint_le(stats.bytes, max_bytes);
    history_close(h);
}
END_TEST

/* Which JVMs the history has, by pid. */
struct kept {
    bool has[40000];
    size_t count;
};

static void see_kept(void *cookie, const struct history_image *image)
{
    struct kept *kept = cookie;

    kept->has[image->host_pid] = true;
    kept->count++;
}

static struct kept *kept_of(struct history *h)
{
    static struct kept kept;
    struct history_query q = { .to_ns = UINT64_MAX };

    kept = (struct kept){ 0 };
    ck_assert_int_eq(history_images(h, &q, see_kept, &kept, NULL), 0);
    return &kept;
}

#define KEPT_32 (32 * 8192) /* bytes of a file that has room for 32 JVMs */

/* Each container has one JVM. Those go that were seen last the longest ago. */
START_TEST(test_of_payers_with_one_jvm_the_oldest_goes)
{
    struct history *h = open_history(KEPT_32, 86400);
    const struct kept *kept;
    char ids[2][65];

    for (int32_t i = 1; i <= 40; i++) {
        struct history_image images[] = { made_image(i, "shop"), made_image(1, "shop") };

        images[0].payer = (uint64_t)(i * 7919 % 97);
        images[1].payer = 7919 % 97; /* the first one runs on */
        for (size_t k = 0; k < ARRAY_SIZE(images); k++) {
            snprintf(ids[k], sizeof(ids[k]), "%064x", (unsigned)images[k].payer);
            images[k].container = ids[k];
        }
        put_images(h, T0 + (uint64_t)i * HISTORY_MINUTE_NS, NULL, images, i > 1 ? 2 : 1);
    }
    ck_assert_int_eq(history_roll(h, T0 + 41 * HISTORY_MINUTE_NS, NULL), 0);
    kept = kept_of(h);
    ck_assert_uint_eq(kept->count, 32);
    ck_assert(kept->has[1]);
    for (int32_t i = 2; i <= 40; i++)
        ck_assert_int_eq(kept->has[i], i > 9);
    history_close(h);
}
END_TEST

/* A container forges another id for each JVM. It alone loses JVMs, and keeps those that run. */
START_TEST(test_forged_containers_take_no_place_of_others)
{
    static struct history_image images[3600];
    static char ids[ARRAY_SIZE(images)][65];
    struct history *h = open_history(3200 * 8192, 86400);
    const struct kept *kept;
    size_t honest = 0;

    for (int32_t i = 0; i < (int32_t)ARRAY_SIZE(images); i++) {
        images[i] = made_image(i + 1, "shop");
        images[i].payer = i < 300 ? 1 : i < 400 ? 2 : 3;
        if (i >= 300) {
            snprintf(ids[i], sizeof(ids[i]), "%064x", i < 400 ? 0xcU : (unsigned)i);
            images[i].container = ids[i];
        }
        if (i >= 401) /* ended after the others of this minute were seen */
            images[i].ended_ns = T0 + HISTORY_MINUTE_NS + 20 * NSEC_PER_SEC + (uint64_t)i;
    }
    put_images(h, T0, NULL, images, ARRAY_SIZE(images));
    ck_assert_int_eq(history_roll(h, T0 + HISTORY_MINUTE_NS, NULL), 0);
    kept = kept_of(h);
    ck_assert_uint_le(kept->count, 3200);
    for (size_t i = 1; i <= 400; i++)
        honest += kept->has[i];
    ck_assert_uint_eq(honest, 400);
    ck_assert(kept->has[401]);
    history_close(h);
}
END_TEST

/* Thousands of containers with one JVM each, in a full file. */
START_TEST(test_a_full_history_drops_in_little_time)
{
    static struct history_image images[33000];
    static char ids[ARRAY_SIZE(images)][65];
    struct history *h = open_history(1 << 30, 86400);
    uint64_t began_ns;
    struct history_stats stats;

    for (int32_t i = 0; i < (int32_t)ARRAY_SIZE(images); i++) {
        images[i] = made_image(i + 1, "shop");
        images[i].payer = (uint64_t)i + 1;
        snprintf(ids[i], sizeof(ids[i]), "%064x", (unsigned)i * 2654435761U);
        images[i].container = ids[i];
    }
    put_images(h, T0, NULL, images, 1000);
    put_images(h, T0 + HISTORY_MINUTE_NS, NULL, images + 1000, ARRAY_SIZE(images) - 1000);
    began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    ck_assert_int_eq(history_roll(h, T0 + 2 * HISTORY_MINUTE_NS, NULL), 0);
    ck_assert_uint_lt(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns, 2 * NSEC_PER_SEC);
    ck_assert_uint_le(kept_of(h)->count, HISTORY_IMAGES_KEPT);
    ck_assert(!kept_of(h)->has[1] && kept_of(h)->has[ARRAY_SIZE(images)]);
    history_stats(h, &stats);
    ck_assert_uint_eq(stats.images_dropped, ARRAY_SIZE(images) - kept_of(h)->count);
    history_close(h);
}
END_TEST

/* JVMs claim the service of thousands of JVMs of another user. Each is compared with the last one
 * of its own user, which takes no time. */
START_TEST(test_many_of_another_user_cost_no_time)
{
    static struct history_image many[16000];
    struct history *h = open_history(1 << 30, 86400);
    uint64_t began_ns;

    for (int32_t i = 0; i < (int32_t)ARRAY_SIZE(many); i++) {
        many[i] = made_image(i + 1000, "shop");
        many[i].java = "17";
        many[i].flags = 1;
        many[i].started_ns = T0 + (uint64_t)i;
    }
    put_images(h, T0, NULL, many, ARRAY_SIZE(many));
    for (uint32_t i = 0; i < 1000; i++) {
        many[i].host_pid += 50000;
        many[i].owner = 5000 + i;
    }
    began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    put_images(h, T0 + HISTORY_MINUTE_NS, NULL, many, 1000);
    ck_assert_uint_lt(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns, 2 * NSEC_PER_SEC);
    history_close(h);
}
END_TEST

static void sql_on_history(const char *sql)
{
    char path[512];
    sqlite3 *db;

    snprintf(path, sizeof(path), "%s/flamed-history.db", dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* A minute with damaged bytes, before its hour is rolled up. Each answer counts it, and the hour
 * contains the other minutes once. */
START_TEST(test_a_damaged_part_is_counted_in_its_hour)
{
    struct history *h = open_history(1 << 30, 86400);

    put_minutes(h, T0, 60);
    history_close(h);
    sql_on_history("UPDATE parts SET body = substr(body, 1, length(body) / 2) WHERE n IN"
                   " (SELECT n FROM parts ORDER BY start_ns, n LIMIT 1)");
    h = open_history(1 << 30, 86400);
    for (unsigned round = 0; round < 2; round++) {
        struct read_sums fine = { 0 }, coarse = { 0 };
        struct history_reach reach;

        ck_assert_int_eq(history_roll(h, T0 + 60 * HISTORY_MINUTE_NS, NULL), 0);
        reach = read_range(h, T0, T0 + 60 * HISTORY_MINUTE_NS, 0, &coarse);
        ck_assert_uint_eq(reach.resolution_ns, 60 * HISTORY_MINUTE_NS);
        ck_assert_uint_eq(reach.damaged, 1);
        reach = read_range(h, T0, T0 + 60 * HISTORY_MINUTE_NS, HISTORY_MINUTE_NS, &fine);
        ck_assert_uint_eq(reach.damaged, 1);
        ck_assert_uint_lt(coarse.count[0], 60 * CPU_A_MINUTE);
        ck_assert_uint_eq(coarse.count[0], fine.count[0]);
    }
    history_close(h);
}
END_TEST

static uint64_t number(struct history *h, const char *sql)
{
    uint64_t ret = 0;

    ck_assert_int_eq(store_number(h->store, sql, &ret, NULL), 0);
    return ret;
}

/* SQLite can neither change nor drop the parts of one minute, as if their page was damaged. All
 * others are rolled up, and dropped when they are old. */
START_TEST(test_a_part_that_cannot_be_changed)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_stats stats;
    char sql[256];

    put_minutes(h, T0, 180);
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof(sql),
                 "CREATE TEMP TRIGGER broken%d BEFORE %s ON parts WHEN old.tier = 0 AND"
                 " old.start_ns = %llu BEGIN SELECT RAISE(FAIL, 'broken'); END",
                 i, i ? "DELETE" : "UPDATE",
                 (unsigned long long)T0 + 5 * (unsigned long long)HISTORY_MINUTE_NS);
        ck_assert_int_eq(sqlite3_exec(h->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    ck_assert_int_lt(history_roll(h, T0 + 180 * HISTORY_MINUTE_NS, NULL), 0);
    ck_assert_uint_eq(number(h, "SELECT count(*) FROM parts WHERE tier = 1"),
                      17 * ARRAY_SIZE(JVMS));
    ck_assert_uint_eq(number(h, "SELECT count(*) FROM parts WHERE tier = 2"), 3 * ARRAY_SIZE(JVMS));
    ck_assert_int_lt(history_roll(h, T0 + 86400 * NSEC_PER_SEC + 180 * HISTORY_MINUTE_NS, NULL), 0);
    ck_assert_uint_eq(number(h, "SELECT count(*) FROM parts WHERE tier = 0"), ARRAY_SIZE(JVMS));
    history_stats(h, &stats);
    ck_assert_uint_ge(stats.dropped_by_age, 179 * ARRAY_SIZE(JVMS));
    history_close(h);
}
END_TEST

/* The oldest parts of each tier cannot be dropped: later ones are, until the file is small enough.
 */
START_TEST(test_old_parts_that_stay_keep_no_others)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_stats stats;
    char sql[200];

    put_minutes(h, T0, 180);
    ck_assert_int_eq(history_roll(h, T0 + 180 * HISTORY_MINUTE_NS, NULL), 0);
    snprintf(sql, sizeof(sql),
             "CREATE TEMP TRIGGER stays BEFORE DELETE ON parts WHEN old.start_ns < %llu"
             " BEGIN SELECT RAISE(FAIL, 'broken'); END",
             (unsigned long long)T0 + 60 * (unsigned long long)HISTORY_MINUTE_NS);
    ck_assert_int_eq(sqlite3_exec(h->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    h->store->opts.max_bytes = 1;
    history_roll(h, T0 + 180 * HISTORY_MINUTE_NS, NULL);
    ck_assert_uint_eq(number(h, "SELECT count(*) FROM parts WHERE tier = 0 AND rolled = 1"),
                      60 * ARRAY_SIZE(JVMS));
    history_stats(h, &stats);
    ck_assert_uint_ge(stats.dropped_by_size, 120 * ARRAY_SIZE(JVMS));
    history_close(h);
}
END_TEST

/* Nothing of one tier can be dropped: the others are, until the file is small enough. */
START_TEST(test_a_tier_that_stays_keeps_no_others)
{
    struct history *h = open_history(1 << 30, 86400);
    char sql[200];

    put_minutes(h, T0, 180);
    ck_assert_int_eq(history_roll(h, T0 + 180 * HISTORY_MINUTE_NS, NULL), 0);
    snprintf(sql, sizeof(sql),
             "CREATE TEMP TRIGGER stays BEFORE DELETE ON parts WHEN old.tier = %d"
             " BEGIN SELECT RAISE(FAIL, 'broken'); END",
             _i);
    ck_assert_int_eq(sqlite3_exec(h->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
    h->store->opts.max_bytes = 1;
    ck_assert_int_eq(history_roll(h, T0 + 180 * HISTORY_MINUTE_NS, NULL), 0);
    for (int tier = 0; tier < HISTORY_TIERS; tier++) {
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM parts WHERE tier = %d", tier);
        ck_assert_int_eq(number(h, sql) > 0, tier == _i);
    }
    history_close(h);
}
END_TEST

static int stop_sqlite(void *unused)
{
    (void)unused;
    return 1;
}

/* An error of SQLite while it reads is no end of the rows. */
START_TEST(test_an_error_is_no_short_answer)
{
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history_reach reach;
    struct history_stats stats;
    uint64_t left_out;

    put_minutes(h, T0, 3);
    sqlite3_progress_handler(h->store->db, 1, stop_sqlite, NULL);
    ck_assert_int_lt(history_sums(h, &q, NULL, NULL, &reach, NULL), 0);
    ck_assert_int_lt(history_marks(h, &q, NULL, NULL, &left_out, NULL), 0);
    ck_assert_int_lt(history_roll(h, T0 + 60 * HISTORY_MINUTE_NS, NULL), 0);
    sqlite3_progress_handler(h->store->db, 0, NULL, NULL);
    ck_assert_int_eq(history_roll(h, T0 + 60 * HISTORY_MINUTE_NS, NULL), 0);
    /* the end of the last minute cannot be read */
    ck_assert_int_eq(sqlite3_exec(h->store->db,
                                  "CREATE TEMP VIEW minutes AS SELECT start_ns, lost,"
                                  " abs(-9223372036854775807 - 1) AS end_ns FROM main.minutes",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    ck_assert_int_lt(history_read(h, &q, NULL, NULL, &reach, NULL), 0);
    ck_assert_int_lt(history_roll(h, 0, NULL), 0);
    history_stats(h, &stats);
    ck_assert_uint_eq(stats.newest_ns, T0 + 3 * HISTORY_MINUTE_NS);
    history_close(h);
}
END_TEST

/* Puts a minute with pauses and throttling of a JVM. */
static void put_stopped(struct history *h, uint64_t start_ns, int32_t pid,
                        const struct history_stopped *stopped)
{
    struct profile *slice = make_slice(start_ns, JVMS, ARRAY_SIZE(JVMS));
    struct history_image image = made_image(pid, "shop");

    image.stopped = *stopped;
    put_images(h, start_ns, slice, &image, 1);
}

struct stopped_sums {
    unsigned minutes;
    struct history_stopped sum;
};

static void add_stopped(void *cookie, int32_t host_pid, uint64_t start_ns,
                        const struct history_stopped *stopped)
{
    struct stopped_sums *sums = cookie;

    ck_assert_int_eq(host_pid, 42);
    ck_assert_uint_eq(start_ns % HISTORY_MINUTE_NS, 0);
    sums->minutes++;
    sums->sum.pauses += stopped->pauses;
    sums->sum.pause_ns += stopped->pause_ns;
    sums->sum.throttled_ns += stopped->throttled_ns;
}

static struct stopped_sums stopped_within(struct history *h, uint64_t from_ns, uint64_t to_ns)
{
    struct history_query q = { .from_ns = from_ns, .to_ns = to_ns };
    struct stopped_sums sums = { 0 };

    ck_assert_int_eq(history_stops(h, &q, 1000, add_stopped, &sums, NULL), 0);
    return sums;
}

/* Pauses and throttling are kept per minute, for as long as parts of ten minutes. */
START_TEST(test_stops_are_kept_by_minute)
{
    static const struct history_stopped STOPPED = { 3, 500, 7000 };
    static const struct history_query ALL = { .to_ns = UINT64_MAX };
    struct history *h = open_history(1 << 30, 2 * 3600);
    struct stopped_sums sums;

    for (unsigned i = 0; i < 60; i++)
        put_stopped(h, T0 + i * HISTORY_MINUTE_NS, 42,
                    i % 2 ? &STOPPED : &(struct history_stopped){ 0 });
    put_stopped(h, T0 + HISTORY_MINUTE_NS, 42, &STOPPED); /* after the clock was set back */
    ck_assert_int_eq(history_roll(h, T0 + 60 * HISTORY_MINUTE_NS, NULL), 0);
    sums = stopped_within(h, T0, T0 + 10 * HISTORY_MINUTE_NS);
    ck_assert_uint_eq(sums.minutes, 5);
    ck_assert_uint_eq(sums.sum.pauses, 6 * 3);
    ck_assert_uint_eq(sums.sum.pause_ns, 6 * 500);
    ck_assert_uint_eq(sums.sum.throttled_ns, 6 * 7000);
    ck_assert_uint_eq(stopped_within(h, 0, UINT64_MAX).minutes, 30);
    ck_assert_int_eq(history_stops(h, &ALL, 30, add_stopped, &sums, NULL), 0);
    sums = (struct stopped_sums){ 0 };
    ck_assert_int_eq(history_stops(h, &ALL, 29, add_stopped, &sums, NULL), 1);
    ck_assert_uint_eq(sums.minutes, 29);
    put_minutes(h, T0 + 180 * HISTORY_MINUTE_NS, 1);
    ck_assert_int_eq(history_roll(h, T0 + 181 * HISTORY_MINUTE_NS, NULL), 0);
    ck_assert_uint_eq(stopped_within(h, 0, UINT64_MAX).minutes, 0);
    history_close(h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_tiers");

    tcase_add_loop_test(tc, test_tiers_equal_minutes, 0, ARRAY_SIZE(ROLL_EVERY));
    tcase_add_test(tc, test_summed_minutes_are_as_one);
    tcase_add_loop_test(tc, test_sums_of_two_rates, 0, 2);
    tcase_add_test(tc, test_minutes_that_come_late_count_once);
    tcase_add_test(tc, test_what_is_too_old_goes);
    tcase_add_test(tc, test_no_time_drops_nothing);
    tcase_add_test(tc, test_a_part_that_began_late);
    tcase_add_test(tc, test_what_is_too_much_goes_tier_by_tier);
    tcase_add_test(tc, test_parts_that_were_dropped_are_not_asked_for);
    tcase_add_test(tc, test_jvms_of_a_flood_take_no_place_of_others);
    tcase_add_test(tc, test_of_payers_with_one_jvm_the_oldest_goes);
    tcase_add_test(tc, test_forged_containers_take_no_place_of_others);
    tcase_add_test(tc, test_a_full_history_drops_in_little_time);
    tcase_add_test(tc, test_many_of_another_user_cost_no_time);
    tcase_add_test(tc, test_stops_are_kept_by_minute);
    tcase_add_test(tc, test_a_damaged_part_is_counted_in_its_hour);
    tcase_add_test(tc, test_a_part_that_cannot_be_changed);
    tcase_add_test(tc, test_old_parts_that_stay_keep_no_others);
    tcase_add_loop_test(tc, test_a_tier_that_stays_keeps_no_others, 0, HISTORY_TIERS);
    tcase_add_test(tc, test_an_error_is_no_short_answer);
    return run_store_tests("history_tiers", tc);
}
