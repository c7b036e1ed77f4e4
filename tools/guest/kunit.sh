# SPDX-License-Identifier: GPL-2.0
#
# Runs the KUnit suites of the loaded module, one document each. With kunit.autorun=0
# the kernel does not do so by itself at each load.

SUITES=/sys/kernel/debug/kunit

begin kunit suites
expect "module_has_suites" sh -c "ls -d $SUITES/rust_binder_*"
finish
for suite in $SUITES/rust_binder_*; do
	[ -e "$suite/run" ] || continue
	echo "@@ begin kunit ${suite##*/}"
	echo run > "$suite/run"
	cat "$suite/results"
	echo "@@ end kunit ${suite##*/} $?"
done
