/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/jar.h"

#include "base/cleanup.h"
#include "base/fnv1a.h"
#include "base/text.h"

#include <errno.h>
#include <strings.h>
#include <zlib.h>

#define MANIFEST "META-INF/MANIFEST.MF"
#define VERSION "Implementation-Version:"
#define CHUNK_BYTES ((size_t)64 << 10)

/* The records of a zip file. Numbers are little endian. */
#define END_SIGNATURE 0x06054b50
#define END_BYTES 22
#define END_DIRECTORY_BYTES 12 /* offsets in the record */
#define END_DIRECTORY_AT 16
#define END_COMMENT_BYTES 20
#define COMMENT_MAX 65535
#define WIDE_SIGNATURE 0x07064b50 /* locates a further record, for more than 65,534 entries */
#define WIDE_LOCATOR_BYTES 20
#define WIDE_END_BYTES 56
#define ENTRY_SIGNATURE 0x02014b50
#define ENTRY_BYTES 46
#define LOCAL_SIGNATURE 0x04034b50
#define LOCAL_BYTES 30
#define STORED 0
#define DEFLATED 8

/* A jar that is being read. */
struct jar {
    uint64_t size, directory_at;
    uint64_t base; /* where its entries are counted from: a script may stand before them */
    size_t directory_bytes;
    jar_read_fn fn;
    void *cookie;
};

/* The entry of the manifest in the directory. */
struct manifest {
    uint64_t at; /* of its local header, in the file */
    uint32_t packed_bytes;
    uint16_t method;
};

static uint16_t two(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t four(const uint8_t *p)
{
    return two(p) | (uint32_t)two(p + 2) << 16;
}

/* Reads exactly @n bytes. */
static int read_at(const struct jar *j, uint64_t at, void *buf, size_t n)
{
    ssize_t got;

    if (at > j->size || n > j->size - at)
        return -EBADMSG;
    got = j->fn(j->cookie, at, buf, n);
    return got < 0 ? (int)got : (size_t)got == n ? 0 : -EBADMSG;
}

/* Uses the last record at @end in the @n bytes @tail, the end of the file. The directory ends where
 * that record begins, or before two further records. */
static int use_end(struct jar *j, const uint8_t *tail, size_t n, size_t end)
{
    uint64_t directory_end = j->size - n + end;
    const uint8_t *record = tail + end;
    uint32_t at = four(record + END_DIRECTORY_AT);

    if (end >= WIDE_LOCATOR_BYTES && four(record - WIDE_LOCATOR_BYTES) == WIDE_SIGNATURE)
        directory_end -= MIN(directory_end, (uint64_t)WIDE_LOCATOR_BYTES + WIDE_END_BYTES);
    j->directory_bytes = four(record + END_DIRECTORY_BYTES);
    if (j->directory_bytes > JAR_DIRECTORY_BYTES_MAX)
        return -EFBIG;
    if (j->directory_bytes > directory_end || j->directory_bytes < ENTRY_BYTES)
        return -EBADMSG;
    j->directory_at = directory_end - j->directory_bytes;
    if (at > j->directory_at)
        return -EBADMSG;
    j->base = j->directory_at - at;
    return 0;
}

/* Finds the directory, by the last record of the file. A comment may follow that record. */
static int find_directory(struct jar *j)
{
    size_t n = (size_t)MIN(j->size, (uint64_t)END_BYTES + COMMENT_MAX);
    _cleanup_free_ uint8_t *tail = malloc(n + 1);
    int r = tail ? read_at(j, j->size - n, tail, n) : -ENOMEM;

    if (r < 0)
        return r;
    for (size_t left = END_BYTES; left <= n; left++) {
        size_t at = n - left;

        if (four(tail + at) == END_SIGNATURE &&
            two(tail + at + END_COMMENT_BYTES) == left - END_BYTES)
            return use_end(j, tail, n, at);
    }
    return -EBADMSG;
}

/* Finds the manifest in the @n first bytes of the directory. Returns false if it is not there. */
static bool find_manifest(const struct jar *j, const uint8_t *p, size_t n, struct manifest *ret)
{
    for (unsigned i = 0; i < JAR_ENTRIES_LOOKED && n >= ENTRY_BYTES; i++) {
        size_t name = two(p + 28), whole = ENTRY_BYTES + name + two(p + 30) + two(p + 32);

        if (four(p) != ENTRY_SIGNATURE || whole > n)
            return false;
        if (name == strlen(MANIFEST) &&
            strncasecmp((const char *)p + ENTRY_BYTES, MANIFEST, name) == 0) {
            *ret = (struct manifest){ .at = j->base + four(p + 42),
                                      .packed_bytes = four(p + 20),
                                      .method = two(p + 10) };
            return !(two(p + 8) & 1); /* not encrypted */
        }
        p += whole;
        n -= whole;
    }
    return false;
}

/* Inflates @packed into @text, up to the latter's size. Returns the number of bytes; what stands
 * before an error counts. */
static size_t unpack(struct span packed, char *text, size_t size)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)packed.p,
                   .avail_in = (uInt)packed.n,
                   .next_out = (Bytef *)text,
                   .avail_out = (uInt)size };

    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return 0;
    inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return size - z.avail_out;
}

