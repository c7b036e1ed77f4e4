# SPDX-License-Identifier: GPL-2.0
#
# Loads the module without the C driver, in the debug kernel.

forget_leaks
begin load alone
expect "module_loads" insmod $OURS devices=rbinder0,rbinder1
expect "first_device_appears" test -c /dev/rbinder0
expect "second_device_appears" test -c /dev/rbinder1
finish
