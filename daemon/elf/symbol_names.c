/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/symbol_names.h"

#include "base/array.h"

#include <stdatomic.h>
#include <zstd.h>

/* zstd's level. Block n holds the names from position NAMES_PLAIN_BYTES + n * NAMES_BLOCK_BYTES on.
 * Positions count unpacked bytes. No name spans two blocks. */
#define PACK_LEVEL 1
#define PLAIN_FIRST ((size_t)16 << 10) /* initial capacity */
#define NO_BLOCK UINT32_MAX
/* The length that precedes each name. */
#define HEAD sizeof(uint16_t)
_Static_assert(NAMES_NAME_MAX + HEAD <= NAMES_BLOCK_BYTES && NAMES_NAME_MAX <= UINT16_MAX,
               "a name fits in a block");

struct block {
    uint32_t at; /* offset in packed */
    uint16_t n;
    bool raw; /* stored without compression */
};
_Static_assert(NAMES_BLOCK_BYTES <= UINT16_MAX, "its length fits");

struct symbol_names {
    char *plain; /* owned, [plain_n] */
    size_t plain_n, plain_cap;
    char *packed; /* owned, [packed_n] */
    size_t packed_n, packed_cap;
    struct block *blocks; /* owned, [block_count] */
    size_t block_count, block_cap;
    char *open; /* owned: the block being filled; NULL: none yet */
    size_t open_n;
    char *shown; /* owned: the block that was last unpacked; NULL: none yet */
    uint32_t shown_block;
    ZSTD_CCtx *packer; /* owned; NULL: none now */
};

int symbol_names_new(struct symbol_names **ret)
{
    struct symbol_names *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->shown_block = NO_BLOCK;
    *ret = n;
    return 0;
}

struct symbol_names *symbol_names_free(struct symbol_names *n)
{
    if (!n)
        return NULL;
    free(n->plain);
    free(n->packed);
    free(n->blocks);
    free(n->open);
    free(n->shown);
    ZSTD_freeCCtx(n->packer);
    free(n);
    return NULL;
}

/* ---- adding ---- */

static void put(char *to, struct span name)
{
    uint16_t length = (uint16_t)name.n;

    memcpy(to, &length, HEAD);
    if (name.n)
        memcpy(to + HEAD, name.p, name.n);
}

/* Compresses the full block and begins the next. */
static int pack_open(struct symbol_names *n)
{
    size_t bound = ZSTD_compressBound(NAMES_BLOCK_BYTES), packed;
    bool raw;

    if (!n->packer)
        n->packer = ZSTD_createCCtx();
    if (!n->packer ||
        !array_grow(&n->packed, &n->packed_cap, n->packed_n + bound, NAMES_PLAIN_BYTES / 4) ||
        !array_grow(&n->blocks, &n->block_cap, n->block_count + 1, 64))
        return -ENOMEM;
    packed = ZSTD_compressCCtx(n->packer, n->packed + n->packed_n, bound, n->open, n->open_n,
                               PACK_LEVEL);
    raw = ZSTD_isError(packed) || packed >= n->open_n;
    if (raw) {
        memcpy(n->packed + n->packed_n, n->open, n->open_n);
        packed = n->open_n;
    }
    n->blocks[n->block_count++] = (struct block){ (uint32_t)n->packed_n, (uint16_t)packed, raw };
    n->packed_n += packed;
    n->open_n = 0;
    return 0;
}

static int add_plain(struct symbol_names *n, struct span name, uint32_t *ret)
{
    if (!array_grow(&n->plain, &n->plain_cap, n->plain_n + HEAD + name.n, PLAIN_FIRST))
        return -ENOMEM;
    *ret = (uint32_t)n->plain_n;
    put(n->plain + n->plain_n, name);
    n->plain_n += HEAD + name.n;
    return 0;
}

