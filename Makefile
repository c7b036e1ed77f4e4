# SPDX-License-Identifier: GPL-2.0
#
# Read twice: by kbuild (KERNELRELEASE is set), for which it describes the
# module, and by a person's make, for whom tools/targets.mk has the commands.

ifneq ($(KERNELRELEASE),)

# Outside a kernel tree nobody has asked Kconfig, so build the module.
ifneq ($(KBUILD_EXTMOD),)
CONFIG_ANDROID_BINDER_RUST ?= m
endif

obj-$(CONFIG_ANDROID_BINDER_RUST) += rust_binder.o
rust_binder-y := rust_binder_main.o trace.o

# The kernel's define_trace.h reads trace.h again.
CFLAGS_trace.o := -I$(src)

# Outside a kernel tree the tests are asked for on make's command line.
ifneq ($(KBUILD_EXTMOD),)
rustflags-$(CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST) += \
	--cfg CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST
endif

# Under a kernel with coverage for fuzzers.
KCOV_INSTRUMENT := y

# The ABI structures and what the kernel's own bindings lack, through bindgen.
# Only layouts matter here, so the preprocessor's flags are enough.
rust_binder_bindgen_flags := --use-core --with-derive-default \
	--ctypes-prefix kernel::ffi --no-layout-tests --no-debug '.*' \
	--allowlist-type 'binder_.*' --allowlist-type 'flat_binder_.*' \
	--allowlist-type 'transaction_flags' --allowlist-type 'binderfs_.*' \
	--allowlist-var 'BINDER.*' --allowlist-var 'B[CR]_.*' \
	--allowlist-var 'FLAT_BINDER_.*' --allowlist-var 'TF_.*' \
	--allowlist-var 'RB_.*'

quiet_cmd_rust_binder_bindgen = BINDGEN $@
      cmd_rust_binder_bindgen = \
	$(BINDGEN) $< $(rust_binder_bindgen_flags) --rust-target 1.85 -o $@ -- \
		-w -std=gnu11 -fno-builtin -D__BINDGEN__ -D__KERNEL__ -DMODULE \
		$(if $(filter x86,$(SRCARCH)),--target=x86_64-linux-gnu) \
		$(if $(filter arm64,$(SRCARCH)),--target=aarch64-linux-gnu) \
		-I$(dir $<)../uapi $(LINUXINCLUDE)

$(obj)/rust_binder_bindings.rs: $(src)/ffi/helpers.h \
		$(wildcard $(src)/uapi/linux/android/*.h) FORCE
	$(call if_changed,rust_binder_bindgen)

targets += rust_binder_bindings.rs
clean-files += rust_binder_bindings.rs

$(obj)/rust_binder_main.o: $(obj)/rust_binder_bindings.rs
$(obj)/rust_binder_main.o: export RUST_BINDER_BINDINGS := \
	$(abspath $(obj))/rust_binder_bindings.rs

else

include tools/targets.mk

endif
