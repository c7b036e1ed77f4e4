# SPDX-License-Identifier: GPL-2.0
"""The development harness of Rust Binder: environment, builds, guest, tests."""
