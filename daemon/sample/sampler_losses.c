/* SPDX-License-Identifier: Apache-2.0 */
/* Takes out the losses that the programs count, by set and process. */
#include "sample/sampler_impl.h"

#include "base/cleanup.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int sampler_take_losses(struct sampler *s, struct loss *ret, size_t *ret_count)
{
    _cleanup_free_ struct loss_key *keys = calloc(LOSSES_MAX, sizeof(*keys));
    _cleanup_free_ struct loss_count *counts = calloc(LOSSES_MAX, sizeof(*counts));
    int map = s->perf ? -1 : bpf_map__fd(s->skel->maps.losses), r = 0;
    uint32_t cursor = 0, n = 0, got = 0;

    if (!keys || !counts)
        return -ENOMEM;
    while (map >= 0 && r == 0 && got < LOSSES_MAX) { /* without BPF there is no map, and flamed
                                                      * counts losses */
        n = LOSSES_MAX - got;
        r = bpf_map_lookup_and_delete_batch(map, got ? &cursor : NULL, &cursor, keys + got,
                                            counts + got, &n, NULL);
        if (r < 0 && r != -ENOENT) { /* -ENOENT: that was the last batch */
            if (!got)
                return r;
            break; /* earlier batches are no longer in the map */
        }
        got += n;
    }
    for (uint32_t i = 0; i < got; i++)
        ret[i] = (struct loss){ keys[i], counts[i] };
    *ret_count = got;
    return 0;
}
