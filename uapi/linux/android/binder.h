/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space interface of the Binder inter-process communication device.
 *
 * A process opens a binder device, maps a read-only area into which the driver
 * places incoming messages, and then exchanges two streams with the driver
 * through one ioctl, BINDER_WRITE_READ: a write stream of BC_* commands and a
 * read stream of BR_* returns. Each item of a stream is a 32-bit code, followed
 * without padding by the payload whose size is encoded in that code.
 *
 * Names, numbers and layouts are those of the mainline kernel. The one addition
 * is TF_DEFER_COMPLETE; a kernel without it ignores the bit.
 */
#ifndef _UAPI_LINUX_BINDER_H
#define _UAPI_LINUX_BINDER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Basic types
 *
 * The kernel speaks protocol version 8 only, in which addresses and sizes have
 * 64 bits whatever the word size of the process is. Version 7 is kept for
 * programs that are built for very old 32-bit kernels.
 */
#ifdef BINDER_IPC_32BIT
#define BINDER_CURRENT_PROTOCOL_VERSION 7
typedef __u32 binder_uintptr_t;
typedef __u32 binder_size_t;
#else
#define BINDER_CURRENT_PROTOCOL_VERSION 8
typedef __u64 binder_uintptr_t;
typedef __u64 binder_size_t;
#endif

/*
 * Objects inside of a message
 *
 * The offsets array of a message lists where such objects lie in its data. Every
 * object starts with its type; the driver checks each one and rewrites it so
 * that it makes sense in the receiving process.
 */
#define B_TYPE_LARGE 0x85
#define B_PACK_CHARS(c1, c2, c3, c4) \
	(((c1) << 24) | ((c2) << 16) | ((c3) << 8) | (c4))

enum {
	/* a node that the sender itself serves: strong, weak */
	BINDER_TYPE_BINDER	= B_PACK_CHARS('s', 'b', '*', B_TYPE_LARGE),
	BINDER_TYPE_WEAK_BINDER	= B_PACK_CHARS('w', 'b', '*', B_TYPE_LARGE),
	/* a node of another process, named by the sender's handle: strong, weak */
	BINDER_TYPE_HANDLE	= B_PACK_CHARS('s', 'h', '*', B_TYPE_LARGE),
	BINDER_TYPE_WEAK_HANDLE	= B_PACK_CHARS('w', 'h', '*', B_TYPE_LARGE),
	/* one file descriptor */
	BINDER_TYPE_FD		= B_PACK_CHARS('f', 'd', '*', B_TYPE_LARGE),
	/* an array of file descriptors that lies in a BINDER_TYPE_PTR block */
	BINDER_TYPE_FDA		= B_PACK_CHARS('f', 'd', 'a', B_TYPE_LARGE),
	/* a block of the sender's memory that travels beside the data */
	BINDER_TYPE_PTR		= B_PACK_CHARS('p', 't', '*', B_TYPE_LARGE),
};

/**
 * struct binder_object_header - what every object starts with
 * @type:	one of BINDER_TYPE_*
 */
struct binder_object_header {
	__u32	type;
};

/* Properties of a node, fixed by the object with which it was first sent. */
enum flat_binder_object_flags {
	/* nice value that a thread serving the node gets at least */
	FLAT_BINDER_FLAG_PRIORITY_MASK	= 0xff,
	/* requests to the node may carry file descriptors */
	FLAT_BINDER_FLAG_ACCEPTS_FDS	= 0x100,
	/* requests arrive as BR_TRANSACTION_SEC_CTX */
	FLAT_BINDER_FLAG_TXN_SECURITY_CTX = 0x1000,
};

/**
 * struct flat_binder_object - a node or a handle (BINDER_TYPE_[WEAK_]BINDER/HANDLE)
 * @hdr:	type of the object
 * @flags:	see enum flat_binder_object_flags; for a node of the sender
 * @binder:	for a node: the number by which its owner knows it
 * @handle:	for a handle: its number in the process that reads this
 * @cookie:	for a node: a second number of its owner's choice, returned
 *		with each request
 */
struct flat_binder_object {
	struct binder_object_header	hdr;
	__u32				flags;
	union {
		binder_uintptr_t	binder;
		__u32			handle;
	};
	binder_uintptr_t		cookie;
};

