/* SPDX-License-Identifier: Apache-2.0 */
/* Minutes put into the history are read back: merged by pool, state and stack, of the wanted
 * processes. */
#include "base/shares.h"
#include "base/text.h"
#include "history_fixture.h"

#include "store/history_impl.h"
#include "store/history_tally.h"

#include <signal.h>
#include <sys/resource.h>

static const struct made_jvm SHOP[] = { { 42, 1000, "shop", "work", 40, NULL },
                                        { 43, 1001, "cart", "other", 20, NULL },
                                        { 50, 1000, NULL, "c", 10, NULL },
                                        { 51, 1001, NULL, "c", 10, NULL } };

START_TEST(test_sums_are_those_of_the_slices)
{
    struct history *h = open_history(1 << 30, 86400);
    struct read_sums sums = { 0 };
    struct history_reach reach;

    ck_assert_int_eq(put_minute(h, T0, SHOP, ARRAY_SIZE(SHOP)), 0);
    reach = read_range(h, 0, UINT64_MAX, 0, &sums);
    /* each slice has 40 samples; every other one has count 2; those with count 1 are cpu */
    ck_assert_uint_eq(sums.count[0], 2 * (20 + 10 + 5 + 5));
    ck_assert_uint_eq(sums.count[1], 2 * 2 * (20 + 10 + 5 + 5));
    ck_assert_uint_eq(sums.value[1], 2 * (20 * 5000 + 400 + 10 * 5000 + 100 + 2 * (5 * 5000 + 25)));
    ck_assert_uint_eq(sums.first, T0);
    ck_assert_uint_eq(reach.from_ns, T0);
    ck_assert_uint_eq(reach.to_ns, T0 + HISTORY_MINUTE_NS);
    ck_assert_uint_eq(reach.covered_ns, HISTORY_MINUTE_NS);
    ck_assert_uint_eq(reach.resolution_ns, HISTORY_MINUTE_NS);
    ck_assert_uint_eq(reach.parts, 4);
    history_close(h);
}
END_TEST

static bool wants_shop(void *cookie, const struct history_image *image)
{
    (void)cookie;
    return strcmp(image->service, "shop") == 0;
}

static int see_shop(void *cookie, struct profile *p)
{
    int *threads = cookie;

    ck_assert_uint_eq(p->process_count, 1);
    ck_assert_int_eq(p->processes[0].host_pid, 42);
    ck_assert_uint_eq(p->processes[0].owner, 1000);
    for (size_t i = 0; i < p->thread_count; i++) {
        struct span name = intern_get(p->strings, p->threads[i].name);

        ck_assert(span_eq_str(name, "exec-*") || span_eq_str(name, "main"));
        ck_assert_int_lt(p->threads[i].host_tid, 0);
    }
    *threads = (int)p->thread_count;
    return 0;
}

#define ATTRIBUTES                                                                                 \
    "service.namespace=retail\nservice.instance.id=a-1\ndeployment.environment.name=prod\n"        \
    "k8s.pod.uid=b-2\nk8s.container.name=web\n"

static int see_version(void *cookie, struct profile *p)
{
    const struct profile_process *process = &p->processes[0];

    ck_assert_uint_eq(p->process_count, 1);
    ck_assert_int_eq(process->host_pid, 42);
    ck_assert(span_eq_str(intern_get(p->strings, process->version), "2.4"));
    ck_assert_uint_eq(process->payer, 77);
    ck_assert(span_eq_str(intern_get(p->strings, process->attributes), ATTRIBUTES));
    (*(int *)cookie)++;
    return 0;
}

