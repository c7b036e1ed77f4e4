/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What bindgen turns into Rust for this module: the Binder ABI, and constants
 * that are macros with casts or enumerators which the kernel's own bindings
 * leave out.
 */
#ifndef _RUST_BINDER_HELPERS_H
#define _RUST_BINDER_HELPERS_H

#include <linux/compiler_types.h>
#include <linux/types.h>
#include <linux/ioctl.h>
#include <linux/android/binder.h>
#include <linux/android/binderfs.h>
#include <linux/android/binder_netlink.h>

/* The _IOWR() of an ABI command is an expression; bindgen needs a constant. */
#define RB_IOCTL(name) static const __u32 RB_##name = name

RB_IOCTL(BINDER_WRITE_READ);
RB_IOCTL(BINDER_SET_MAX_THREADS);
RB_IOCTL(BINDER_SET_CONTEXT_MGR);
RB_IOCTL(BINDER_THREAD_EXIT);
RB_IOCTL(BINDER_VERSION);
RB_IOCTL(BINDER_GET_NODE_DEBUG_INFO);
RB_IOCTL(BINDER_GET_NODE_INFO_FOR_REF);
RB_IOCTL(BINDER_SET_CONTEXT_MGR_EXT);
RB_IOCTL(BINDER_FREEZE);
RB_IOCTL(BINDER_GET_FROZEN_INFO);
RB_IOCTL(BINDER_ENABLE_ONEWAY_SPAM_DETECTION);
RB_IOCTL(BINDER_GET_EXTENDED_ERROR);

#endif /* _RUST_BINDER_HELPERS_H */
