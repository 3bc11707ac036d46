/* SPDX-License-Identifier: Apache-2.0 */
/* spill: the JVMs of a minute that go into the history. */
#include "../discover/discover_fixture.h"
#include "../store/history_fixture.h"

#include "discover/service.h"
#include "engine/spill.h"

#include <linux/perf_event.h>

#define FLOOD 5000

static struct history *history;
static struct flight *flight;
static struct frame_table *table;
static struct discover *discover;

static void begin(void)
{
    const struct profile_event event = { .name = "cpu", .unit = "nanoseconds", .period = 1000 };

    setup();
    history = open_history(1 << 30, 86400);
    discover = make(NODE, /* show_arguments= */ false);
    ck_assert_int_eq(frame_table_new(100, 1 << 20, &table), 0);
    ck_assert_int_eq(flight_new(table, &event, 1, NSEC_PER_SEC, 1 << 20, &flight), 0);
}

static void finish(void)
{
    flight_free(flight);
    frame_table_free(table);
    end(discover);
    history_close(history);
    teardown();
}

/* Adds an ended JVM of @payer. Its own texts are long, and no other's. */
static void add_ended(struct spill *s, uint64_t payer, int32_t pid, const char *name)
{
    struct service service = { .source = SERVICE_ENVIRON };
    struct process p = { .id = { .host_pid = pid, .start_ticks = 7 },
                         .jvm = JVM_READY,
                         .exited = true,
                         .exited_ns = clock_monotonic_ns(),
                         .payer = payer,
                         .mem_fd = -1,
                         .service = &service };
    char main[257];

    snprintf(service.name, sizeof(service.name), "%s", name);
    snprintf(service.repository, sizeof(service.repository), "https://h/%0110d", pid);
    snprintf(service.instance, sizeof(service.instance), "%0120d", pid);
    snprintf(service.version, sizeof(service.version), "%060d", pid);
    snprintf(service.revision, sizeof(service.revision), "%060d", pid);
    snprintf(service.space, sizeof(service.space), "%060d", pid);
    snprintf(p.java_version, sizeof(p.java_version), "%0100d", pid);
    snprintf(main, sizeof(main), "%0256d", pid);
    p.main = main;
    spill_ended(s, &p);
}

/* Puts the end of process @pid into a ring of side-band records that nothing has read. */
static void write_exit(struct discover *d, int32_t pid, uint64_t time_ns)
{
    const struct {
        struct perf_event_header header;
        uint32_t pids[4];
        uint64_t time_ns;
        uint32_t id[2];
        uint64_t id_time_ns;
    } record = { .header = { .type = PERF_RECORD_EXIT, .size = sizeof(record) },
                 .pids = { (uint32_t)pid, 1, (uint32_t)pid, 1 },
                 .time_ns = time_ns,
                 .id = { (uint32_t)pid, (uint32_t)pid },
                 .id_time_ns = time_ns };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page + sideband_data_bytes(page);
    int fd = memfd_create("ring", MFD_CLOEXEC);
    char *ring;

    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(ring, MAP_FAILED);
    memcpy(ring + page, &record, sizeof(record));
    ((struct perf_event_mmap_page *)(void *)ring)->data_head = sizeof(record);
    munmap(ring, bytes);
    ck_assert_int_eq(sideband_map(&fd, 1, &d->sideband, NULL), 0);
}

struct seen {
    size_t flood;
    bool shop;
    uint64_t shop_payer;
};

static void see(void *cookie, const struct history_image *image)
{
    struct seen *seen = cookie;

    if (strcmp(image->service, "shop") == 0) {
        seen->shop = image->java[0] && image->version[0];
        seen->shop_payer = image->payer;
    } else if (strncmp(image->service, "flood", 5) == 0) {
        seen->flood++;
    }
}

/* A container starts JVMs without end. A minute keeps the JVM of another in spite of that. */
START_TEST(a_flood_takes_no_place_of_others)
{
    const struct spill_opts o = { .history = history, .flight = flight, .discover = discover };
    struct history_query q = { .to_ns = UINT64_MAX };
    struct seen seen = { 0 };
    struct history_stats stats;
    struct spill *s = NULL;

    ck_assert_int_eq(spill_start(&o, &s), 0);
    for (int32_t i = 0; i < FLOOD; i++) {
        char name[128];

        snprintf(name, sizeof(name), "flood%0110d", i);
        add_ended(s, 1, 100000 + i, name);
    }
    add_ended(s, 2, 50, "shop");
    ck_assert_ptr_null(spill_stop(s));
    ck_assert_int_eq(history_images(history, &q, see, &seen, NULL), 0);
    ck_assert(seen.shop);
    ck_assert_uint_eq(seen.shop_payer, 2);
    ck_assert_uint_gt(seen.flood, 100);
    ck_assert_uint_le(seen.flood, 2048);
    history_stats(history, &stats);
    ck_assert_uint_ge(stats.names_left_out, FLOOD - seen.flood);
}
END_TEST

