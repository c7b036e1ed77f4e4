/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The events of the driver: group, names, fields and texts are those of the C
 * driver (binder), so that what reads its events reads these.
 *
 * Every event takes its fields as arguments, in their order; the Rust side is
 * ffi/trace.rs. TRACE_EVENT() changes its meaning with each reading of this file,
 * the macros here only say less often what a field is.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM binder

#if !defined(_RUST_BINDER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RUST_BINDER_TRACE_H

#include <linux/tracepoint.h>

#ifndef RB_EVENT1
#define RB_SET(field)	(__entry->field = field)

#define RB_EVENT1(kind, name, T1, a, ...)				\
	kind(name, TP_PROTO(T1 a), TP_ARGS(a),				\
	     TP_STRUCT__entry(__field(T1, a)),				\
	     TP_fast_assign(RB_SET(a);), TP_printk(__VA_ARGS__))

#define RB_EVENT2(kind, name, T1, a, T2, b, ...)			\
	kind(name, TP_PROTO(T1 a, T2 b), TP_ARGS(a, b),			\
	     TP_STRUCT__entry(__field(T1, a) __field(T2, b)),		\
	     TP_fast_assign(RB_SET(a); RB_SET(b);), TP_printk(__VA_ARGS__))

#define RB_EVENT3(kind, name, T1, a, T2, b, T3, c, ...)			\
	kind(name, TP_PROTO(T1 a, T2 b, T3 c), TP_ARGS(a, b, c),	\
	     TP_STRUCT__entry(__field(T1, a) __field(T2, b) __field(T3, c)), \
	     TP_fast_assign(RB_SET(a); RB_SET(b); RB_SET(c);),		\
	     TP_printk(__VA_ARGS__))

#define RB_EVENT4(kind, name, T1, a, T2, b, T3, c, T4, d, ...)		\
	kind(name, TP_PROTO(T1 a, T2 b, T3 c, T4 d), TP_ARGS(a, b, c, d), \
	     TP_STRUCT__entry(__field(T1, a) __field(T2, b)		\
			      __field(T3, c) __field(T4, d)),		\
	     TP_fast_assign(RB_SET(a); RB_SET(b); RB_SET(c); RB_SET(d);), \
	     TP_printk(__VA_ARGS__))

#define RB_EVENT5(kind, name, T1, a, T2, b, T3, c, T4, d, T5, e, ...)	\
	kind(name, TP_PROTO(T1 a, T2 b, T3 c, T4 d, T5 e),		\
	     TP_ARGS(a, b, c, d, e),					\
	     TP_STRUCT__entry(__field(T1, a) __field(T2, b)		\
			      __field(T3, c) __field(T4, d) __field(T5, e)), \
	     TP_fast_assign(RB_SET(a); RB_SET(b); RB_SET(c); RB_SET(d);	\
			    RB_SET(e);),				\
	     TP_printk(__VA_ARGS__))

#define RB_EVENT6(kind, name, T1, a, T2, b, T3, c, T4, d, T5, e, T6, f, ...) \
	kind(name, TP_PROTO(T1 a, T2 b, T3 c, T4 d, T5 e, T6 f),	\
	     TP_ARGS(a, b, c, d, e, f),					\
	     TP_STRUCT__entry(__field(T1, a) __field(T2, b)		\
			      __field(T3, c) __field(T4, d)		\
			      __field(T5, e) __field(T6, f)),		\
	     TP_fast_assign(RB_SET(a); RB_SET(b); RB_SET(c); RB_SET(d);	\
			    RB_SET(e); RB_SET(f);),			\
	     TP_printk(__VA_ARGS__))

#define RB_EVENT7(kind, name, T1, a, T2, b, T3, c, T4, d, T5, e, T6, f,	\
		  T7, g, ...)						\
	kind(name, TP_PROTO(T1 a, T2 b, T3 c, T4 d, T5 e, T6 f, T7 g),	\
	     TP_ARGS(a, b, c, d, e, f, g),				\
	     TP_STRUCT__entry(__field(T1, a) __field(T2, b)		\
			      __field(T3, c) __field(T4, d)		\
			      __field(T5, e) __field(T6, f) __field(T7, g)), \
	     TP_fast_assign(RB_SET(a); RB_SET(b); RB_SET(c); RB_SET(d);	\
			    RB_SET(e); RB_SET(f); RB_SET(g);),		\
	     TP_printk(__VA_ARGS__))
#endif /* RB_EVENT1 */

/* System calls and the thread that makes them. */

RB_EVENT2(TRACE_EVENT, binder_ioctl,
	  unsigned int, cmd, unsigned long, arg,
	  "cmd=0x%x arg=0x%lx", __entry->cmd, __entry->arg);

RB_EVENT1(DECLARE_EVENT_CLASS, rust_binder_result,
	  int, ret, "ret=%d", __entry->ret);
DEFINE_EVENT(rust_binder_result, binder_ioctl_done, TP_PROTO(int ret), TP_ARGS(ret));
DEFINE_EVENT(rust_binder_result, binder_write_done, TP_PROTO(int ret), TP_ARGS(ret));
DEFINE_EVENT(rust_binder_result, binder_read_done, TP_PROTO(int ret), TP_ARGS(ret));

RB_EVENT3(TRACE_EVENT, binder_wait_for_work,
	  bool, proc_work, bool, transaction_stack, bool, thread_todo,
	  "proc_work=%d transaction_stack=%d thread_todo=%d",
	  __entry->proc_work, __entry->transaction_stack, __entry->thread_todo);