START_TEST(test_samples_have_the_attributes_of_their_image)
{
    struct history *h = open_history(1 << 30, 86400);
    struct profile *slice = make_slice(T0, SHOP, 1);
    const struct history_image images[] = {
        { .host_pid = 42, .start_ticks = 6, .version = "2.3", .environment = "prod" },
        { .host_pid = 42, .start_ticks = 7, .version = "2.4", .environment = "prod" },
    };
    struct history_query q = { .to_ns = UINT64_MAX };
    struct history_reach reach;
    int seen = 0;

    for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
        struct history_image image = images[i];
        struct history_minute m = { .start_ns = T0 + i * HISTORY_MINUTE_NS,
                                    .end_ns = T0 + (i + 1) * HISTORY_MINUTE_NS,
                                    .slices = &slice,
                                    .slice_count = i,
                                    .images = &image,
                                    .image_count = 1 };

        image.owner = 1000;
        image.payer = 77;
        image.name = "Main";
        image.service = "shop";
        image.container = image.pod = image.pod_namespace = image.java = "";
        image.attributes = i ? ATTRIBUTES : "service.namespace=old\n";
        ck_assert_int_eq(history_put(h, &m, NULL), 0);
    }
    ck_assert_int_eq(history_read(h, &q, see_version, &seen, &reach, NULL), 0);
    ck_assert_int_eq(seen, 1);
    ck_assert_uint_eq(reach.texts_left_out, 0);
    profile_unref(slice);
    history_close(h);
}
END_TEST

/* The JVM ended before its minute did: the minute has no image of it. */
START_TEST(test_a_jvm_that_is_gone_has_the_attributes_of_its_samples)
{
    struct history *h = open_history(1 << 30, 86400);
    struct profile *slice = make_slice(T0, SHOP, 1);
    struct history_minute m = {
        .start_ns = T0, .end_ns = T0 + HISTORY_MINUTE_NS, .slices = &slice, .slice_count = 1
    };
    struct history_query q = { .to_ns = UINT64_MAX };
    struct history_reach reach;
    int seen = 0;

    slice->processes[0].payer = 77;
    intern_add(slice->strings, SPAN("2.4"), &slice->processes[0].version);
    intern_add(slice->strings, SPAN(ATTRIBUTES), &slice->processes[0].attributes);
    ck_assert_int_eq(history_put(h, &m, NULL), 0);
    ck_assert_int_eq(history_read(h, &q, see_version, &seen, &reach, NULL), 0);
    ck_assert_int_eq(seen, 1);
    profile_unref(slice);
    history_close(h);
}
END_TEST

static void see_environment(void *cookie, const struct history_image *image)
{
    ck_assert_str_eq(image->environment, "prod");
    ck_assert_str_eq(image->attributes, "deployment.environment.name=prod\n");
    (*(int *)cookie)++;
}

START_TEST(test_an_older_file_has_the_environment)
{
    static const char BACK[] = "UPDATE images SET environment = 'prod';"
                               "ALTER TABLE images DROP COLUMN attributes;"
                               "ALTER TABLE images DROP COLUMN payer;"
                               "ALTER TABLE images DROP COLUMN options;"
                               "DROP TABLE stops; DROP INDEX images_by_place;"
                               "CREATE INDEX images_by_service ON images(service, started_ns);"
                               "ALTER TABLE marks DROP COLUMN value; PRAGMA user_version = 1";
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX };
    char path[512], problem[256];
    sqlite3 *db;
    int seen = 0;

    ck_assert_int_eq(put_minute(h, T0, SHOP, 1), 0);
    history_close(h);
    snprintf(path, sizeof(path), "%s/flamed-history.db", dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, BACK, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    h = open_history(1 << 30, 86400);
    history_problem(h, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    ck_assert_int_eq(history_images(h, &q, see_environment, &seen, NULL), 0);
    ck_assert_int_eq(seen, 1);
    ck_assert_int_eq(put_minute(h, T0 + HISTORY_MINUTE_NS, SHOP, 1), 0);
    history_close(h);
}
END_TEST

START_TEST(test_texts_without_room_are_counted)
{
    struct history_image image = {
        .host_pid = 42, .start_ticks = 7, .version = "2.4", .attributes = ATTRIBUTES
    };
    struct image_list list = { .items = &image, .count = 1 };
    struct profile *p = make_slice(T0, SHOP, 1);

    intern_free(p->strings);
    ck_assert_int_eq(intern_new(16, &p->strings), 0);
    ck_assert_int_eq(image_list_describe(&list, p), 0);
    ck_assert(span_eq_str(intern_get(p->strings, p->processes[0].version), "2.4"));
    ck_assert_uint_eq(p->processes[0].attributes, 0);
    ck_assert_uint_eq(list.texts_left_out, 1);
    free(list.by_process);
    profile_unref(p);
}
END_TEST

START_TEST(test_only_what_is_wanted_is_read)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX, .wants = wants_shop };
    struct history_reach reach;
    int threads = 0;

    ck_assert_int_eq(put_minute(h, T0, SHOP, ARRAY_SIZE(SHOP)), 0);
    ck_assert_int_eq(history_read(h, &q, see_shop, &threads, &reach, NULL), 0);
    ck_assert_int_eq(threads, 2);
    ck_assert_uint_eq(reach.parts, 1);
    history_close(h);
}
END_TEST