static void see_version(void *cookie, const struct history_image *image)
{
    *(bool *)cookie = strcmp(image->version, "prod-7") == 0 &&
                      span_eq_str(history_version_source(image->attributes), "image") &&
                      strstr(image->attributes, "\n" HISTORY_JAR "00000000000000ab app.jar\n");
}

/* The history knows that the version is that of the container's image, and the program's jar. */
START_TEST(the_source_of_a_version_is_kept)
{
    const struct spill_opts o = { .history = history, .flight = flight, .discover = discover };
    struct service service = { .name = "shop",
                               .source = SERVICE_ENVIRON,
                               .jar = { "app.jar", { "1.0", 0xab } } };
    struct process p = { .id = { .host_pid = 50, .start_ticks = 7 },
                         .jvm = JVM_READY,
                         .exited = true,
                         .exited_ns = clock_monotonic_ns(),
                         .payer = 2,
                         .mem_fd = -1,
                         .service = &service,
                         .container.image_version = "prod-7" };
    struct history_query q = { .to_ns = UINT64_MAX };
    struct spill *s = NULL;
    bool seen = false;
    char main[] = "Main";

    p.main = main;
    ck_assert_int_eq(spill_start(&o, &s), 0);
    spill_ended(s, &p);
    ck_assert_ptr_null(spill_stop(s));
    ck_assert_int_eq(history_images(history, &q, see_version, &seen, NULL), 0);
    ck_assert(seen);
}
END_TEST

static void see_last(void *cookie, const struct history_image *image)
{
    uint64_t *last_ns = cookie;

    *last_ns = image->last_ns;
}

/* A JVM ends, and flamed stops before it has read of it. */
START_TEST(an_end_before_the_stop_is_known)
{
    const struct spill_opts o = { .history = history, .flight = flight, .discover = discover };
    struct history_query q = { .to_ns = UINT64_MAX };
    struct process *p = discover_find(discover, 42);
    uint64_t last_ns = 0, ended_ns;
    struct spill *s = NULL;

    ck_assert_ptr_nonnull(p);
    p->jvm = JVM_READY;
    ck_assert_int_eq(spill_start(&o, &s), 0);
    write_exit(discover, 42, clock_monotonic_ns());
    ended_ns = clock_realtime_ns();
    ck_assert_ptr_null(spill_stop(s));
    ck_assert_int_eq(history_images(history, &q, see_last, &last_ns, NULL), 0);
    ck_assert_uint_gt(last_ns, ended_ns - NSEC_PER_SEC);
    ck_assert_uint_lt(last_ns, ended_ns + NSEC_PER_MSEC);
}
END_TEST

/* The first thread of a JVM ends, and a sample shows that the JVM runs on. */
START_TEST(a_false_end_is_taken_back)
{
    const struct spill_opts o = { .history = history, .flight = flight, .discover = discover };
    struct history_query q = { .to_ns = UINT64_MAX };
    struct process *p = discover_find(discover, 42);
    uint64_t last_ns = 0;
    struct spill *s = NULL;

    ck_assert_ptr_nonnull(p);
    p->jvm = JVM_READY;
    ck_assert_int_eq(spill_start(&o, &s), 0);
    p->exited = true;
    p->exited_ns = clock_monotonic_ns();
    spill_ended(s, p);
    p->exited = false;
    ck_assert_ptr_null(spill_stop(s));
    ck_assert_int_eq(history_images(history, &q, see_last, &last_ns, NULL), 0);
    ck_assert_uint_gt(last_ns, 0);
    ck_assert_uint_eq(last_ns % HISTORY_MINUTE_NS, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("spill");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_flood_takes_no_place_of_others);
    tcase_add_test(tc, the_source_of_a_version_is_kept);
    tcase_add_test(tc, an_end_before_the_stop_is_known);
    tcase_add_test(tc, a_false_end_is_taken_back);
    return suite_run_case("spill", tc);
}