/* Reads the version in the manifest @m. A manifest that is too long or broken has none. */
static int read_version(const struct jar *j, const struct manifest *m, char *ret)
{
    _cleanup_free_ char *packed = NULL, *text = NULL;
    uint8_t head[LOCAL_BYTES];
    int r;

    if (m->packed_bytes > JAR_MANIFEST_BYTES_MAX || (m->method != STORED && m->method != DEFLATED))
        return 0;
    r = read_at(j, m->at, head, sizeof(head));
    if (r < 0 || four(head) != LOCAL_SIGNATURE)
        return r == -EBADMSG ? 0 : r;
    packed = malloc(m->packed_bytes + 1);
    text = malloc(JAR_MANIFEST_BYTES_MAX);
    if (!packed || !text)
        return -ENOMEM;
    r = read_at(j, m->at + LOCAL_BYTES + two(head + 26) + two(head + 28), packed, m->packed_bytes);
    if (r < 0)
        return r == -EBADMSG ? 0 : r;
    if (m->method == STORED)
        jar_manifest_version((struct span){ packed, m->packed_bytes }, ret);
    else
        jar_manifest_version((struct span){ text, unpack((struct span){ packed, m->packed_bytes },
                                                         text, JAR_MANIFEST_BYTES_MAX) },
                             ret);
    return 0;
}

int jar_read(uint64_t size, jar_read_fn fn, void *cookie, struct jar_facts *ret)
{
    struct jar j = { .size = size, .fn = fn, .cookie = cookie };
    _cleanup_free_ uint8_t *bytes = malloc(CHUNK_BYTES);
    struct jar_facts facts = { .identity = FNV1A_START };
    struct manifest manifest = { 0 };
    bool found = false;
    int r = bytes ? find_directory(&j) : -ENOMEM;

    *ret = (struct jar_facts){ 0 };
    for (size_t at = 0; r == 0 && at < j.directory_bytes; at += CHUNK_BYTES) {
        size_t n = MIN(CHUNK_BYTES, j.directory_bytes - at);

        r = read_at(&j, j.directory_at + at, bytes, n);
        if (r == 0 && at == 0 && four(bytes) != ENTRY_SIGNATURE)
            r = -EBADMSG;
        if (r == 0 && at == 0)
            found = find_manifest(&j, bytes, n, &manifest);
        if (r == 0)
            facts.identity = fnv1a(facts.identity, bytes, n);
    }
    if (r == 0 && found)
        r = read_version(&j, &manifest, facts.version);
    if (r < 0)
        return r;
    facts.identity += facts.identity == 0;
    *ret = facts;
    return 0;
}

/* Takes a line off @text. Lines end with CR LF, LF or CR. */
static bool take_line(struct span *text, struct span *ret)
{
    size_t n = MIN(span_find(*text, '\n'), span_find(*text, '\r')), skip = n + 1;

    if (!text->n)
        return false;
    *ret = (struct span){ text->p, n };
    if (n + 1 < text->n && text->p[n] == '\r' && text->p[n + 1] == '\n')
        skip++;
    *text = span_from(*text, MIN(skip, text->n));
    return true;
}

void jar_manifest_version(struct span text, char ret[JAR_VERSION_BYTES])
{
    char value[2 * JAR_VERSION_BYTES];
    bool taking = false;
    struct span line;
    size_t n = 0;

    while (take_line(&text, &line) && line.n) { /* an empty line ends the main section */
        if (line.p[0] == ' ') {
            line = span_from(line, 1); /* it continues the line before */
        } else if (taking) {
            break;
        } else if (line.n >= strlen(VERSION) &&
                   strncasecmp(line.p, VERSION, strlen(VERSION)) == 0) {
            line = span_from(line, strlen(VERSION));
            taking = true;
        }
        if (taking) {
            line.n = MIN(line.n, sizeof(value) - n);
            memcpy(value + n, line.p, line.n);
            n += line.n;
        }
    }
    text_clean_into(span_trim((struct span){ value, n }), ret, JAR_VERSION_BYTES);
}