/**
 * struct binder_fd_object - a file descriptor (BINDER_TYPE_FD)
 * @hdr:	type of the object
 * @pad_flags:	unused; stands where a flat_binder_object has its flags
 * @pad_binder:	unused; widens the union to that of a flat_binder_object
 * @fd:		number of the descriptor in the process that reads this
 * @cookie:	not interpreted
 */
struct binder_fd_object {
	struct binder_object_header	hdr;
	__u32				pad_flags;
	union {
		binder_uintptr_t	pad_binder;
		__u32			fd;
	};
	binder_uintptr_t		cookie;
};

/* Flags of struct binder_buffer_object. */
enum {
	/* @parent and @parent_offset say where the block's address is stored */
	BINDER_BUFFER_FLAG_HAS_PARENT	= 0x01,
};

/**
 * struct binder_buffer_object - a block of memory (BINDER_TYPE_PTR)
 * @hdr:	type of the object
 * @flags:	BINDER_BUFFER_FLAG_*
 * @buffer:	address of the block, first the sender's, then the receiver's
 * @length:	size of the block in bytes
 * @parent:	index into the offsets array, of the earlier block that holds a
 *		pointer to this one
 * @parent_offset: where in the parent that pointer lies, in bytes; the driver
 *		stores the receiver's address of this block there
 */
struct binder_buffer_object {
	struct binder_object_header	hdr;
	__u32				flags;
	binder_uintptr_t		buffer;
	binder_size_t			length;
	binder_size_t			parent;
	binder_size_t			parent_offset;
};

/**
 * struct binder_fd_array_object - descriptors in a block (BINDER_TYPE_FDA)
 * @hdr:	type of the object
 * @pad:	keeps the 64-bit fields aligned
 * @num_fds:	how many 32-bit descriptor numbers the array has
 * @parent:	index into the offsets array, of the block that holds the array
 * @parent_offset: where in the parent the array starts, in bytes
 *
 * The receiver does not own these descriptors: they are closed by
 * BC_FREE_BUFFER.
 */
struct binder_fd_array_object {
	struct binder_object_header	hdr;
	__u32				pad;
	binder_size_t			num_fds;
	binder_size_t			parent;
	binder_size_t			parent_offset;
};

/*
 * Messages
 */

/* Bits of binder_transaction_data.flags. Unknown bits reach the receiver. */
enum transaction_flags {
	/* no reply is expected; requests to one node keep their order */
	TF_ONE_WAY		= 0x01,
	/* for user space: the data is the root object */
	TF_ROOT_OBJECT		= 0x04,
	/* for user space: the data of this reply is a 32-bit status */
	TF_STATUS_CODE		= 0x08,
	/* the reply may carry file descriptors */
	TF_ACCEPT_FDS		= 0x10,
	/* overwrite the receiver's copy with zeroes when it is freed */
	TF_CLEAR_BUF		= 0x20,
	/* drop an older oneway request of this kind that a frozen node has queued */
	TF_UPDATE_TXN		= 0x40,
	/*
	 * On BC_REPLY[_SG]: BR_TRANSACTION_COMPLETE of this reply is no reason to
	 * return to user space; it comes with the next thing that is. Not for
	 * replies with file descriptors or nodes, because these are held until
	 * the completion has been read.
	 */
	TF_DEFER_COMPLETE	= 0x80,
};

/**
 * struct binder_transaction_data - a request or a reply
 * @target:	whom the request is for
 * @target.handle: sent: handle of the node
 * @target.ptr:	received: the node's number at its owner, see
 *		struct flat_binder_object; 0 in a reply
 * @cookie:	received: the node's cookie; 0 in a reply
 * @code:	what is asked for; not interpreted
 * @flags:	see enum transaction_flags
 * @sender_pid:	received: process that sent the request, in the receiver's pid
 *		namespace; 0 if unknown, for a oneway request, and for a reply
 * @sender_euid: received: effective user of the sender, in the receiver's user
 *		namespace
 * @data_size:	bytes of data
 * @offsets_size: bytes of the offsets array, 8 per object
 * @data:	where both are
 * @data.ptr.buffer: address of the data; also what BC_FREE_BUFFER takes
 * @data.ptr.offsets: address of the offsets array
 * @data.buf:	never used
 */