static int see_owners(void *cookie, struct profile *p)
{
    unsigned *seen = cookie;

    for (size_t i = 0; i < p->process_count; i++) {
        ck_assert_int_eq(p->processes[i].host_pid, 0);
        ck_assert(span_eq_str(intern_get(p->strings, p->processes[i].name), "cc1"));
        *seen |= 1u << (p->processes[i].owner - 1000);
    }
    return 0;
}

static bool wants_others(void *cookie, const struct history_image *image)
{
    (void)cookie;
    return image->host_pid == 0;
}

START_TEST(test_others_stay_apart_by_owner)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX, .wants = wants_others };
    struct history_reach reach;
    unsigned seen = 0;

    ck_assert_int_eq(put_minute(h, T0, SHOP, ARRAY_SIZE(SHOP)), 0);
    ck_assert_int_eq(history_read(h, &q, see_owners, &seen, &reach, NULL), 0);
    ck_assert_uint_eq(seen, 3);
    history_close(h);
}
END_TEST

/* ---- services ---- */

struct seen_marks {
    struct history *asks; /* asked again for each mark: the store is not locked then */
    int count;
    enum history_mark_kind kind;
    uint64_t time_ns;
    char text[512];
};

static void see_mark(void *cookie, const struct history_mark *m)
{
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct seen_marks *seen = cookie, again = { .count = 0 };
    uint64_t left_out;

    if (seen->asks)
        ck_assert_int_eq(history_marks(seen->asks, &q, see_mark, &again, &left_out, NULL), 0);
    seen->count++;
    seen->kind = m->kind;
    seen->time_ns = m->time_ns;
    snprintf(seen->text, sizeof(seen->text), "%s", m->text);
}

static void put_image(struct history *h, uint64_t start_ns, int32_t pid, uint32_t owner,
                      const char *version, const char *java, int64_t jump_ns)
{
    struct history_image image = made_image(pid, "shop");
    struct history_minute m = { .start_ns = start_ns,
                                .end_ns = start_ns + HISTORY_MINUTE_NS,
                                .images = &image,
                                .image_count = 1,
                                .jump_ns = jump_ns };

    image.start_ticks = 9;
    image.owner = owner;
    image.version = version;
    image.java = java;
    image.flags = 5;
    image.started_ns = start_ns + 1;
    ck_assert_int_eq(history_put(h, &m, NULL), 0);
}

static void see_image(void *cookie, const struct history_image *image)
{
    int *count = cookie;

    ck_assert_str_eq(image->service, "shop");
    (*count)++;
}

START_TEST(test_another_release_is_a_mark)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX };
    struct seen_marks seen = { 0 };
    uint64_t left_out;
    int images = 0;

    put_image(h, T0, 1, 1000, "1.0", "17.0.15", 0);
    put_image(h, T0 + HISTORY_MINUTE_NS, 2, 1000, "1.0", "17.0.15", 0); /* the same again */
    put_image(h, T0 + HISTORY_MINUTE_NS, 3, 1001, "9.9", "8", 0);       /* another user's JVM */
    put_image(h, T0 + 2 * HISTORY_MINUTE_NS, 4, 1000, "1.1", "17.0.15", 0);
    put_image(h, T0 + 3 * HISTORY_MINUTE_NS, 4, 1000, "1.1", "17.0.15", 0); /* it runs on */
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(seen.kind, HISTORY_MARK_DEPLOY);
    ck_assert_uint_eq(seen.time_ns, T0 + 2 * HISTORY_MINUTE_NS + 1);
    ck_assert_str_eq(seen.text, "shop was started again: version 1.1 after 1.0.");
    ck_assert_int_eq(history_images(h, &q, see_image, &images, NULL), 0);
    ck_assert_int_eq(images, 4);
    history_close(h);
}
END_TEST

