/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of HotSpot in one running JVM: every offset, static and constant that naming and unwinding
 * need. All come from the VM's own tables (gHotSpotVMStructs and relatives); flamed never
 * assumes a value that those tables state. The list below is complete. Each row gives the JDKs in
 * which it is required. The entry for a row was seen in the sources or in a running JVM of these
 * releases. Seen running: JDK 8, 11, 17, 21 and 25 to 28. For another release, every row counts
 * that the VM's tables have. A row is required there if the nearest seen releases before and after
 * both require it. The rest is checked on the process (code/proof_methods.c and others).
 *
 * unwind_tables/ uses this file, too. This file does not know how objects are read.
 */
#pragma once

#include "base/error.h"
#include "hotspot/memory.h"

/* The place of a struct's member. */
struct layout_field {
    int32_t offset; /* bytes from the struct's start; -1: this JDK has no such field */
    uint8_t width;  /* bytes of a number or pointer; 0: an object or array */
    bool sign;      /* sign-extended on reading */
};

#define W1 1
#define W2 2
#define W4 4
#define W8 8
#define WANY 0 /* an object, an array, or a type that the tables do not explain */

#define LAYOUT_NO_NUMBER INT32_MIN
#define LAYOUT_LACKS_MAX 96
#define LAYOUT_JDK_MAX 99

#define JDK_ALL 8, 99
#define JDK_MAY 0, 0 /* optional */

/*
 * X(member, type, field, accepted widths, first JDK, last JDK that must have the field). A(...) has
 * the same columns and names the member of an earlier row that a later JDK moved.
 */
