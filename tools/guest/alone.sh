# SPDX-License-Identifier: GPL-2.0
#
# Loads the module without the C driver, in the debug kernel.

mount -t debugfs d /sys/kernel/debug 2>/dev/null
# What the kernel's own start-up lost is not ours.
if [ -e /sys/kernel/debug/kmemleak ]; then
	echo scan > /sys/kernel/debug/kmemleak
	echo clear > /sys/kernel/debug/kmemleak
fi
begin load alone
expect "module_loads" insmod $OURS devices=rbinder0,rbinder1
expect "first_device_appears" test -c /dev/rbinder0
expect "second_device_appears" test -c /dev/rbinder1
finish