/* flamed sees the JVM of the new release first. */
START_TEST(test_an_older_jvm_is_no_release)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX };
    struct seen_marks seen = { 0 };
    uint64_t left_out;

    for (int i = 0; i < 2; i++) {
        struct history_image image = made_image(2 - i, "shop");

        image.version = i ? "1.0" : "2.0";
        image.java = "17";
        image.started_ns = T0 + (uint64_t)(60 - 50 * i) * NSEC_PER_SEC;
        put_images(h, T0 + 2 * HISTORY_MINUTE_NS, NULL, &image, 1);
    }
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 0);
    history_close(h);
}
END_TEST

/* A JVM starts at the end of a minute, and names its version in the next one. */
START_TEST(test_versions_of_two_sources_are_no_release)
{
    static const struct {
        const char *version, *attributes;
        int marks;
    } STARTS[] = {
        { "2.0", "", 0 },
        { "prod-7", "container.name=a\n" HISTORY_VERSION_SOURCE "image\n", 0 },
        { "prod-8", "container.name=a\n" HISTORY_VERSION_SOURCE "image\n", 1 },
        { "2.1", "container.name=a\n", 1 },
    };
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    uint64_t left_out;

    for (int i = 0; i < (int)ARRAY_SIZE(STARTS); i++) {
        struct history_image image = made_image(i + 1, "shop");
        struct seen_marks seen = { 0 };

        image.pod = image.pod_namespace = "shop"; /* of one place */
        image.version = STARTS[i].version;
        image.attributes = STARTS[i].attributes;
        image.java = "21";
        image.started_ns = T0 + (uint64_t)(i + 1) * HISTORY_MINUTE_NS;
        put_images(h, image.started_ns, NULL, &image, 1);
        ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
        ck_assert_msg(seen.count == STARTS[i].marks, "%d: %s", i, seen.text);
    }
    history_close(h);
}
END_TEST

/* The same version from another jar is a release, too. A jar is compared if it is known of both. */
START_TEST(test_another_jar_is_a_release)
{
    static const struct {
        const char *version, *attributes, *mark; /* mark: its last one; NULL: no new mark */
    } STARTS[] = {
        { "1.0", "", NULL },
        { "1.0", HISTORY_JAR "00000000000000aa app.jar\n", NULL },
        { "1.0", HISTORY_JAR "00000000000000aa app.jar\n", NULL },
        { "1.0", HISTORY_JAR "00000000000000bb app.jar\n",
          "shop was started again: another app.jar." },
        { "1.0", HISTORY_JAR "00000000000000cc new.jar\n",
          "shop was started again: new.jar after app.jar." },
        { "1.1", HISTORY_JAR "00000000000000dd new.jar\n",
          "shop was started again: version 1.1 after 1.0." },
    };
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    uint64_t left_out;
    int marks = 0;

    for (int i = 0; i < (int)ARRAY_SIZE(STARTS); i++) {
        struct history_image image = made_image(i + 1, "shop");
        struct seen_marks seen = { 0 };

        image.pod = image.pod_namespace = "shop"; /* of one place */
        image.version = STARTS[i].version;
        image.attributes = STARTS[i].attributes;
        image.java = "21";
        image.started_ns = T0 + (uint64_t)(i + 1) * HISTORY_MINUTE_NS;
        put_images(h, image.started_ns, NULL, &image, 1);
        ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
        marks += STARTS[i].mark != NULL;
        ck_assert_msg(seen.count == marks, "%d: %s", i, seen.text);
        if (STARTS[i].mark)
            ck_assert_str_eq(seen.text, STARTS[i].mark);
    }
    history_close(h);
}
END_TEST

/* Versions are cut in the sentence, but within no character: JSON would refuse the mark. */
START_TEST(test_a_long_version_stays_text)
{
#define V59 "12345678901234567890123456789012345678901234567890123456789"
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX };
    struct seen_marks seen = { 0 };
    uint64_t left_out;

    put_image(h, T0, 1, 1000, "1.0", "17.0.15", 0);
    put_image(h, T0 + HISTORY_MINUTE_NS, 2, 1000, V59 "\xc3\xa9", "17.0.15", 0);
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert(text_is_utf8(span_of(seen.text)));
    ck_assert_msg(strstr(seen.text, "version 1234567890") && strstr(seen.text, " after 1.0"), "%s",
                  seen.text);
    history_close(h);
}
END_TEST