#define LAYOUT_FIELDS(X, A)                                                                        \
    /* The version; JDK_Version exists up to JDK 21. */                                            \
    X(jdk_version_major, "JDK_Version", "_major", W1, 8, 21)                                       \
    /* Code heaps. */                                                                              \
    X(array_len, "GrowableArrayBase", "_len", W4, 16, 99)                                          \
    A(array_len, "GenericGrowableArray", "_len", W4, 9, 15)                                        \
    X(array_data, "GrowableArray<int>", "_data", W8, 9, 99)                                        \
    X(code_heap_memory, "CodeHeap", "_memory", WANY, JDK_ALL)                                      \
    X(code_heap_segmap, "CodeHeap", "_segmap", WANY, JDK_ALL)                                      \
    X(code_heap_log2_segment, "CodeHeap", "_log2_segment_size", W4, JDK_ALL)                       \
    X(space_low, "VirtualSpace", "_low_boundary", W8, JDK_ALL)                                     \
    X(space_high, "VirtualSpace", "_high_boundary", W8, JDK_ALL)                                   \
    X(space_committed_low, "VirtualSpace", "_low", W8, JDK_MAY)                                    \
    X(space_committed_high, "VirtualSpace", "_high", W8, JDK_MAY)                                  \
    X(heap_block_header, "HeapBlock", "_header", WANY, JDK_ALL)                                    \
    X(block_length, "HeapBlock::Header", "_length", W4 | W8, JDK_ALL) /* in segments */            \
    X(block_used, "HeapBlock::Header", "_used", W1, JDK_ALL)                                       \
    /* Code blobs. In JDK 9 to 22, code bounds are pointers, else offsets from the blob. */        \
    X(blob_name, "CodeBlob", "_name", W8, JDK_ALL)                                                 \
    X(blob_size, "CodeBlob", "_size", W4, JDK_ALL)                                                 \
    X(blob_kind, "CodeBlob", "_kind", W1, 23, 99)                                                  \
    X(blob_frame_size, "CodeBlob", "_frame_size", W4, JDK_ALL) /* words */                         \
    X(blob_frame_complete, "CodeBlob", "_frame_complete_offset", W2 | W4, JDK_ALL)                 \
    X(blob_code_begin, "CodeBlob", "_code_begin", W8, 9, 22)                                       \
    X(blob_code_end, "CodeBlob", "_code_end", W8, 9, 22)                                           \
    X(blob_code_offset, "CodeBlob", "_code_offset", W4, 8, 8)                                      \
    A(blob_code_offset, "CodeBlob", "_code_offset", W4, 23, 99)                                    \
    X(blob_data_offset, "CodeBlob", "_data_offset", W4, JDK_ALL)                                   \
    X(blob_relocation_size, "CodeBlob", "_relocation_size", W4, 25, 99)                            \
    X(blob_mutable_data, "CodeBlob", "_mutable_data", W8, 25, 99)                                  \
    X(blob_mutable_data_size, "CodeBlob", "_mutable_data_size", W4, 25, 99)                        \
    X(nmethod_method, "nmethod", "_method", W8, 8, 8)                                              \
    A(nmethod_method, "CompiledMethod", "_method", W8, 9, 22)                                      \
    A(nmethod_method, "nmethod", "_method", W8, 23, 99)                                            \
    X(nmethod_state, "nmethod", "_state", W1, JDK_ALL)                                             \
    X(nmethod_compile_id, "nmethod", "_compile_id", W4, JDK_ALL)                                   \
    X(nmethod_level, "nmethod", "_comp_level", W1 | W4, JDK_ALL)                                   \
    X(nmethod_entry_bci, "nmethod", "_entry_bci", W4, JDK_ALL)                                     \
    X(nmethod_orig_pc, "nmethod", "_orig_pc_offset", W4, JDK_ALL) /* from the frame's sp */        \
    X(nmethod_verified_entry, "nmethod", "_verified_entry_point", W8, 8, 22)                       \
    X(nmethod_verified_entry_offset, "nmethod", "_verified_entry_offset", W2 | W4, 23, 99)         \
    X(nmethod_deopt_offset, "nmethod", "_deoptimize_offset", W4, 8, 8) /* from the blob */         \
    X(nmethod_deopt_begin, "CompiledMethod", "_deopt_handler_begin", W8, 9, 22)                    \
    A(nmethod_deopt_offset, "nmethod", "_deopt_handler_offset", W4, 23, 25)                        \
    A(nmethod_deopt_offset, "nmethod", "_deopt_handler_entry_offset", W4, 26, 99)                  \
    X(nmethod_deopt_mh_offset, "nmethod", "_deoptimize_mh_offset", W4, JDK_MAY)                    \
    A(nmethod_deopt_mh_offset, "nmethod", "_deopt_mh_handler_offset", W4, JDK_MAY)                 \
    X(nmethod_deopt_mh_begin, "CompiledMethod", "_deopt_mh_handler_begin", W8, JDK_MAY)            \
    X(nmethod_scopes_data_offset, "nmethod", "_scopes_data_offset", W4, 8, 8)                      \
    X(nmethod_scopes_data_begin, "CompiledMethod", "_scopes_data_begin", W8, 9, 22)                \
    A(nmethod_scopes_data_offset, "nmethod", "_scopes_data_offset", W4, 23, 99)                    \
    X(nmethod_scopes_pcs_offset, "nmethod", "_scopes_pcs_offset", W4, JDK_ALL)                     \
    X(nmethod_dependencies_offset, "nmethod", "_dependencies_offset", W4, 8, 22)                   \
    X(nmethod_metadata_offset, "nmethod", "_metadata_offset", W2 | W4, 8, 24)                      \
    X(nmethod_handlers_offset, "nmethod", "_handler_table_offset", W2 | W4, JDK_MAY)               \
    X(nmethod_implicit_offset, "nmethod", "_nul_chk_table_offset", W2 | W4, JDK_MAY)               \
    X(nmethod_immutable_data, "nmethod", "_immutable_data", W8, 23, 99)                            \
    X(nmethod_immutable_data_size, "nmethod", "_immutable_data_size", W4, 23, 99)                  \
    X(pc_desc_pc, "PcDesc", "_pc_offset", W4, JDK_ALL)                                             \
    X(pc_desc_scope, "PcDesc", "_scope_decode_offset", W4, JDK_ALL)                                \
    /* The interpreter. */                                                                         \
    X(stub_queue_buffer, "StubQueue", "_stub_buffer", W8, JDK_ALL)                                 \
    X(stub_queue_limit, "StubQueue", "_buffer_limit", W4, JDK_ALL)                                 \
    X(stub_queue_end, "StubQueue", "_queue_end", W4, JDK_ALL)                                      \
    X(codelet_size, "InterpreterCodelet", "_size", W4, JDK_ALL)                                    \
    X(codelet_description, "InterpreterCodelet", "_description", W8, JDK_ALL)                      \
    X(codelet_bytecode, "InterpreterCodelet", "_bytecode", W4, JDK_MAY)                            \
    /* Methods and their names. */                                                                 \
    X(method_const, "Method", "_constMethod", W8, JDK_ALL)                                         \
    X(const_constants, "ConstMethod", "_constants", W8, JDK_ALL)                                   \
    X(const_size, "ConstMethod", "_constMethod_size", W4, JDK_ALL) /* words */                     \
    X(const_flags, "ConstMethod", "_flags", W2, 8, 20)                                             \
    A(const_flags, "ConstMethod", "_flags._flags", W4, 21, 99)                                     \
    X(const_code_size, "ConstMethod", "_code_size", W2, JDK_ALL)                                   \
    X(const_name, "ConstMethod", "_name_index", W2, JDK_ALL)                                       \
    X(const_signature, "ConstMethod", "_signature_index", W2, JDK_ALL)                             \
    X(pool_holder, "ConstantPool", "_pool_holder", W8, JDK_ALL)                                    \
    /* Targets of calls: entries of a cache. Since JDK 22, they are in an array of their own. */   \
    X(pool_cache, "ConstantPool", "_cache", W8, JDK_MAY)                                           \
    X(cache_length, "ConstantPoolCache", "_length", W4, JDK_MAY)                                   \
    X(cache_entry_f1, "ConstantPoolCacheEntry", "_f1", WANY | W8, JDK_MAY)                         \
    X(cache_entry_f2, "ConstantPoolCacheEntry", "_f2", W8, JDK_MAY)                                \
    X(cache_entry_flags, "ConstantPoolCacheEntry", "_flags", W8, JDK_MAY)                          \
    X(cache_resolved, "ConstantPoolCache", "_resolved_method_entries", WANY | W8, JDK_MAY)         \
    X(cache_resolved_fields, "ConstantPoolCache", "_resolved_field_entries", WANY | W8, JDK_MAY)   \
    X(pool_length, "ConstantPool", "_length", W4, JDK_ALL)                                         \
    X(pool_tags, "ConstantPool", "_tags", W8, JDK_MAY)                                             \
    X(pool_source_file, "ConstantPool", "_source_file_name_index", W2, 15, 99)                     \
    X(instance_source_file, "InstanceKlass", "_source_file_name_index", W2, 8, 14)                 \
    X(instance_constants, "InstanceKlass", "_constants", W8, JDK_ALL)                              \
    X(instance_methods, "InstanceKlass", "_methods", W8, JDK_MAY)                                  \
    X(array_methods_data, "Array<Method*>", "_data", WANY, JDK_MAY)                                \
    X(instance_fields, "InstanceKlass", "_fields", W8, 8, 20)                                      \
    X(instance_field_stream, "InstanceKlass", "_fieldinfo_stream", W8, 21, 99)                     \
    X(klass_name, "Klass", "_name", W8, JDK_ALL)                                                   \
    X(klass_super, "Klass", "_super", W8, JDK_MAY)                                                 \
    X(klass_mirror, "Klass", "_java_mirror", WANY, JDK_MAY) /* a handle since 10 */                \
    X(klass_subclass, "Klass", "_subklass", W8, JDK_MAY)                                           \
    X(klass_sibling, "Klass", "_next_sibling", W8, JDK_MAY)                                        \
    /* Annotations. If the tables lack the field of a class, it is the first word. */              \
    X(instance_annotations, "InstanceKlass", "_annotations", W8, JDK_MAY)                          \
    X(class_annotations, "Annotations", "_class_annotations", W8, JDK_MAY)                         \
    X(instance_interfaces, "InstanceKlass", "_transitive_interfaces", W8, JDK_MAY)                 \
    X(symbol_length, "Symbol", "_length", W2, JDK_ALL)                                             \
    A(symbol_length, "Symbol", "_length_and_refcount", W4, 11, 14) /* upper half; Kona: 11 */      \
    X(symbol_body, "Symbol", "_body", WANY, JDK_ALL)                                               \
    X(metadata_array_length, "Array<int>", "_length", W4, JDK_ALL)                                 \
    X(array_u1_data, "Array<u1>", "_data", WANY, JDK_ALL)                                          \
    X(array_u2_data, "Array<u2>", "_data", WANY, JDK_ALL)                                          \
    /* Threads. */                                                                                 \
    X(threads_list_length, "ThreadsList", "_length", W4, 13, 99)                                   \
    X(threads_list_threads, "ThreadsList", "_threads", W8, 13, 99)                                 \
    X(thread_next, "JavaThread", "_next", W8, 8, 12)                                               \
    X(thread_osthread, "JavaThread", "_osthread", W8, 8, 21)                                       \
    A(thread_osthread, "Thread", "_osthread", W8, 22, 99)                                          \
    X(thread_object, "JavaThread", "_threadObj", W8, JDK_ALL) /* oop till 15, then OopHandle */    \
    X(thread_state, "JavaThread", "_thread_state", W4, JDK_ALL)                                    \
    X(thread_saved_pc, "JavaThread", "_saved_exception_pc", W8, JDK_MAY)                           \
    X(thread_anchor, "JavaThread", "_anchor", WANY, JDK_ALL)                                       \
    X(thread_vframe_array, "JavaThread", "_vframe_array_head", W8, JDK_ALL) /* deopt running */    \
    X(thread_stack_base, "JavaThread", "_stack_base", W8, JDK_ALL)                                 \
    X(thread_stack_size, "JavaThread", "_stack_size", W8, JDK_ALL)                                 \
    /* In the tables of 25.0.3 and up, and of 26: not of 25.0.2. */                                \
    X(thread_cont_entry, "JavaThread", "_cont_entry", W8, JDK_MAY)                                 \
    /* A thread's allocation: its current buffer, and the bytes before that. */                    \
    X(thread_tlab, "Thread", "_tlab", WANY, JDK_MAY)                                               \
    X(thread_allocated_bytes, "Thread", "_allocated_bytes", W8, JDK_MAY)                           \
    X(tlab_start, "ThreadLocalAllocBuffer", "_start", W8, JDK_MAY)                                 \
    X(tlab_top, "ThreadLocalAllocBuffer", "_top", W8, JDK_MAY)                                     \
    X(tlab_end, "ThreadLocalAllocBuffer", "_end", W8, JDK_MAY)                                     \
    /* Sizes of objects, and the classes that an interpreted method names. */                      \
    X(klass_layout_helper, "Klass", "_layout_helper", W4, JDK_MAY)                                 \
    X(object_array_element, "ObjArrayKlass", "_element_klass", W8, JDK_MAY)                        \
    X(pool_resolved, "ConstantPool", "_resolved_klasses", W8, JDK_MAY)                             \
    /* Locks that a thread waits for, and their owners. In JDK 8 to 16 these are fields of Thread. \
     * Since JDK 24, an owner is a number. */                                                      \
    X(thread_pending_monitor, "JavaThread", "_current_pending_monitor", W8, JDK_MAY)               \
    A(thread_pending_monitor, "Thread", "_current_pending_monitor", W8, JDK_MAY)                   \
    X(thread_waiting_monitor, "JavaThread", "_current_waiting_monitor", W8, JDK_MAY)               \
    A(thread_waiting_monitor, "Thread", "_current_waiting_monitor", W8, JDK_MAY)                   \
    X(thread_owner_id, "JavaThread", "_monitor_owner_id", W8, JDK_MAY)                             \
    X(thread_vthread, "JavaThread", "_vthread", W8, JDK_MAY)                                       \
    X(thread_lock_stack, "JavaThread", "_lock_stack", WANY, JDK_MAY)                               \
    X(lock_stack_top, "LockStack", "_top", W4, JDK_MAY)                                            \
    X(lock_stack_base, "LockStack", "_base[0]", WANY, JDK_MAY)                                     \
    X(monitor_object, "ObjectMonitor", "_object", WANY,                                            \
      JDK_MAY) /* an oop till 15, then a handle */                                                 \
    X(monitor_owner, "ObjectMonitor", "_owner", WANY, JDK_MAY)                                     \
    X(monitor_waiters, "ObjectMonitor", "_waiters", W4 | W8, JDK_MAY)                              \
    X(monitor_contentions, "ObjectMonitor", "_contentions", W4, JDK_MAY)                           \
    X(anchor_sp, "JavaFrameAnchor", "_last_Java_sp", W8, JDK_ALL)                                  \
    X(anchor_pc, "JavaFrameAnchor", "_last_Java_pc", W8, JDK_ALL)                                  \
    X(anchor_fp, "JavaFrameAnchor", "_last_Java_fp", W8, JDK_MAY)                                  \
    X(wrapper_anchor, "JavaCallWrapper", "_anchor", WANY, JDK_MAY)                                 \
    X(osthread_id, "OSThread", "_thread_id", W4, JDK_ALL)                                          \
    X(osthread_pointer, "OSThread", "_pthread_id", W8, JDK_MAY)                                    \
    /* Objects of the Java heap: only names of threads and locks need these. */                    \
    X(oop_klass, "oopDesc", "_metadata._klass", W8, 8, 26)                                         \
    X(oop_compressed_klass, "oopDesc", "_metadata._compressed_klass", W4, 8, 26)                   \
    A(oop_compressed_klass, "oopDesc", "_compressed_klass", W4, 27, 99)                            \
    /* Bounds of memory. */                                                                        \
    X(heap_reserved, "CollectedHeap", "_reserved", WANY, JDK_MAY)                                  \
    X(heap_collections, "CollectedHeap", "_total_collections", W4, JDK_MAY)                        \
    X(heap_collects, "CollectedHeap", "_is_gc_active", W1, JDK_MAY)                                \
    A(heap_collects, "CollectedHeap", "_is_stw_gc_active", W1, JDK_MAY)                            \
    X(region_start, "MemRegion", "_start", W8, JDK_MAY)                                            \
    X(region_words, "MemRegion", "_word_size", W8, JDK_MAY)                                        \
    X(barrier_card_table, "CardTableBarrierSet", "_card_table", W8, JDK_MAY)                       \
    X(card_map, "CardTable", "_byte_map", W8, JDK_MAY)                                             \
    X(card_map_bytes, "CardTable", "_byte_map_size", W8, JDK_MAY)                                  \
    /* Forwarding of objects that generational ZGC has moved. */                                   \
    X(z_bad_mask, "ZGlobalsForVMStructs", "_ZPointerLoadBadMask", W8, JDK_MAY)                     \
    X(z_offset_mask, "ZGlobalsForVMStructs", "_ZAddressOffsetMask", W8, JDK_MAY)                   \
    X(z_heap, "ZCollectedHeap", "_heap", WANY, JDK_MAY)                                            \
    X(z_page_table, "ZHeap", "_page_table", WANY, JDK_MAY)                                         \
    /* Forwarding of the older ZGC; JDK 21 to 23 call it X. */                                     \
    X(z_weak_bad_mask, "ZGlobalsForVMStructs", "_ZAddressWeakBadMask", W8, JDK_MAY)                \
    X(z_forwardings, "ZHeap", "_forwarding_table", WANY, JDK_MAY)                                  \
    X(x_weak_bad_mask, "XGlobalsForVMStructs", "_XAddressWeakBadMask", W8, JDK_MAY)                \
    X(x_offset_mask, "XGlobalsForVMStructs", "_XAddressOffsetMask", W8, JDK_MAY)                   \
    X(x_heap, "XCollectedHeap", "_heap", WANY, JDK_MAY)                                            \
    X(x_forwardings, "XHeap", "_forwarding_table", WANY, JDK_MAY)                                  \
    X(loader_next, "ClassLoaderData", "_next", W8, JDK_MAY)                                        \
    X(loader_klasses, "ClassLoaderData", "_klasses", W8, JDK_MAY)                                  \
    X(klass_next, "Klass", "_next_link", W8, JDK_MAY)                                              \
    /* The dictionary of all classes of JDK 8. */                                                  \
    X(table_size, "BasicHashtable<mtInternal>", "_table_size", W4, JDK_MAY)                        \
    X(table_buckets, "BasicHashtable<mtInternal>", "_buckets", W8, JDK_MAY)                        \
    X(table_next, "BasicHashtableEntry<mtInternal>", "_next", W8, JDK_MAY)                         \
    X(table_literal, "IntptrHashtableEntry", "_literal", WANY, JDK_MAY)                            \
    /* -XX flags: the class is Flag up to JDK 10; the type is a name up to JDK 15. */              \
    X(flag_type, "Flag", "_type", W8, 8, 10)                                                       \
    X(flag_name, "Flag", "_name", W8, 8, 10)                                                       \
    X(flag_address, "Flag", "_addr", WANY, 8, 10)                                                  \
    A(flag_type, "JVMFlag", "_type", W4 | W8, 11, 99)                                              \
    A(flag_name, "JVMFlag", "_name", W8, 11, 99)                                                   \
    A(flag_address, "JVMFlag", "_addr", WANY, 11, 99)

