/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * User-space interface of binderfs, the file system whose mounts hold binder
 * devices. Its file binder-control takes the ioctl below.
 */
#ifndef _UAPI_LINUX_BINDERFS_H
#define _UAPI_LINUX_BINDERFS_H

#include <linux/android/binder.h>
#include <linux/ioctl.h>
#include <linux/types.h>

/* Longest name of a device, without the terminating zero. */
#define BINDERFS_MAX_NAME 255

/**
 * struct binderfs_device - a device to be added
 * @name:	in: its file name in this mount
 * @major:	out: major number of the new device
 * @minor:	out: minor number of the new device
 */
struct binderfs_device {
	char	name[BINDERFS_MAX_NAME + 1];
	__u32	major;
	__u32	minor;
};

/* Add a device, with a context of its own, to the mount. */
#define BINDER_CTL_ADD _IOWR('b', 1, struct binderfs_device)

#endif /* _UAPI_LINUX_BINDERFS_H */