static bool is_of_pid_2(void *cookie, const struct history_image *image)
{
    (void)cookie;
    return image->host_pid == 2;
}

/* Many marks of other JVMs before its own hide none. Those beyond the limit are counted. */
START_TEST(test_marks_of_others_take_no_place)
{
    static const char MANY[] =
        "WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE"
        " n < 100000) INSERT INTO marks(time_ns, kind, image, text)"
        " SELECT (SELECT min(time_ns) FROM marks) - k.n, 0, images.n, 'old'"
        " FROM k, images WHERE pid = 1";
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX, .wants = is_of_pid_2 };
    struct seen_marks seen = { 0 };
    uint64_t left_out;
    char path[512];
    sqlite3 *db;

    put_image(h, T0, 1, 1000, "1.0", "17.0.15", 0);
    put_image(h, T0 + HISTORY_MINUTE_NS, 2, 1000, "1.1", "17.0.15", 0);
    history_close(h);
    snprintf(path, sizeof(path), "%s/flamed-history.db", dir);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, MANY, NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_changes(db), 100000);
    sqlite3_close(db);
    h = open_history(1 << 30, 86400);
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_str_eq(seen.text, "shop was started again: version 1.1 after 1.0.");
    q.wants = NULL;
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, HISTORY_MARKS_MAX + 1); /* one of the first request */
    ck_assert_uint_eq(left_out, 1);
    history_close(h);
}
END_TEST

/* The name of a service is the JVM's own claim: what another container claims is no release. */
START_TEST(test_only_the_same_place_has_releases)
{
    static const struct {
        const char *container[2], *pod[2], *pod_namespace[2], *attributes[2];
        int marks;
        uint64_t payer[2]; /* 0: 7 for both */
    } CASES[] = {
        { { "aa", "bb" }, { "", "" }, { "", "" }, { "", "" }, 0, { 0 } },
        /* another container made a cgroup with that id */
        { { "aa", "aa" }, { "", "" }, { "", "" }, { "", "" }, 0, { 7, 8 } },
        { { "aa", "aa" }, { "", "" }, { "", "" }, { "", "" }, 0, { 7, 0 } },
        { { "aa", "aa" }, { "", "" }, { "", "" }, { "", "" }, 0, { OWNER_FOREIGN, OWNER_FOREIGN } },
        /* root's processes have a payer each, containers may have other cgroups and one name */
        { { "", "" }, { "", "" }, { "", "" }, { "", "" }, 1, { 7, 8 } },
        { { "aa", "bb" },
          { "", "" },
          { "", "" },
          { "container.name=a\n", "container.name=a\n" },
          1,
          { 7, 8 } },
        { { "aa", "bb" }, { "p-1", "p-2" }, { "red", "red" }, { "", "" }, 1, { 7, 8 } },
        { { "aa", "aa" }, { "", "" }, { "", "" }, { "", "" }, 1, { 0 } },
        { { "aa", "bb" },
          { "", "" },
          { "", "" },
          { "container.name=a\n", "container.name=b\n" },
          0,
          { 0 } },
        { { "aa", "bb" },
          { "", "" },
          { "", "" },
          { "container.name=a\n", "container.name=ab\n" },
          0,
          { 0 } },
        { { "aa", "bb" },
          { "", "" },
          { "", "" },
          { "container.name=a\n", "x=y\ncontainer.name=a\n" },
          1,
          { 0 } },
        { { "aa", "" }, { "", "" }, { "", "" }, { "container.name=a\n", "" }, 0, { 0 } },
        /* the id may be that of a folder that a container made: it has no name then */
        { { "aa", "aa" }, { "", "" }, { "", "" }, { "container.name=a\n", "x=y\n" }, 0, { 0 } },
        { { "aa", "aa" }, { "", "" }, { "", "" }, { "", "container.name=a\n" }, 0, { 0 } },
        { { "aa", "aa" },
          { "", "" },
          { "", "" },
          { "container.name=a\n", "container.name=b\n" },
          0,
          { 0 } },
        { { "aa", "bb" }, { "p-1", "p-2" }, { "red", "red" }, { "", "" }, 1, { 0 } },
        { { "aa", "bb" }, { "p-1", "p-2" }, { "red", "blue" }, { "", "" }, 0, { 0 } },
        { { "aa", "bb" }, { "p-1", "p-2" }, { "", "" }, { "", "" }, 0, { 0 } },
        { { "aa", "aa" }, { "p-1", "" }, { "", "" }, { "", "" }, 0, { 0 } },
    };
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history_image images[2];
    struct history_place places[2];
    struct seen_marks seen = { .asks = h };
    uint64_t left_out;

    for (int i = 0; i < 2; i++) {
        images[i] = made_image(i + 1, "shop");
        images[i].version = i ? "2" : "1";
        images[i].java = "17";
        images[i].container = CASES[_i].container[i];
        images[i].pod = CASES[_i].pod[i];
        images[i].pod_namespace = CASES[_i].pod_namespace[i];
        images[i].attributes = CASES[_i].attributes[i];
        images[i].payer = CASES[_i].payer[0] ? CASES[_i].payer[i] : 7;
        images[i].started_ns = T0 + (uint64_t)i * HISTORY_MINUTE_NS + 1;
        put_images(h, T0 + (uint64_t)i * HISTORY_MINUTE_NS, NULL, &images[i], 1);
    }
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, CASES[_i].marks);
    places[0] = history_place_of(&images[0]);
    places[1] = history_place_of(&images[1]);
    ck_assert_int_eq(history_same_place(&places[0], &places[1]), CASES[_i].marks);
    history_close(h);
}
END_TEST