/* X(member, type, field, first JDK, last JDK): static variables; the member is the address. */
#define LAYOUT_STATICS(X, A)                                                                       \
    X(jdk_version, "JDK_Version", "_current", 8, 21)                                               \
    X(vm_major_version, "Abstract_VM_Version", "_vm_major_version", JDK_ALL)                       \
    X(vm_release, "Abstract_VM_Version", "_s_vm_release", JDK_MAY)                                 \
    X(vm_info, "Abstract_VM_Version", "_s_internal_vm_info_string", JDK_MAY)                       \
    X(code_heap, "CodeCache", "_heap", 8, 8)                                                       \
    X(code_heaps, "CodeCache", "_heaps", 9, 99)                                                    \
    X(interpreter_code, "AbstractInterpreter", "_code", JDK_ALL)                                   \
    X(call_stub_return, "StubRoutines", "_call_stub_return_address", JDK_ALL)                      \
    X(thread_list, "Threads", "_thread_list", 8, 12)                                               \
    X(thread_smr_list, "ThreadsSMRSupport", "_java_thread_list", 13, 99)                           \
    X(flags, "Flag", "flags", 8, 10)                                                               \
    X(flag_count, "Flag", "numFlags", 8, 10)                                                       \
    A(flags, "JVMFlag", "flags", 11, 99)                                                           \
    A(flag_count, "JVMFlag", "numFlags", 11, 99)                                                   \
    X(jvm_args, "Arguments", "_jvm_args_array", JDK_ALL)                                           \
    X(jvm_arg_count, "Arguments", "_num_jvm_args", JDK_ALL)                                        \
    X(java_command, "Arguments", "_java_command", JDK_ALL)                                         \
    X(perf_start, "PerfMemory", "_start", JDK_MAY)                                                 \
    X(perf_capacity, "PerfMemory", "_capacity", JDK_MAY)                                           \
    X(can_redefine, "JvmtiExport", "_can_hotswap_or_post_breakpoint", JDK_MAY)                     \
    X(collected_heap, "Universe", "_collectedHeap", JDK_MAY)                                       \
    X(loaders, "ClassLoaderDataGraph", "_head", JDK_MAY)                                           \
    X(dictionary, "SystemDictionary", "_dictionary", JDK_MAY)                                      \
    X(z_globals, "ZGlobalsForVMStructs", "_instance_p", JDK_MAY)                                   \
    X(x_globals, "XGlobalsForVMStructs", "_instance_p", JDK_MAY)                                   \
    X(barrier_set, "BarrierSet", "_barrier_set", JDK_MAY)                                          \
    X(oop_base, "Universe", "_narrow_oop._base", 8, 12)                                            \
    A(oop_base, "CompressedOops", "_narrow_oop._base", 13, 21)                                     \
    A(oop_base, "CompressedOops", "_base", 25, 99)                                                 \
    X(oop_shift, "Universe", "_narrow_oop._shift", 8, 12)                                          \
    A(oop_shift, "CompressedOops", "_narrow_oop._shift", 13, 21)                                   \
    A(oop_shift, "CompressedOops", "_shift", 25, 99)                                               \
    X(klass_base, "Universe", "_narrow_klass._base", 8, 12)                                        \
    A(klass_base, "CompressedKlassPointers", "_narrow_klass._base", 13, 21)                        \
    A(klass_base, "CompressedKlassPointers", "_base", 25, 99)                                      \
    X(klass_shift, "Universe", "_narrow_klass._shift", 8, 12)                                      \
    A(klass_shift, "CompressedKlassPointers", "_narrow_klass._shift", 13, 21)                      \
    A(klass_shift, "CompressedKlassPointers", "_shift", 25, 99)                                    \
    X(class_klass, "java_lang_Class", "_klass_offset", JDK_MAY)                                    \
    X(class_class, "SystemDictionary", "_well_known_klasses[SystemDictionary::Class_klass_knum]",  \
      JDK_MAY)                                                                                     \
    A(class_class, "vmClasses", "_klasses[static_cast<int>(vmClassID::Class_klass_knum)]",         \
      JDK_MAY)                                                                                     \
    X(string_klass, "SystemDictionary",                                                            \
      "_well_known_klasses[SystemDictionary::String_klass_knum]", 8, 16)                           \
    A(string_klass, "vmClasses", "_klasses[static_cast<int>(vmClassID::String_klass_knum)]", 17,   \
      99)                                                                                          \
    X(thread_klass, "SystemDictionary",                                                            \
      "_well_known_klasses[SystemDictionary::Thread_klass_knum]", 8, 16)                           \
    A(thread_klass, "vmClasses", "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]", 17, 99)