struct binder_transaction_data {
	union {
		__u32			handle;
		binder_uintptr_t	ptr;
	} target;
	binder_uintptr_t		cookie;
	__u32				code;
	__u32				flags;
	__kernel_pid_t			sender_pid;
	__kernel_uid32_t		sender_euid;
	binder_size_t			data_size;
	binder_size_t			offsets_size;
	union {
		struct {
			binder_uintptr_t	buffer;
			binder_uintptr_t	offsets;
		} ptr;
		__u8			buf[8];
	} data;
};

/**
 * struct binder_transaction_data_sg - a message with blocks (BINDER_TYPE_PTR)
 * @transaction_data: the message
 * @buffers_size: room that all blocks need together in the receiver's area,
 *		each block rounded up to 8 bytes
 */
struct binder_transaction_data_sg {
	struct binder_transaction_data	transaction_data;
	binder_size_t			buffers_size;
};

/**
 * struct binder_transaction_data_secctx - a request with the sender's label
 * @transaction_data: the request
 * @secctx:	address of the sender's security context, a string
 */
struct binder_transaction_data_secctx {
	struct binder_transaction_data	transaction_data;
	binder_uintptr_t		secctx;
};

/*
 * Payloads of other commands and returns
 */

/* A node, as its owner knows it. */
struct binder_ptr_cookie {
	binder_uintptr_t	ptr;
	binder_uintptr_t	cookie;
};

/*
 * A handle and the number that its notifications carry. The 12 bytes are part of
 * the command codes, so the structure is packed for user space as well, without
 * help of a kernel macro.
 */
struct binder_handle_cookie {
	__u32			handle;
	binder_uintptr_t	cookie;
} __attribute__((packed));

/**
 * struct binder_frozen_state_info - payload of BR_FROZEN_BINDER
 * @cookie:	what BC_REQUEST_FREEZE_NOTIFICATION gave
 * @is_frozen:	1 if the owner of the node is frozen now, 0 if it runs
 * @reserved:	0
 */
struct binder_frozen_state_info {
	binder_uintptr_t	cookie;
	__u32			is_frozen;
	__u32			reserved;
};

/* Only in codes that were never supported. */
struct binder_pri_desc {
	__s32	priority;
	__u32	desc;
};

struct binder_pri_ptr_cookie {
	__s32			priority;
	binder_uintptr_t	ptr;
	binder_uintptr_t	cookie;
};

/*
 * BC_*: what user space tells the driver
 */
enum binder_driver_command_protocol {
	/* send a request, send a reply */
	BC_TRANSACTION		= _IOW('c', 0, struct binder_transaction_data),
	BC_REPLY		= _IOW('c', 1, struct binder_transaction_data),
	/* the same with room for BINDER_TYPE_PTR blocks */
	BC_TRANSACTION_SG	= _IOW('c', 17, struct binder_transaction_data_sg),
	BC_REPLY_SG		= _IOW('c', 18, struct binder_transaction_data_sg),
	/* give a received message's memory back: its data.ptr.buffer */
	BC_FREE_BUFFER		= _IOW('c', 3, binder_uintptr_t),

	/* count a handle: weak +1, strong +1, strong -1, weak -1 */
	BC_INCREFS		= _IOW('c', 4, __u32),
	BC_ACQUIRE		= _IOW('c', 5, __u32),
	BC_RELEASE		= _IOW('c', 6, __u32),
	BC_DECREFS		= _IOW('c', 7, __u32),
	/* answers to BR_INCREFS and BR_ACQUIRE */
	BC_INCREFS_DONE		= _IOW('c', 8, struct binder_ptr_cookie),
	BC_ACQUIRE_DONE		= _IOW('c', 9, struct binder_ptr_cookie),

	/* this thread now serves requests: asked for by the driver, or unasked */
	BC_REGISTER_LOOPER	= _IO('c', 11),
	BC_ENTER_LOOPER		= _IO('c', 12),
	/* this thread no longer serves requests */
	BC_EXIT_LOOPER		= _IO('c', 13),

	/* tell me when the owner of this handle's node dies; do not any more */
	BC_REQUEST_DEATH_NOTIFICATION = _IOW('c', 14, struct binder_handle_cookie),
	BC_CLEAR_DEATH_NOTIFICATION = _IOW('c', 15, struct binder_handle_cookie),
	/* answer to BR_DEAD_BINDER: its cookie */
	BC_DEAD_BINDER_DONE	= _IOW('c', 16, binder_uintptr_t),