static const struct {
    const char *options[2], *text;
} OPTIONS[] = {
    { { "-Xmx512m\n-ea\n", "-Xmx256m\n-ea\n-Drules.tenant\n" },
      "shop was started again: options -Xmx512m -> -Xmx256m, new -Drules.tenant." },
    { { "-Xmx1g\n", "-Xmx1g\n" }, "shop was started again: other options of the JVM." },
    { { NULL, "-Xmx1g\n" }, "shop was started again: other options of the JVM." },
    { { "-Xmx1g\n", NULL }, "shop was started again: other options of the JVM." },
};

START_TEST(test_a_mark_says_which_options_differ)
{
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct seen_marks seen = { 0 };
    uint64_t left_out;

    for (int i = 0; i < 2; i++) {
        struct history_image image = made_image(i + 1, "shop");

        image.java = "17";
        image.flags = (uint64_t)i + 1;
        image.options = OPTIONS[_i].options[i];
        image.started_ns = T0 + (uint64_t)i * HISTORY_MINUTE_NS + 1;
        put_images(h, T0 + (uint64_t)i * HISTORY_MINUTE_NS, NULL, &image, 1);
    }
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_str_eq(seen.text, OPTIONS[_i].text);
    history_close(h);
}
END_TEST

/* Counts the images with the place of the second JVM. */
static void see_place(void *cookie, const struct history_image *image)
{
    *(int *)cookie += strcmp(image->container, "bb") == 0 && strcmp(image->pod, "p-2") == 0 &&
                      strcmp(image->pod_namespace, "red") == 0;
}

/* The samples of a JVM's first moment may lack its place, which is known at the end of the
 * minute. */
START_TEST(test_a_place_that_is_known_late_has_releases)
{
    struct history *h = open_history(1 << 30, 86400);
    const struct history_query q = { .to_ns = UINT64_MAX };
    struct history_image images[2];
    struct seen_marks seen = { 0 };
    uint64_t left_out;
    int places = 0;

    for (int i = 0; i < 2; i++) {
        uint64_t start_ns = T0 + (uint64_t)i * HISTORY_MINUTE_NS;

        images[0] = images[1] = made_image(i + 1, "shop");
        images[1].version = i ? "2" : "1";
        images[1].java = "17";
        images[1].container = i ? "bb" : "aa";
        images[1].pod = i ? "p-2" : "p-1";
        images[1].pod_namespace = "red";
        images[1].started_ns = start_ns + 1;
        put_images(h, start_ns, NULL, images, 2);
    }
    put_images(h, T0 + 2 * HISTORY_MINUTE_NS, NULL, images, 1); /* known facts stay */
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(history_images(h, &q, see_place, &places, NULL), 0);
    ck_assert_int_eq(places, 1);
    history_close(h);
}
END_TEST