/* X(member, type, first JDK, last JDK): sizes of types, in bytes. */
#define LAYOUT_SIZES(X)                                                                            \
    X(JDK_Version, "JDK_Version", 8, 21)                                                           \
    X(GrowableArrayBase, "GrowableArrayBase", 16, 99)                                              \
    X(GenericGrowableArray, "GenericGrowableArray", 9, 15)                                         \
    X(GrowableArray_int, "GrowableArray<int>", 9, 99)                                              \
    X(CodeHeap, "CodeHeap", JDK_ALL)                                                               \
    X(VirtualSpace, "VirtualSpace", JDK_ALL)                                                       \
    X(HeapBlock, "HeapBlock", JDK_ALL)                                                             \
    X(HeapBlock_Header, "HeapBlock::Header", JDK_ALL)                                              \
    X(CodeBlob, "CodeBlob", JDK_ALL)                                                               \
    X(CompiledMethod, "CompiledMethod", 9, 22)                                                     \
    X(nmethod, "nmethod", JDK_ALL)                                                                 \
    X(PcDesc, "PcDesc", JDK_ALL)                                                                   \
    X(StubQueue, "StubQueue", JDK_ALL)                                                             \
    X(InterpreterCodelet, "InterpreterCodelet", JDK_ALL)                                           \
    X(Method, "Method", JDK_ALL)                                                                   \
    X(ConstMethod, "ConstMethod", JDK_ALL)                                                         \
    X(ConstantPoolCache, "ConstantPoolCache", JDK_MAY)                                             \
    X(ConstantPoolCacheEntry, "ConstantPoolCacheEntry", JDK_MAY)                                   \
    X(ResolvedMethodEntry, "ResolvedMethodEntry", JDK_MAY)                                         \
    X(ResolvedFieldEntry, "ResolvedFieldEntry", JDK_MAY)                                           \
    X(ConstantPool, "ConstantPool", JDK_ALL)                                                       \
    X(InstanceKlass, "InstanceKlass", JDK_ALL)                                                     \
    X(Klass, "Klass", JDK_ALL)                                                                     \
    X(Symbol, "Symbol", JDK_ALL)                                                                   \
    X(Array_int, "Array<int>", JDK_ALL)                                                            \
    X(Array_u1, "Array<u1>", JDK_ALL)                                                              \
    X(Array_u2, "Array<u2>", JDK_ALL)                                                              \
    X(Array_methods, "Array<Method*>", JDK_MAY)                                                    \
    X(ThreadsList, "ThreadsList", 13, 99)                                                          \
    X(Annotations, "Annotations", JDK_MAY)                                                         \
    X(JavaThread, "JavaThread", JDK_ALL)                                                           \
    X(Thread, "Thread", JDK_ALL)                                                                   \
    X(ThreadLocalAllocBuffer, "ThreadLocalAllocBuffer", JDK_MAY)                                   \
    X(ObjArrayKlass, "ObjArrayKlass", JDK_MAY)                                                     \
    X(JavaFrameAnchor, "JavaFrameAnchor", JDK_ALL)                                                 \
    X(JavaCallWrapper, "JavaCallWrapper", JDK_MAY)                                                 \
    X(OSThread, "OSThread", JDK_ALL)                                                               \
    X(ObjectMonitor, "ObjectMonitor", JDK_MAY)                                                     \
    X(LockStack, "LockStack", JDK_MAY)                                                             \
    X(ContinuationEntry, "ContinuationEntry", JDK_MAY)                                             \
    X(CollectedHeap, "CollectedHeap", JDK_MAY)                                                     \
    X(MemRegion, "MemRegion", JDK_MAY)                                                             \
    X(CardTableBarrierSet, "CardTableBarrierSet", JDK_MAY)                                         \
    X(CardTable, "CardTable", JDK_MAY)                                                             \
    X(ClassLoaderData, "ClassLoaderData", JDK_MAY)                                                 \
    X(BasicHashtable, "BasicHashtable<mtInternal>", JDK_MAY)                                       \
    X(BasicHashtableEntry, "BasicHashtableEntry<mtInternal>", JDK_MAY)                             \
    X(IntptrHashtableEntry, "IntptrHashtableEntry", JDK_MAY)                                       \
    X(ZGlobals, "ZGlobalsForVMStructs", JDK_MAY)                                                   \
    X(ZCollectedHeap, "ZCollectedHeap", JDK_MAY)                                                   \
    X(ZHeap, "ZHeap", JDK_MAY)                                                                     \
    X(ZForwarding, "ZForwarding", JDK_MAY)                                                         \
    X(XGlobals, "XGlobalsForVMStructs", JDK_MAY)                                                   \
    X(XCollectedHeap, "XCollectedHeap", JDK_MAY)                                                   \
    X(XHeap, "XHeap", JDK_MAY)                                                                     \
    X(XForwarding, "XForwarding", JDK_MAY)                                                         \
    X(oopDesc, "oopDesc", JDK_ALL)                                                                 \
    X(Flag, "Flag", 8, 10)                                                                         \
    X(JVMFlag, "JVMFlag", 11, 99)