RB_EVENT1(TRACE_EVENT, binder_command, u32, cmd,
	  "cmd=0x%x %s", __entry->cmd, rust_binder_command_name(__entry->cmd));

RB_EVENT1(TRACE_EVENT, binder_return, u32, cmd,
	  "cmd=0x%x %s", __entry->cmd, rust_binder_return_name(__entry->cmd));

/* Transactions on their way. */

RB_EVENT7(TRACE_EVENT, binder_transaction,
	  int, debug_id, int, target_node, int, to_proc, int, to_thread,
	  int, reply, unsigned int, code, unsigned int, flags,
	  "transaction=%d dest_node=%d dest_proc=%d dest_thread=%d reply=%d flags=0x%x code=0x%x",
	  __entry->debug_id, __entry->target_node, __entry->to_proc,
	  __entry->to_thread, __entry->reply, __entry->flags, __entry->code);

RB_EVENT1(TRACE_EVENT, binder_transaction_received,
	  int, debug_id, "transaction=%d", __entry->debug_id);

RB_EVENT7(TRACE_EVENT, binder_txn_latency_free,
	  int, debug_id, int, from_proc, int, from_thread, int, to_proc,
	  int, to_thread, unsigned int, code, unsigned int, flags,
	  "transaction=%d from %d:%d to %d:%d flags=0x%x code=0x%x",
	  __entry->debug_id, __entry->from_proc, __entry->from_thread,
	  __entry->to_proc, __entry->to_thread, __entry->flags, __entry->code);

/* What is in them. */

RB_EVENT5(TRACE_EVENT, binder_transaction_node_to_ref,
	  int, debug_id, int, node_debug_id, u64, node_ptr, int, ref_debug_id,
	  u32, ref_desc,
	  "transaction=%d node=%d src_ptr=0x%016llx ==> dest_ref=%d dest_desc=%d",
	  __entry->debug_id, __entry->node_debug_id, __entry->node_ptr,
	  __entry->ref_debug_id, __entry->ref_desc);

RB_EVENT5(TRACE_EVENT, binder_transaction_ref_to_node,
	  int, debug_id, int, ref_debug_id, u32, ref_desc, int, node_debug_id,
	  u64, node_ptr,
	  "transaction=%d node=%d src_ref=%d src_desc=%d ==> dest_ptr=0x%016llx",
	  __entry->debug_id, __entry->node_debug_id, __entry->ref_debug_id,
	  __entry->ref_desc, __entry->node_ptr);

RB_EVENT6(TRACE_EVENT, binder_transaction_ref_to_ref,
	  int, debug_id, int, node_debug_id, int, src_ref_debug_id,
	  u32, src_ref_desc, int, dest_ref_debug_id, u32, dest_ref_desc,
	  "transaction=%d node=%d src_ref=%d src_desc=%d ==> dest_ref=%d dest_desc=%d",
	  __entry->debug_id, __entry->node_debug_id, __entry->src_ref_debug_id,
	  __entry->src_ref_desc, __entry->dest_ref_debug_id,
	  __entry->dest_ref_desc);

RB_EVENT3(TRACE_EVENT, binder_transaction_fd_send,
	  int, debug_id, int, fd, size_t, offset,
	  "transaction=%d src_fd=%d offset=%zu",
	  __entry->debug_id, __entry->fd, __entry->offset);

RB_EVENT3(TRACE_EVENT, binder_transaction_fd_recv,
	  int, debug_id, int, fd, size_t, offset,
	  "transaction=%d dest_fd=%d offset=%zu",
	  __entry->debug_id, __entry->fd, __entry->offset);

/* Buffers. */

RB_EVENT4(DECLARE_EVENT_CLASS, rust_binder_buffer,
	  int, debug_id, size_t, data_size, size_t, offsets_size,
	  size_t, extra_buffers_size,
	  "transaction=%d data_size=%zd offsets_size=%zd extra_buffers_size=%zd",
	  __entry->debug_id, __entry->data_size, __entry->offsets_size,
	  __entry->extra_buffers_size);
#define RB_BUFFER_EVENT(name)						\
	DEFINE_EVENT(rust_binder_buffer, name,				\
		     TP_PROTO(int debug_id, size_t data_size,		\
			      size_t offsets_size, size_t extra_buffers_size), \
		     TP_ARGS(debug_id, data_size, offsets_size, extra_buffers_size))
RB_BUFFER_EVENT(binder_transaction_alloc_buf);
RB_BUFFER_EVENT(binder_transaction_buffer_release);
RB_BUFFER_EVENT(binder_transaction_failed_buffer_release);
RB_BUFFER_EVENT(binder_transaction_update_buffer_release);

RB_EVENT4(TRACE_EVENT, binder_update_page_range,
	  int, proc, bool, allocate, size_t, offset, size_t, size,
	  "proc=%d allocate=%d offset=%zu size=%zu",
	  __entry->proc, __entry->allocate, __entry->offset, __entry->size);

RB_EVENT2(DECLARE_EVENT_CLASS, rust_binder_page,
	  int, proc, size_t, page_index,
	  "proc=%d page_index=%zu", __entry->proc, __entry->page_index);
#define RB_PAGE_EVENT(name)						\
	DEFINE_EVENT(rust_binder_page, name,				\
		     TP_PROTO(int proc, size_t page_index),		\
		     TP_ARGS(proc, page_index))
RB_PAGE_EVENT(binder_alloc_page_start);
RB_PAGE_EVENT(binder_alloc_page_end);

#endif /* _RUST_BINDER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
