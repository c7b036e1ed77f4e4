# SPDX-License-Identifier: GPL-2.0
#
# Loading and unloading without the C driver: with devices, with a device in use,
# with bad parameters.

FAMILY='netlink family'

begin load alone
expect "module_loads_with_two_devices" insmod $OURS devices=rbinder0,rbinder1
expect "first_device_appears" test -c /dev/rbinder0
expect "second_device_appears" test -c /dev/rbinder1
expect "parameter_can_be_read" grep -qx rbinder0,rbinder1 /sys/module/rust_binder/parameters/devices
expect "device_can_be_opened" sh -c ': < /dev/rbinder0'
result $(($(said "$FAMILY"))) "nothing_is_said_about_the_netlink_family" "the kernel log speaks of it"
refused "second_load_is_refused" insmod $OURS devices=rbinder2
exec 4< /dev/rbinder1
refused "unload_with_an_open_file_is_refused" rmmod rust_binder
expect "module_is_still_loaded" loaded rust_binder
expect "device_works_after_a_refused_unload" sh -c ': < /dev/rbinder0'
exec 4<&-
expect "unload_works_once_the_file_is_closed" rmmod rust_binder
refused "first_device_is_gone" test -e /dev/rbinder0
refused "second_device_is_gone" test -e /dev/rbinder1
refused "module_is_gone" loaded rust_binder
refused "folder_in_sys_is_gone" test -e /sys/module/rust_binder
refused "nothing_is_left_in_proc_misc" grep -q rbinder /proc/misc
refused "nothing_is_left_in_slabs" grep -q rust_binder /proc/slabinfo

expect "module_loads_without_devices" insmod $OURS
expect "no_device_appears" sh -c '! ls /dev/*rbinder* 2>/dev/null'
expect "module_without_devices_unloads" rmmod rust_binder
refused "name_twice_is_refused" insmod $OURS devices=rbinder0,rbinder0
refused "no_device_is_left_of_a_refused_load" test -e /dev/rbinder0
refused "module_is_not_loaded_after_a_refused_load" loaded rust_binder
expect "empty_names_are_skipped" insmod $OURS devices=,rbinder0,,
expect "device_between_empty_names_appears" test -c /dev/rbinder0
expect "module_with_empty_names_unloads" rmmod rust_binder
finish
