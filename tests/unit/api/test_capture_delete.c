/* SPDX-License-Identifier: Apache-2.0 */
/* api/captures.c: a capture is answered as deleted only if it is, or if the writer deletes it. */
#include "suite.h"

#include "api/api_impl.h"
#include "capture/store_writer.h"

static int asked, stored; /* the results of the engine and of the store */
static bool queued;       /* the store's writer has it */

int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *api, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)api;
    (void)fn;
    (void)arg;
    (void)err;
    return asked;
}

bool __wrap_store_writer_drop(struct store_writer *k, const char *id);
bool __wrap_store_writer_drop(struct store_writer *k, const char *id)
{
    (void)k;
    ck_assert_str_eq(id, "a");
    return queued;
}

int __wrap_store_delete(struct store *s, const char *id, struct error *err);
int __wrap_store_delete(struct store *s, const char *id, struct error *err)
{
    (void)s;
    ck_assert_str_eq(id, "a");
    return stored < 0 ? error_set(err, stored, "the store was busy") : stored;
}

static const struct {
    int asked;
    bool queued;
    int stored, result;
} CASES[] = {
    { 0, false, 0, 0 }, /* it ran */
    { 0, false, STORE_NOT_FOUND, 0 },
    { 0, false, -EBUSY, -EBUSY }, /* its row stays, and nothing else deletes it */
    { 0, false, -ENODEV, 0 },     /* the store is not open, so it has no row */
    { BACKEND_NOT_FOUND, true, 0, 0 },
    { BACKEND_NOT_FOUND, true, STORE_NOT_FOUND, 0 },
    { BACKEND_NOT_FOUND, true, -EBUSY, 0 },
    { BACKEND_NOT_FOUND, true, -EIO, -EIO },
    { BACKEND_NOT_FOUND, false, 0, 0 },
    { BACKEND_NOT_FOUND, false, STORE_NOT_FOUND, BACKEND_NOT_FOUND },
    { BACKEND_NOT_FOUND, false, -EBUSY, -EBUSY },
    { BACKEND_NOT_FOUND, false, -ENODEV, -ENODEV },
};

START_TEST(only_what_is_deleted_is_answered_so)
{
    static int place; /* never dereferenced */
    struct api api = { .engine.store = (struct store *)&place };
    struct viewer whole = { .whole = true };
    struct error err = ERROR_NULL;

    asked = CASES[_i].asked;
    queued = CASES[_i].queued;
    stored = CASES[_i].stored;
    ck_assert_int_eq(backend_capture_delete(&api, &whole, "a", &err), CASES[_i].result);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_delete");

    tcase_add_loop_test(tc, only_what_is_deleted_is_answered_so, 0, ARRAY_SIZE(CASES));
    return suite_run_case("capture_delete", tc);
}