	/* tell me when the owner of this handle's node is frozen or thawed; do not */
	BC_REQUEST_FREEZE_NOTIFICATION = _IOW('c', 19, struct binder_handle_cookie),
	BC_CLEAR_FREEZE_NOTIFICATION = _IOW('c', 20, struct binder_handle_cookie),
	/* answer to BR_FROZEN_BINDER: its cookie */
	BC_FREEZE_NOTIFICATION_DONE = _IOW('c', 21, binder_uintptr_t),

	/* never supported: the ioctl fails with EINVAL */
	BC_ACQUIRE_RESULT	= _IOW('c', 2, __s32),
	BC_ATTEMPT_ACQUIRE	= _IOW('c', 10, struct binder_pri_desc),
};

/*
 * BR_*: what the driver tells user space
 */
enum binder_driver_return_protocol {
	/* always the first item of a read: nothing, or "start another thread" */
	BR_NOOP			= _IO('r', 12),
	BR_SPAWN_LOOPER		= _IO('r', 13),

	/* a request, a request with the sender's label, a reply */
	BR_TRANSACTION		= _IOR('r', 2, struct binder_transaction_data),
	BR_TRANSACTION_SEC_CTX	= _IOR('r', 2, struct binder_transaction_data_secctx),
	BR_REPLY		= _IOR('r', 3, struct binder_transaction_data),

	/* fate of what this thread sent last: it is on its way ... */
	BR_TRANSACTION_COMPLETE	= _IO('r', 6),
	/* ... but this process holds much of the receiver's room for oneway requests */
	BR_ONEWAY_SPAM_SUSPECT	= _IO('r', 19),
	/* ... but the receiver is frozen, so the oneway request has to wait */
	BR_TRANSACTION_PENDING_FROZEN = _IO('r', 20),
	/* it did not or will not get an answer: receiver dead, frozen, other failure */
	BR_DEAD_REPLY		= _IO('r', 5),
	BR_FROZEN_REPLY		= _IO('r', 18),
	BR_FAILED_REPLY		= _IO('r', 17),

	/* the first weak, first strong reference to a node of this process exists */
	BR_INCREFS		= _IOR('r', 7, struct binder_ptr_cookie),
	BR_ACQUIRE		= _IOR('r', 8, struct binder_ptr_cookie),
	/* the last strong, last weak reference is gone */
	BR_RELEASE		= _IOR('r', 9, struct binder_ptr_cookie),
	BR_DECREFS		= _IOR('r', 10, struct binder_ptr_cookie),

	/* the owner of a node died; the request to be told has been withdrawn */
	BR_DEAD_BINDER		= _IOR('r', 15, binder_uintptr_t),
	BR_CLEAR_DEATH_NOTIFICATION_DONE = _IOR('r', 16, binder_uintptr_t),

	/* the owner of a node was frozen or thawed; the request was withdrawn */
	BR_FROZEN_BINDER	= _IOR('r', 21, struct binder_frozen_state_info),
	BR_CLEAR_FREEZE_NOTIFICATION_DONE = _IOR('r', 22, binder_uintptr_t),

	/* a command failed for a reason that is no fault of its sender: an errno */
	BR_ERROR		= _IOR('r', 0, __s32),

	/* never sent */
	BR_OK			= _IO('r', 1),
	BR_ACQUIRE_RESULT	= _IOR('r', 4, __s32),
	BR_ATTEMPT_ACQUIRE	= _IOR('r', 11, struct binder_pri_ptr_cookie),
	BR_FINISHED		= _IO('r', 14),
};

/*
 * Arguments of the ioctls
 */

/**
 * struct binder_write_read - both streams (BINDER_WRITE_READ)
 * @write_size:	bytes of commands at @write_buffer
 * @write_consumed: in: where to start; out: bytes of complete commands done
 * @write_buffer: address of the commands
 * @read_size:	room for returns at @read_buffer; 0: do not read
 * @read_consumed: in: where to start; out: end of what was written
 * @read_buffer: address of that room
 */
struct binder_write_read {
	binder_size_t		write_size;
	binder_size_t		write_consumed;
	binder_uintptr_t	write_buffer;
	binder_size_t		read_size;
	binder_size_t		read_consumed;
	binder_uintptr_t	read_buffer;
};

/* Answer of BINDER_VERSION: BINDER_CURRENT_PROTOCOL_VERSION of the kernel. */
struct binder_version {
	__s32	protocol_version;
};

