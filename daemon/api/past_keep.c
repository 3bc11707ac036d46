/* SPDX-License-Identifier: Apache-2.0 */
/* Stores a time of the past as a capture. The capture outlives the samples in the flight recorder
 * and the history. Thread: any but the engine's. */
#include "api/api_impl.h"
#include "capture/captures.h"

/* If so many captures wait for the disk, no further one is made. Their profiles may be large, and
 * captures_max_bytes does not count them. */
#define PAST_KEPT_WAITING_MAX 4

int past_keep(struct api *api, const struct target_selector *t, const struct time_range *range,
              const char *event, const struct past_kept *as, char ret_id[CAPTURE_ID_BYTES],
              struct error *err)
{
    struct profile *p = NULL;
    int r;

    if (!api->engine.store)
        return captures_not_kept(err);
    r = store_writer_check_room(api->engine.store_writer, PAST_KEPT_WAITING_MAX, err)
            ?: backend_past(api, t, range, event, PAST_ALL, &p, err);
    if (r == 0 && p->total == 0)
        r = error_parameter(err, "from", BACKEND_NOT_FOUND,
                            "no samples of this target are known in that time");
    if (r != 0) {
        profile_unref(p);
        return r;
    }
    store_new_id(p->id); /* no other thread has the profile yet */
    snprintf(p->scope, sizeof(p->scope), "%s", t->viewer ? t->viewer->scope : "");
    memcpy(ret_id, p->id, CAPTURE_ID_BYTES);
    store_writer_put(api->engine.store_writer, p, as->schedule, as->max_age_s, STORE_WRITER_LAST,
                     /* answer_ns= */ 0, /* done= */ NULL, /* cookie= */ NULL);
    return 0;
}

int backend_past_keep(void *ctx, const struct target_selector *t, const struct time_range *range,
                      const char *event, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    return past_keep(ctx, t, range, event, &(struct past_kept){ .max_age_s = 0 }, ret_id, err);
}
