/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space interface of the Binder driver's generic netlink family, which
 * reports failed and suspicious transactions to a multicast group.
 */
#ifndef _UAPI_LINUX_ANDROID_BINDER_NETLINK_H
#define _UAPI_LINUX_ANDROID_BINDER_NETLINK_H

#define BINDER_FAMILY_NAME	"binder"
#define BINDER_FAMILY_VERSION	1
#define BINDER_MCGRP_REPORT	"report"

/* The one message. */
enum {
	BINDER_CMD_REPORT	= 1,

	/* private: */
	__BINDER_CMD_MAX,
	/* public: */
	BINDER_CMD_MAX		= __BINDER_CMD_MAX - 1
};

/* Its attributes. */
enum {
	BINDER_A_REPORT_ERROR	= 1,	/* u32: the BR_* code for the sender */
	BINDER_A_REPORT_CONTEXT,	/* string: name of the device */
	BINDER_A_REPORT_FROM_PID,	/* u32: process of the sender */
	BINDER_A_REPORT_FROM_TID,	/* u32: thread of the sender */
	BINDER_A_REPORT_TO_PID,		/* u32: process of the receiver, if known */
	BINDER_A_REPORT_TO_TID,		/* u32: thread of the receiver, if known */
	BINDER_A_REPORT_IS_REPLY,	/* flag: it was a reply */
	BINDER_A_REPORT_FLAGS,		/* u32: TF_* of the message */
	BINDER_A_REPORT_CODE,		/* u32: code of the message */
	BINDER_A_REPORT_DATA_SIZE,	/* u32: bytes of data */

	/* private: */
	__BINDER_A_REPORT_MAX,
	/* public: */
	BINDER_A_REPORT_MAX	= __BINDER_A_REPORT_MAX - 1
};

#endif /* _UAPI_LINUX_ANDROID_BINDER_NETLINK_H */
