// SPDX-License-Identifier: GPL-2.0
//! The ioctls other than `BINDER_WRITE_READ`: results, bad arguments, and who
//! may call them.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../ioctl/mod.rs"]
mod ioctl;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use ioctl::{access, arguments, compat, extended, manager};

fn main() -> ExitCode {
    ktap::main(&cases![
        arguments::version_is_written_whatever_the_input,
        arguments::version_to_a_bad_address_is_a_fault,
        arguments::max_threads_takes_any_number,
        arguments::max_threads_from_a_bad_address_is_a_fault,
        arguments::other_ioctls_with_a_bad_address_are_a_fault,
        arguments::argument_may_end_at_a_forbidden_page,
        arguments::argument_over_a_forbidden_page_is_a_fault,
        arguments::unknown_numbers_are_invalid,
        arguments::declared_but_unused_numbers_are_invalid,
        arguments::wrong_sizes_are_invalid,
        arguments::wrong_directions_are_invalid,
        arguments::thread_exit_ignores_its_argument,
        arguments::thread_exit_of_a_new_thread_is_harmless,
        arguments::thread_works_after_thread_exit,
        arguments::oneway_spam_detection_takes_any_number,
        compat::compat_version_is_the_same,
        compat::compat_small_ioctls_work,
        compat::compat_unknown_number_is_invalid,
        compat::compat_bad_address_is_a_fault,
        compat::compat_call_is_answered,
        manager::second_manager_is_busy,
        manager::manager_again_is_busy,
        manager::manager_of_another_device_is_independent,
        manager::other_user_is_refused,
        manager::busy_is_told_before_the_wrong_user,
        manager::slot_is_free_after_close,
        manager::argument_of_set_context_mgr_is_ignored,
        manager::ext_from_a_bad_address_is_a_fault,
        manager::ext_names_pointer_and_cookie_of_the_node,
        manager::ext_does_not_look_at_the_object_type,
        manager::manager_is_not_asked_for_references,
        access::foreign_process_cannot_write_or_read,
        access::foreign_process_cannot_change_the_party,
        access::foreign_process_cannot_become_manager,
        access::owner_is_unharmed_by_a_foreign_process,
        access::thread_of_the_owner_is_no_stranger,
        extended::new_thread_has_no_error,
        extended::reading_resets_it,
        extended::success_leaves_only_an_id,
        extended::each_thread_has_its_own,
        extended::ids_differ_from_call_to_call,
        extended::bad_address_is_a_fault,
        extended::no_manager_is_dead_einval,
        extended::manager_without_mapping_is_dead_esrch,
        extended::unknown_handle_is_failed_einval,
        extended::reply_to_nobody_is_failed_eproto,
        extended::second_call_at_a_time_is_failed_eproto,
        extended::call_past_a_waiting_request_is_failed_eproto,
        extended::too_much_data_is_failed_enospc,
        extended::uneven_offsets_size_is_failed_einval,
        extended::unreadable_data_is_failed_efault,
        extended::unreadable_offsets_are_failed_efault,
        extended::manager_calling_itself_is_failed_einval,
        extended::other_file_of_the_manager_calling_it_is_failed_einval,
        extended::failed_reply_is_told_to_the_caller,
        extended::failed_oneway_call_is_told_too,
    ])
}