START_TEST(test_a_clock_that_is_set_is_a_mark)
{
    struct history *h = open_history(1 << 30, 86400);
    struct history_query q = { .to_ns = UINT64_MAX };
    struct seen_marks seen = { 0 };
    uint64_t left_out;

    put_image(h, T0, 1, 1000, "1.0", "17", 500000000);
    put_image(h, T0 + HISTORY_MINUTE_NS, 1, 1000, "1.0", "17", -90 * (int64_t)NSEC_PER_SEC);
    ck_assert_int_eq(history_marks(h, &q, see_mark, &seen, &left_out, NULL), 0);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(seen.kind, HISTORY_MARK_CLOCK);
    ck_assert_str_eq(seen.text, "The wall clock was set back by 90.0 s.");
    history_close(h);
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(test_a_full_disk_loses_minutes_until_there_is_room)
{
    struct history *h = open_history(1 << 30, 86400);
    struct rlimit before, small = { .rlim_cur = 4096 };
    struct read_sums sums = { 0 }, after = { 0 };
    char problem[256];

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(put_minute(h, T0, SHOP, ARRAY_SIZE(SHOP)), 0);
    read_range(h, 0, UINT64_MAX, 0, &sums);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_int_lt(put_minute(h, T0 + HISTORY_MINUTE_NS, SHOP, ARRAY_SIZE(SHOP)), 0);
    history_problem(h, problem, sizeof(problem));
    ck_assert_str_ne(problem, "");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(put_minute(h, T0 + 2 * HISTORY_MINUTE_NS, SHOP, ARRAY_SIZE(SHOP)), 0);
    history_problem(h, problem, sizeof(problem));
    ck_assert_str_eq(problem, "");
    ck_assert_uint_eq(read_range(h, 0, UINT64_MAX, 0, &after).covered_ns, 2 * HISTORY_MINUTE_NS);
    ck_assert_uint_eq(after.count[0], 2 * sums.count[0]);
    history_close(h);
}
END_TEST

START_TEST(test_bytes_that_end_early_are_damage)
{
    static const char GOOD[] = { 1, 0, 1, 3, 'c', 'p', 'u', 2, 'n', 's', 9, 0, /* event */
                                 1, 5, 6, 0, 0,   0,   0,   0, 0,              /* process */
                                 1, 0, 0,                                      /* thread */
                                 1, 0, 4, 0, 2,   1 };                         /* row */
    for (size_t n = 0; n <= sizeof(GOOD); n++) {
        struct tally t;
        int r;

        tally_init(&t);
        r = tally_decode(&t, (struct span){ GOOD, n }, 0, 0, 0);
        ck_assert_int_eq(r, n == sizeof(GOOD) ? 0 : -EBADMSG);
        tally_deinit(&t);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history");

    tcase_add_test(tc, test_sums_are_those_of_the_slices);
    tcase_add_test(tc, test_samples_have_the_attributes_of_their_image);
    tcase_add_test(tc, test_a_jvm_that_is_gone_has_the_attributes_of_its_samples);
    tcase_add_test(tc, test_an_older_file_has_the_environment);
    tcase_add_test(tc, test_texts_without_room_are_counted);
    tcase_add_test(tc, test_only_what_is_wanted_is_read);
    tcase_add_test(tc, test_others_stay_apart_by_owner);
    tcase_add_loop_test(tc, test_a_mark_says_which_options_differ, 0, ARRAY_SIZE(OPTIONS));
    tcase_add_test(tc, test_another_release_is_a_mark);
    tcase_add_test(tc, test_an_older_jvm_is_no_release);
    tcase_add_test(tc, test_versions_of_two_sources_are_no_release);
    tcase_add_test(tc, test_another_jar_is_a_release);
    tcase_add_test(tc, test_a_long_version_stays_text);
    tcase_add_test(tc, test_marks_of_others_take_no_place);
    tcase_add_loop_test(tc, test_only_the_same_place_has_releases, 0, 19);
    tcase_add_test(tc, test_a_place_that_is_known_late_has_releases);
    tcase_add_test(tc, test_a_clock_that_is_set_is_a_mark);
    tcase_add_test(tc, test_a_full_disk_loses_minutes_until_there_is_room);
    tcase_add_test(tc, test_bytes_that_end_early_are_damage);
    return run_store_tests("history", tc);
}