/* X(member, constant, first JDK, last JDK): constants of the VM's build. */
#define LAYOUT_CONSTANTS(X, A)                                                                     \
    X(has_line_numbers, "ConstMethod::_has_linenumber_table", 8, 20)                               \
    A(has_line_numbers, "ConstMethodFlags::_misc_has_linenumber_table", 21, 99)                    \
    X(has_annotations, "ConstMethod::_has_method_annotations", JDK_MAY)                            \
    A(has_annotations, "ConstMethodFlags::_misc_has_method_annotations", JDK_MAY)                  \
    X(blob_kind_nmethod, "CodeBlobKind::Nmethod", 23, 99)                                          \
    X(field_slots, "FieldInfo::field_slots", 8, 20)                                                \
    X(field_tag_bits, "FIELDINFO_TAG_SIZE", 8, 20)                                                 \
    X(field_internal, "JVM_ACC_FIELD_INTERNAL", JDK_MAY)                                           \
    /* Bits of FieldInfo::FieldFlags: for each, one number follows the five of a field in the      \
     * stream. In JDK 21 to 27, these bits are 0, 1, 2 and 4. */                                   \
    X(field_initialized, "FieldInfo::FieldFlags::_ff_initialized", 28, 99)                         \
    X(field_injected, "FieldInfo::FieldFlags::_ff_injected", 28, 99)                               \
    X(field_generic, "FieldInfo::FieldFlags::_ff_generic", 28, 99)                                 \
    X(field_contended, "FieldInfo::FieldFlags::_ff_contended", 28, 99)                             \
    X(field_flat, "FieldInfo::FieldFlags::_ff_flat", JDK_MAY)                                      \
    X(field_null_marker, "FieldInfo::FieldFlags::_ff_null_marker", JDK_MAY)                        \
    /* Position of the class in compact headers, and states of a JavaThread. */                    \
    X(mark_klass_shift, "markWord::klass_shift", JDK_MAY)                                          \
    X(state_new, "_thread_new", JDK_MAY)                                                           \
    X(state_java, "_thread_in_Java", JDK_MAY)                                                      \
    X(state_native, "_thread_in_native", JDK_MAY)                                                  \
    X(state_blocked, "_thread_blocked", JDK_MAY)                                                   \
    X(state_unblocked, "_thread_blocked_trans", JDK_MAY)                                           \
    X(frame_sender_sp, "frame::interpreter_frame_sender_sp_offset", JDK_MAY)                       \
    X(frame_last_sp, "frame::interpreter_frame_last_sp_offset", JDK_MAY)                           \
    X(frame_call_wrapper, "frame::entry_frame_call_wrapper_offset", JDK_MAY)

