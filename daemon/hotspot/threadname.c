/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a Java thread's name: JavaThread -> java.lang.Thread -> String -> array. All but the
 * JavaThread are in the Java heap, and a collector may move them during the read. So the String's
 * class is checked on the way; a mismatch means no name this time.
 */
#include "base/text.h"
#include "hotspot/vm.h"

#define NAME_CHARS_MAX 2048

/* Sets the shift of the class in the mark. The class is in the upper 22 bits or more. Returns false
 * if the VM's number is out of range. */
static bool names_compact(const struct hotspot_layout *l, struct name_layout *n)
{
    if (l->mark_klass_shift < 32 || l->mark_klass_shift > 42)
        return false;
    n->mark_shift = (uint32_t)l->mark_klass_shift;
    return true;
}

/* Reads the flags that decide how references and classes are coded. */
static int names_read_flags(struct hotspot_vm *vm, struct name_layout *n)
{
    enum { OOPS, KLASSES, COMPACT, Z, SHENANDOAH, GENERATIONAL };
    struct hotspot_flag f[] = {
        [OOPS] = { "UseCompressedOops" },          [KLASSES] = { "UseCompressedClassPointers", 1 },
        [COMPACT] = { "UseCompactObjectHeaders" }, [Z] = { "UseZGC" },
        [SHENANDOAH] = { "UseShenandoahGC" },      [GENERATIONAL] = { "ZGenerational" },
    };
    int r = hotspot_vm_flags(vm, f, ARRAY_SIZE(f));

    if (r != 0)
        return r == HOTSPOT_GONE ? -ESRCH : r;
    n->compressed_oops = f[OOPS].value != 0;
    n->compressed_klass = f[KLASSES].value != 0;
    n->compact_headers = f[COMPACT].value != 0;
    n->zgc = f[Z].value != 0;
    n->shenandoah = f[SHENANDOAH].value != 0;
    n->coloured_oops = n->zgc && (vm->layout.jdk >= 24 || f[GENERATIONAL].value != 0);
    return 0;
}

/* Finds field offsets and the coding of references, once per JVM. */
static int names_open(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    struct name_layout *n = &vm->names;
    uint64_t thread = 0;
    int r = names_read_flags(vm, n);

    if (r != 0)
        return r;
    memory_begin(&vm->memory);
    r = memory_u64(&vm->memory, l->string_klass_at, &n->string_klass)
            ?: memory_u64(&vm->memory, l->thread_klass_at, &thread);
    if (r != 0)
        return r;
    if (n->string_klass == 0 || thread == 0)
        return -EAGAIN;
    r = memory_u64(&vm->memory, l->oop_base_at, &n->oop_base) ?:
        memory_u32(&vm->memory, l->oop_shift_at, &n->oop_shift) ?:
        memory_u64(&vm->memory, l->klass_base_at, &n->klass_base) ?:
        memory_u32(&vm->memory, l->klass_shift_at, &n->klass_shift);
    if (r == 0 &&
        ((n->compressed_oops && n->oop_shift > 8) || (n->compressed_klass && n->klass_shift > 16) ||
         (n->compact_headers && !names_compact(l, n)) ||
         (!n->compressed_klass && !layout_has(l->oop_klass))))
        r = -EBADMSG;
    if (r == 0)
        r = field_offset(vm, thread, "name", &n->thread_name);
    if (r == 0)
        r = field_offset(vm, n->string_klass, "value", &n->string_value);
    if (r == 0 && l->jdk >= 9)
        r = field_offset(vm, n->string_klass, "coder", &n->string_coder);
    return r;
}

/* JavaThread::_threadObj is an oop in JDK 8 to 15. Since JDK 16 it is a handle: a pointer to an oop
 * that is not compressed. */
int thread_java_object(struct hotspot_vm *vm, uint64_t thread, uint64_t *ret)
{
    uint64_t v;
    int r = field_u64(vm, thread, vm->layout.thread_object, &v);

    if (r == 0 && v != 0 && layout_has_handles(&vm->layout))
        return heap_handle(vm, v, ret);
    if (r < 0 || v == 0)
        return r < 0 ? r : -ENOENT;
    *ret = v;
    return 0;
}

static int oop_is_string(struct hotspot_vm *vm, uint64_t oop)
{
    uint64_t klass = 0;
    int r = object_klass(vm, oop, &klass);

    return r < 0 ? r : klass == vm->names.string_klass;
}

/* Appends the text of the array at @array. @wide: two bytes for each character. */
static int array_add(struct hotspot_vm *vm, uint64_t array, bool wide, struct buf *ret)
{
    uint8_t bytes[NAME_CHARS_MAX * 2];
    uint64_t data;
    uint32_t length;
    int r = heap_array(vm, array, wide && vm->layout.jdk < 9 ? 2 : 1, &length, &data);

    if (r < 0)
        return r;
    if (wide && vm->layout.jdk >= 9) /* a byte[] that holds UTF-16 */
        length /= 2;
    length = MIN(length, (uint32_t)NAME_CHARS_MAX);
    r = memory_read(&vm->memory, data, bytes, (size_t)length << wide);
    if (r == 0)
        text_add_utf16(ret, bytes, length, wide);
    return r;
}

int names_ready(struct hotspot_vm *vm)
{
    struct name_layout *n = &vm->names;
    int r;

    if (vm->proof.objects_off || vm->layout.lacks[0])
        return -ENOENT;
    if (n->unusable)
        return -ENOENT;
    r = n->known ? 0 : names_open(vm);
    n->known = r == 0;
    zgc_ready(vm);
    /* Any other error can be of this moment: a page that came late, or a reader without budget. */
    n->unusable = r == -ENOENT || r == -EBADMSG || r == -EFAULT;
    return r;
}

int string_read(struct hotspot_vm *vm, uint64_t string, struct buf *ret)
{
    const struct name_layout *n = &vm->names;
    uint64_t array, coder = 1;
    int r = oop_is_string(vm, string);

    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    r = heap_load(vm, string + n->string_value, &array);
    if (r == 0 && n->string_coder)
        r = memory_number(&vm->memory, string + n->string_coder, 1, &coder);
    if (r == 0)
        r = array_add(vm, array, coder != 0, ret);
    return r;
}

int thread_name_read(struct hotspot_vm *vm, uint64_t thread, struct buf *ret)
{
    uint64_t object, string;
    int r = names_ready(vm);

    if (r < 0)
        return r;
    r = thread_java_object(vm, thread, &object)
            ?: heap_load(vm, object + vm->names.thread_name, &string);
    return r == 0 ? string_read(vm, string, ret) : r;
}