static int add_packed(struct symbol_names *n, struct span name, uint32_t *ret)
{
    uint64_t at;
    int r = 0;

    if (!n->open)
        n->open = malloc(NAMES_BLOCK_BYTES);
    if (!n->open)
        return -ENOMEM;
    if (n->open_n + HEAD + name.n > NAMES_BLOCK_BYTES)
        r = pack_open(n);
    at = NAMES_PLAIN_BYTES + (uint64_t)n->block_count * NAMES_BLOCK_BYTES + n->open_n;
    if (r < 0 || at + NAMES_BLOCK_BYTES > UINT32_MAX)
        return r < 0 ? r : -ENOSPC;
    put(n->open + n->open_n, name);
    n->open_n += HEAD + name.n;
    *ret = (uint32_t)at;
    return 0;
}

int symbol_names_add(struct symbol_names *n, struct span name, uint32_t *ret)
{
    name.n = MIN(name.n, (size_t)NAMES_NAME_MAX);
    /* Once a block is open, all names go into blocks, as positions must rise. */
    return !n->open && n->plain_n + HEAD + name.n <= NAMES_PLAIN_BYTES ? add_plain(n, name, ret)
                                                                       : add_packed(n, name, ret);
}

void symbol_names_fit(struct symbol_names *n)
{
    char *plain = n->plain_n ? realloc(n->plain, n->plain_n) : NULL;
    char *packed = n->packed_n ? realloc(n->packed, n->packed_n) : NULL;

    if (plain) {
        n->plain = plain;
        n->plain_cap = n->plain_n;
    }
    if (packed) {
        n->packed = packed;
        n->packed_cap = n->packed_n;
    }
    ZSTD_freeCCtx(n->packer);
    n->packer = NULL;
}

/* ---- finding ---- */

/* A context for unpacking. Making one costs more than using it, so one is kept for all threads. */
static _Atomic(ZSTD_DCtx *) spare;

/* Unpacks a block to @to. The block was packed here, so it is valid. */
static void unpack(const char *p, size_t n, char *to)
{
    ZSTD_DCtx *unpacker = atomic_exchange(&spare, NULL);

    if (!unpacker)
        unpacker = ZSTD_createDCtx();
    if (!unpacker || ZSTD_isError(ZSTD_decompressDCtx(unpacker, to, NAMES_BLOCK_BYTES, p, n)))
        memset(to, 0, NAMES_BLOCK_BYTES); /* without memory, names are empty */
    ZSTD_freeDCtx(atomic_exchange(&spare, unpacker));
}

/* Returns the bytes of block @number; NULL: no memory. */
static const char *show(struct symbol_names *n, uint32_t number)
{
    const struct block *b;

    if (number == n->block_count)
        return n->open;
    if (number == n->shown_block)
        return n->shown;
    if (!n->shown)
        n->shown = malloc(NAMES_BLOCK_BYTES);
    if (!n->shown)
        return NULL;
    b = &n->blocks[number];
    if (b->raw)
        memcpy(n->shown, n->packed + b->at, b->n);
    else
        unpack(n->packed + b->at, b->n, n->shown);
    n->shown_block = number;
    return n->shown;
}

struct span symbol_names_get(struct symbol_names *n, uint32_t at)
{
    const char *p = n->plain + at;
    uint16_t length;

    if (at >= NAMES_PLAIN_BYTES) {
        uint32_t in = at - (uint32_t)NAMES_PLAIN_BYTES;

        p = show(n, in / (uint32_t)NAMES_BLOCK_BYTES);
        if (!p)
            return SPAN("");
        p += in % NAMES_BLOCK_BYTES;
    }
    memcpy(&length, p, HEAD);
    return (struct span){ p + HEAD, length };
}

size_t symbol_names_bytes(const struct symbol_names *n)
{
    return sizeof(*n) + n->plain_n + n->packed_n + n->block_count * sizeof(*n->blocks) +
           (n->open ? NAMES_BLOCK_BYTES : 0) + (n->shown ? NAMES_BLOCK_BYTES : 0);
}
