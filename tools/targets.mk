# SPDX-License-Identifier: GPL-2.0
#
# The commands for people. Variables: TESTS= KERNEL= BENCH= PLOT=1 KDIR= KRELEASE= V=1.

DEV := tools/dev
export V KRELEASE
kernel_option := $(if $(KERNEL),--kernel '$(KERNEL)')
tests_option := $(if $(TESTS),--tests '$(TESTS)')
steps_option := $(if $(STEPS),--steps '$(STEPS)')
bench_option := $(if $(BENCH),--benches '$(BENCH)') $(if $(PLOT),--plot)

.DEFAULT_GOAL := all
.PHONY: all demo check bench install clean distclean help

ifneq ($(KDIR),)

# A kernel tree of the user's own: plain kbuild, without the Debian root.
all:
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)' modules

install: all
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)' modules_install

else

all:
	@$(DEV) module $(kernel_option)

install:
	@$(DEV) install

endif

demo:
	@$(DEV) demo

check:
	@$(DEV) check $(tests_option) $(kernel_option) $(steps_option)

bench:
	@$(DEV) bench $(kernel_option) $(bench_option)

clean:
	@$(DEV) clean

distclean:
	@$(DEV) clean --cache

help:
	@echo 'make            build rust_binder.ko (KDIR=tree: with plain kbuild)'
	@echo 'make demo       call a service through the module on the stock kernel'
	@echo 'make check      all tests (TESTS=glob, KERNEL=stock,debug, STEPS=a,b)'
	@echo 'make bench      instructions per call, beside the C driver (BENCH=a,b)'
	@echo 'make install    install the module for the running kernel'
	@echo 'make clean      remove build results'
	@echo 'make distclean  also remove the cache: Debian root, kernels, crates'
	@echo 'V=1 shows the output of every command; KRELEASE= chooses the kernel.'
	@echo 'tools/dev --help lists the commands for development.'
