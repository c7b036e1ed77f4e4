// SPDX-License-Identifier: GPL-2.0

//! Makes a copy of the driver's queue with a fault: whether a thread has anything to read is
//! derived from the flag that says whether it must return, so that deferred items do not
//! count. A public review of the feature found just that.

use std::{env, fs, path::Path};

const SOURCE: &str = "../../thread/queue.rs";
const SOUND: &str = "self.items.is_empty()\n    }\n\n    /// Whether something";
const FAULTY: &str = "!self.urgent\n    }\n\n    /// Whether something";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    let source = fs::read_to_string(SOURCE).expect("the driver's queue");
    assert_eq!(
        source.matches(SOUND).count(),
        1,
        "is_empty() has changed: adapt build.rs"
    );
    // A file that is included has no documentation of its own.
    let is_code = |line: &&str| !line.starts_with("//!");
    let lines: Vec<_> = source.lines().filter(is_code).collect();
    let faulty = (lines.join("\n") + "\n").replace(SOUND, FAULTY);
    let target = env::var_os("OUT_DIR").expect("cargo names a folder");
    fs::write(Path::new(&target).join("queue.rs"), faulty).expect("a copy of the queue");
}
