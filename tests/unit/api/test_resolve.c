/* SPDX-License-Identifier: Apache-2.0 */
/* api/resolve.c: a container's name selects in the past as it does now. The past has only ids of
 * most processes. */
#include "api/past_impl.h"
#include "history_fixture.h"

#include "capture/process_selector.h"

/* As in the captures of store_fixture.h, and another one. */
#define ID "0123456789abcdef"
#define OTHER "0123456789abcdefff"

static struct process *running; /* the only process of the node; NULL: none runs */
static unsigned containers = 1; /* the process stands for one in each of so many */

int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)err;
    return fn(api, arg);
}

int __wrap_discover_each(struct discover *d, int (*fn)(void *cookie, struct process *p),
                         void *cookie);
int __wrap_discover_each(struct discover *d, int (*fn)(void *cookie, struct process *p),
                         void *cookie)
{
    (void)d;
    for (unsigned i = 0; running && containers > 1 && i < containers; i++) {
        snprintf(running->container.id, sizeof(running->container.id), "%064x", i);
        fn(cookie, running);
    }
    return running ? fn(cookie, running) : 0;
}

int __wrap_target_check(struct target *t, struct discover *d, int proc_fd, struct error *err);
int __wrap_target_check(struct target *t, struct discover *d, int proc_fd, struct error *err)
{
    (void)t, (void)d, (void)proc_fd, (void)err;
    return running ? 0 : BACKEND_NOT_FOUND;
}

static int count(void *cookie, const struct store_capture *c)
{
    (void)c;
    ++*(size_t *)cookie;
    return 0;
}

/* Returns how many stored captures are of @t. */
static size_t stored_of(struct store *s, const struct target_selector *t)
{
    struct store_query q = captures_of(t, 0, UINT64_MAX);
    char next[STORE_CURSOR_BYTES];
    size_t n = 0;

    q.limit = 100;
    ck_assert_int_eq(store_list(s, &q, count, &n, next, NULL), 0);
    return n;
}

/* Returns whether @t selects a process of the recorder in @container that is no JVM. */
static bool records(const struct target_selector *t, const char *container)
{
    struct profile_process process = { .host_pid = 42 };
    struct past_filter filter;
    struct profile p = { 0 };
    bool wanted;

    ck_assert_int_eq(intern_new(1 << 20, &p.strings), 0);
    ck_assert_int_eq(intern_add(p.strings, span_of(container), &process.container), 0);
    ck_assert_int_eq(past_filter_init(t, &filter, NULL), 0);
    wanted = past_wants(&filter, &p, &process);
    past_filter_deinit(&filter);
    intern_free(p.strings);
    return wanted;
}

static const struct {
    const char *container;  /* as asked for */
    const char *name;       /* of the container of the running process; NULL: none runs */
    const char *attributes; /* of the JVM that the history has */
    bool hidden;            /* the history's JVM is of another user */
    bool found;
} CASES[] = {
    { "web", "web", "", false, true },
    { "web", "cart", "", false, false },
    { "web", NULL, "container.name=web\n", false, true },
    { "web", NULL, "a=b\nk8s.container.name=web\n", false, true },
    { "web", NULL, "container.name=web-2\n", false, false },
    { "web", NULL, "service.instance.id=container.name=web\n", false, false },
    { "web", NULL, "container.name=web\n", true, false },
    { "web", NULL, "", false, false },
    { "012345", NULL, "", false, true }, /* the beginning of its id */
    { "01234", NULL, "", false, false },
    { ID, NULL, "", false, true },
};

START_TEST(a_container_by_its_name)
{
    const struct viewer user = { .uid = 1000, .scope = "" };
    struct process p = { .owner = 1000, .container = { .id = ID } };
    struct history_image image = made_image(42, "shop");
    const struct target_selector t = { .viewer = CASES[_i].hidden ? &user : &VIEWER_WHOLE,
                                       .container = CASES[_i].container };
    _cleanup_(resolved_deinit) struct resolved resolved;
    struct target_selector *selector = &resolved.selector;
    struct store *s = open_store(0, 0);
    struct history *h = open_history(1 << 30, 864000);
    const struct engine_opts opts = { .proc_fd = -1 };
    struct api api = { .engine = { .history = h, .store = s, .opts = &opts } };
    struct profile *capture =
        make_profile("00000000000000000000000000000001", 1000 * NSEC_PER_SEC, 10, "work");
    struct past_filter filter;

    ck_assert_int_eq(store_put(s, capture, NULL, 0, NULL), 0);
    image.container = ID;
    image.owner = CASES[_i].hidden ? 2000 : 1000;
    image.attributes = CASES[_i].attributes;
    put_images(h, T0, NULL, &image, 1);
    running = CASES[_i].name ? &p : NULL;
    if (running)
        snprintf(p.container.name, sizeof(p.container.name), "%s", CASES[_i].name);

    ck_assert_int_eq(selector_resolve(&api, &t, &resolved, NULL), 0);
    selector->viewer = &VIEWER_WHOLE;
    ck_assert_uint_eq(stored_of(s, selector), CASES[_i].found);
    ck_assert_int_eq(records(selector, ID), CASES[_i].found);
    ck_assert(!records(selector, ""));
    ck_assert(CASES[_i].container[0] != 'w' || !records(selector, OTHER));
    ck_assert_int_eq(past_filter_init(selector, &filter, NULL), 0);
    ck_assert_int_eq(past_wants_image(&filter, &image), CASES[_i].found || CASES[_i].hidden);

    past_filter_deinit(&filter);
    profile_unref(capture);
    history_close(h);
    store_close(s);
}
END_TEST

/* An id is a name where the runtime has no other. It begins no id. */
START_TEST(a_name_is_no_beginning_of_an_id)
{
    const struct target_selector t = { .viewer = &VIEWER_WHOLE, .container = "frontend" };

    ck_assert(selector_has_container(&t, "frontend", ""));
    ck_assert(!selector_has_container(&t, "frontend-2", ""));
    ck_assert(selector_has_container(&t, OTHER, "container.name=frontend\n"));
}
END_TEST

/* Each process of the past is compared with all ids of the name. */
START_TEST(too_many_containers_of_one_name)
{
    const struct target_selector t = { .viewer = &VIEWER_WHOLE, .container = "web" };
    const struct engine_opts opts = { .proc_fd = -1 };
    struct api api = { .engine = { .opts = &opts } };
    struct process p = { .container = { .name = "web" } };
    _cleanup_(resolved_deinit) struct resolved resolved;
    struct error err = ERROR_NULL;

    running = &p;
    containers = CONTAINER_IDS_MAX_BYTES / 65 + 1;
    ck_assert_int_eq(selector_resolve(&api, &t, &resolved, &err), -E2BIG);
    ck_assert_str_eq(err.parameter, "container");
    containers = 1;
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("resolve");

    tcase_add_loop_test(tc, a_container_by_its_name, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, a_name_is_no_beginning_of_an_id);
    tcase_add_test(tc, too_many_containers_of_one_name);
    return run_store_tests("resolve", tc);
}
