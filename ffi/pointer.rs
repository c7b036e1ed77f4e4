// SPDX-License-Identifier: GPL-2.0

//! Addresses that people may see without learning anything from them.

use core::fmt;

use kernel::{bindings, prelude::*, str::CStrExt};

/// Prints an address as the kernel's `%p` does: equal ones look equal, and none can be
/// told from its hash.
pub(crate) struct Hashed(pub(crate) usize);

impl fmt::Display for Hashed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; 24];
        // SAFETY: The buffer is as long as said, and the format takes one pointer, which
        // is not followed.
        let len = unsafe {
            bindings::scnprintf(
                text.as_mut_ptr().cast(),
                text.len(),
                c"%p".as_char_ptr(),
                self.0 as *const c_void,
            )
        };
        let text = usize::try_from(len).ok().and_then(|len| text.get(..len));
        let text = text.and_then(|text| core::str::from_utf8(text).ok());
        out.write_str(text.ok_or(fmt::Error)?)
    }
}
