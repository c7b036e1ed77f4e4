# SPDX-License-Identifier: GPL-2.0
#
# After the test programs: the module goes and leaves nothing behind.

# left: test programs that still run; one that has ended may wait for its parent.
left() {
	ps -o pid,stat,comm | grep ' [^Z][^ ]* *binder-test'
}

begin unload "after_the_tests"
result "$(left | wc -l | sed 's/^[1-9].*/1/')" "no_test_program_is_left" "still there: $(left)"
exec 4< /dev/rbinder0
refused "unload_with_an_open_file_is_refused" rmmod rust_binder
exec 4<&-
expect "module_unloads" unload rust_binder
refused "module_is_gone" loaded rust_binder
refused "devices_are_gone" sh -c 'ls /dev/rbinder*'
refused "folder_in_sys_is_gone" test -e /sys/module/rust_binder
refused "nothing_is_left_in_proc_misc" grep -q rbinder /proc/misc
refused "nothing_is_left_in_slabs" grep -q rust_binder /proc/slabinfo
no_leaks "no_object_is_leaked"
expect "module_loads_again" insmod $OURS devices=rbinder0,rbinder1
expect "device_opens_again" sh -c ': < /dev/rbinder0'
expect "module_unloads_again" unload rust_binder
finish