struct hotspot_layout {
    int jdk;  /* feature release: 8, 11, 17, ... */
    bool run; /* this release was seen running; else the rows are a guess that proof.c checks */
    char lacks[LAYOUT_LACKS_MAX];    /* if not `run`: a missing row that objects need; "": none */
    bool aarch64;                    /* libjvm's processor is aarch64; else x86-64 */
    uint64_t image_start, image_end; /* libjvm.so in the target's memory */
    uint64_t data_start, data_end;   /* writable part of libjvm.so; equal: none */

#define X(member, ...) struct layout_field member;
#define A(member, ...)
    LAYOUT_FIELDS(X, A)
#undef X
#undef A

#define X(member, ...) uint64_t member##_at; /* 0: absent */
#define A(member, ...)
    LAYOUT_STATICS(X, A)
#undef X
#undef A

#define X(member, ...) uint32_t sizeof_##member; /* 0: absent */
    LAYOUT_SIZES(X)
#undef X

#define X(member, ...) int32_t member; /* LAYOUT_NO_NUMBER: absent */
#define A(member, ...)
    LAYOUT_CONSTANTS(X, A)
#undef X
#undef A
};

/* Returns whether this JDK has the field. */
static inline bool layout_has(struct layout_field f)
{
    return f.offset >= 0;
}

/* Returns the offset of a field. Returns 0 if this JDK has no such field, or the offset does not
 * fit. */
static inline uint16_t layout_offset(struct layout_field f)
{
    return layout_has(f) && f.offset <= UINT16_MAX ? (uint16_t)f.offset : 0;
}

/* Returns whether threads and monitors refer to their objects by handles: pointers to oops. */
static inline bool layout_has_handles(const struct hotspot_layout *l)
{
    return l->jdk >= 16;
}

/* Returns the number or pointer in field @f of the @n bytes at @object. Returns 0 if this JDK has
 * no such field, or the field lies outside. Signed fields are sign-extended. */
int64_t layout_get(struct layout_field f, const void *object, size_t n);

/* Returns the newest release that was seen running. */
int layout_newest(void);

struct dynsym;

/*
 * Reads the tables of the libjvm that @d opened. Return: 0 and *ret; HOTSPOT_NOT_READY: the tables
 * are not filled yet; HOTSPOT_UNSUPPORTED with @err: an unknown release or layout; the error of
 * memory_read().
 */
int layout_read(struct hotspot_memory *m, const struct dynsym *d, struct hotspot_layout *ret,
                struct error *err);
