// SPDX-License-Identifier: GPL-2.0
/*
 * Defines the events of trace.h; the kernel has no other way than C for it.
 */
#include <linux/types.h>

const char *rust_binder_command_name(u32 command);
const char *rust_binder_return_name(u32 code);

#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include "trace.h"