/**
 * struct binder_node_debug_info - one own node (BINDER_GET_NODE_DEBUG_INFO)
 * @ptr:	in: any number, first 0; out: the own node with the smallest
 *		number above it, or 0 after the last one
 * @cookie:	out: cookie of that node
 * @has_strong_ref: out: 1 after BR_ACQUIRE, 0 after BR_RELEASE
 * @has_weak_ref: out: 1 after BR_INCREFS, 0 after BR_DECREFS
 */
struct binder_node_debug_info {
	binder_uintptr_t	ptr;
	binder_uintptr_t	cookie;
	__u32			has_strong_ref;
	__u32			has_weak_ref;
};

/**
 * struct binder_node_info_for_ref - counts of a node (BINDER_GET_NODE_INFO_FOR_REF)
 * @handle:	in: a handle of the context manager, who alone may ask
 * @strong_count: in: 0; out: strong references to the node
 * @weak_count:	in: 0; out: weak references to the node
 * @reserved1:	0
 * @reserved2:	0
 * @reserved3:	0
 */
struct binder_node_info_for_ref {
	__u32	handle;
	__u32	strong_count;
	__u32	weak_count;
	__u32	reserved1;
	__u32	reserved2;
	__u32	reserved3;
};

/**
 * struct binder_freeze_info - freeze or thaw a process (BINDER_FREEZE)
 * @pid:	the process
 * @enable:	1: freeze, 0: thaw
 * @timeout_ms:	how long to wait for calls that are being served, 0: not at all
 */
struct binder_freeze_info {
	__u32	pid;
	__u32	enable;
	__u32	timeout_ms;
};

/**
 * struct binder_frozen_status_info - what a frozen process missed (BINDER_GET_FROZEN_INFO)
 * @pid:	in: the process
 * @sync_recv:	out: bit 0: a call was refused since it was frozen,
 *		bit 1: a call is pending now
 * @async_recv:	out: a oneway request arrived since it was frozen
 */
struct binder_frozen_status_info {
	__u32	pid;
	__u32	sync_recv;
	__u32	async_recv;
};

/**
 * struct binder_extended_error - why this thread's last message failed
 *	(BINDER_GET_EXTENDED_ERROR, which also resets it)
 * @id:		debug number of the message
 * @command:	the BR_* code that reported it, BR_OK if nothing failed
 * @param:	a negative errno, or 0
 */
struct binder_extended_error {
	__u32	id;
	__u32	command;
	__s32	param;
};

enum {
	BINDER_WRITE_READ		= _IOWR('b', 1, struct binder_write_read),
	/* end of this thread's use of the device */
	BINDER_THREAD_EXIT		= _IOW('b', 8, __s32),
	/* protocol version of the driver */
	BINDER_VERSION			= _IOWR('b', 9, struct binder_version),
	/* how many threads the driver may ask for with BR_SPAWN_LOOPER */
	BINDER_SET_MAX_THREADS		= _IOW('b', 5, __u32),
	/* become handle 0 of this device; with flags for the node */
	BINDER_SET_CONTEXT_MGR		= _IOW('b', 7, __s32),
	BINDER_SET_CONTEXT_MGR_EXT	= _IOW('b', 13, struct flat_binder_object),
	/* 1: this process, as a sender, wants BR_ONEWAY_SPAM_SUSPECT */
	BINDER_ENABLE_ONEWAY_SPAM_DETECTION = _IOW('b', 16, __u32),
	BINDER_FREEZE			= _IOW('b', 14, struct binder_freeze_info),
	BINDER_GET_FROZEN_INFO		= _IOWR('b', 15, struct binder_frozen_status_info),
	BINDER_GET_EXTENDED_ERROR	= _IOWR('b', 17, struct binder_extended_error),
	BINDER_GET_NODE_DEBUG_INFO	= _IOWR('b', 11, struct binder_node_debug_info),
	BINDER_GET_NODE_INFO_FOR_REF	= _IOWR('b', 12, struct binder_node_info_for_ref),
	/* never supported: EINVAL */
	BINDER_SET_IDLE_TIMEOUT		= _IOW('b', 3, __s64),
	BINDER_SET_IDLE_PRIORITY	= _IOW('b', 6, __s32),
};

#endif /* _UAPI_LINUX_BINDER_H */
