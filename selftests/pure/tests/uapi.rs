// SPDX-License-Identifier: GPL-2.0

//! Compares `uapi/` with the headers of a kernel source, name by name.
//!
//! The names are taken from the headers themselves, so none can be forgotten: constants,
//! types, and members of structures. One C program prints the value, size or offset of each;
//! it is compiled against either set of headers.
//!
//! `KERNEL_SRC` names the kernel source; without it there is nothing to compare with.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command},
};

const HEADERS: [&str; 3] = ["binder.h", "binderfs.h", "binder_netlink.h"];
/// What ours has in addition.
const OURS_ONLY: [&str; 1] = ["const TF_DEFER_COMPLETE"];

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text of the three headers in `folder`, as user space gets them.
fn read(folder: &Path) -> [String; 3] {
    HEADERS.map(|name| {
        let path = folder.join(name);
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|e| panic!("can not read {}: {e}", path.display()));
        text.replace("} __packed;", "} __attribute__((packed));")
    })
}

/// The text in words and signs, without comments and preprocessor lines.
fn tokens(text: &str) -> Vec<String> {
    let mut code = String::new();
    for (i, part) in text.split("/*").enumerate() {
        let after = part.split_once("*/").map_or("", |(_, after)| after);
        code.push_str(if i == 0 { part } else { after });
        code.push(' ');
    }
    let code = code.replace("\\\n", " ");
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut tokens = vec![String::new()];
    for c in lines.flat_map(|line| line.chars().chain([' '])) {
        if c.is_alphanumeric() || c == '_' {
            tokens.last_mut().unwrap().push(c);
        } else {
            tokens.extend([c.to_string(), String::new()]);
        }
    }
    tokens.retain(|token| !token.trim().is_empty());
    tokens
}

/// Names that a header defines, each with its kind: the lines of the program's output.
fn names(text: &str) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = text.lines().filter_map(macro_name).collect();
    let tokens = tokens(text);
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "enum" => at = enum_names(&tokens, at, &mut names),
            "struct" => at = struct_names(&tokens, at, &mut names),
            "typedef" => {
                let end = at + tokens[at..].iter().position(|t| t == ";").unwrap();
                names.insert(format!("type {}", tokens[end - 1]));
                at = end;
            }
            _ => at += 1,
        }
    }
    names
}

fn macro_name(line: &str) -> Option<String> {
    let name = line.trim_start().strip_prefix('#')?.trim_start();
    let name = name.strip_prefix("define")?.split_whitespace().next()?;
    match name.split_once('(') {
        Some((name, _)) => Some(format!("call {name}")),
        None if name.starts_with("_UAPI") => None,
        None => Some(format!("const {name}")),
    }
}

/// Reads `enum [TAG] { NAME [= VALUE], ... }`; returns where it ends.
fn enum_names(tokens: &[String], at: usize, names: &mut BTreeSet<String>) -> usize {
    let open = at + tokens[at..].iter().position(|t| t == "{").unwrap();
    if open == at + 2 {
        names.insert(format!("type enum {}", tokens[at + 1]));
    }
    let (mut depth, mut at) = (1, open + 1);
    let mut expect_name = true;
    while depth > 0 {
        match tokens[at].as_str() {
            "(" | "{" => depth += 1,
            ")" | "}" => depth -= 1,
            "," if depth == 1 => expect_name = true,
            name if expect_name => {
                names.insert(format!("const {name}"));
                expect_name = false;
            }
            _ => (),
        }
        at += 1;
    }
    at
}

/// Reads `struct TAG { ... }`; returns where it ends.
fn struct_names(tokens: &[String], at: usize, names: &mut BTreeSet<String>) -> usize {
    let tag = format!("struct {}", tokens[at + 1]);
    if tokens[at + 2] != "{" {
        return at + 2;
    }
    names.insert(format!("type {tag}"));
    let (members, end) = members(tokens, at + 3);
    names.extend(
        members
            .iter()
            .map(|member| format!("member {tag}.{member}")),
    );
    end
}

/// Paths of all members up to the closing brace, and where that is.
fn members(tokens: &[String], mut at: usize) -> (Vec<String>, usize) {
    let mut all = vec![];
    while tokens[at] != "}" {
        let mut inner = vec![];
        while tokens[at] != ";" {
            if tokens[at] == "{" {
                (inner, at) = members(tokens, at + 1);
            }
            at += 1;
        }
        // The name is the last word before the semicolon, array lengths aside.
        let is_array = tokens[at - 1] == "]";
        let brackets = tokens[..at].iter().rev().take_while(|t| *t != "[").count();
        let name = &tokens[if is_array { at - brackets - 2 } else { at - 1 }];
        let prefix = if name == "}" {
            String::new()
        } else {
            format!("{name}.")
        };
        all.extend(inner.iter().map(|member| format!("{prefix}{member}")));
        if name != "}" {
            all.push(name.clone());
        }
        at += 1;
    }
    (all, at)
}

/// The C program that prints what it knows of each name.
fn program(names: &BTreeSet<String>) -> String {
    let mut c = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <linux/android/binder.h>\n\
         #include <linux/android/binderfs.h>\n#include <linux/android/binder_netlink.h>\n\
         static void n(const char *k, long long v) { printf(\"%s\\t%lld\\n\", k, v); }\n\
         static void s(const char *k, const char *v) { printf(\"%s\\t%s\\n\", k, v); }\n\
         int main(void)\n{\n",
    );
    for name in names {
        let (kind, what) = name.split_once(' ').unwrap();
        c += &match kind {
            "const" => format!("_Generic(({what}), char *: s, default: n)(\"{name}\", {what});\n"),
            "call" => format!("n(\"{name}\", {what}('w', 'x', 'y', 0x80));\n"),
            "type" => format!("n(\"{name}\", sizeof({what}) * 1000 + _Alignof({what}));\n"),
            _ => {
                let (tag, path) = what.split_once('.').unwrap();
                format!(
                    "n(\"{name}\", offsetof({tag}, {path}) * 1000 + sizeof((({tag} *)0)->{path}));\n"
                )
            }
        };
    }
    c + "return 0;\n}\n"
}

/// Compiles and runs the program with headers of these texts.
fn values(which: &str, texts: &[String; 3], c: &str, flags: &[&str]) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{which}-{}", process::id()));
    let include = folder.join("linux/android");
    fs::create_dir_all(&include).unwrap();
    for (name, text) in HEADERS.iter().zip(texts) {
        fs::write(include.join(name), text).unwrap();
    }
    fs::write(folder.join("names.c"), c).unwrap();
    let cc = env::var("CC").unwrap_or("cc".into());
    let mut compile = Command::new(&cc);
    compile
        .args(["-std=c11", "-Wall", "-Werror", "-Wno-pointer-arith"])
        .args(flags);
    compile
        .arg("-I")
        .arg(&folder)
        .arg("-o")
        .arg(folder.join("names"));
    let status = compile.arg(folder.join("names.c")).status();
    let status = status.unwrap_or_else(|e| panic!("can not run {cc}, a C compiler is needed: {e}"));
    assert!(
        status.success(),
        "{cc} does not compile {which} headers; see above"
    );
    let output = Command::new(folder.join("names")).output().unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let pairs = lines.lines().filter_map(|line| line.split_once('\t'));
    pairs.map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

#[test]
fn every_name_has_the_value_of_the_kernel() {
    let Ok(kernel) = env::var("KERNEL_SRC") else {
        eprintln!("SKIP: set KERNEL_SRC to a kernel source to compare uapi/ with it");
        return;
    };
    let ours = read(&project().join("uapi/linux/android"));
    let theirs = read(&Path::new(&kernel).join("include/uapi/linux/android"));
    let our_names: BTreeSet<_> = ours.iter().flat_map(|text| names(text)).collect();
    let their_names: BTreeSet<_> = theirs.iter().flat_map(|text| names(text)).collect();
    assert!(
        their_names.len() > 190,
        "only {} names found",
        their_names.len()
    );

    let missing: Vec<_> = their_names.difference(&our_names).collect();
    let added: Vec<_> = our_names.difference(&their_names).collect();
    assert!(missing.is_empty(), "uapi/ lacks: {missing:#?}");
    assert_eq!(added, OURS_ONLY, "uapi/ has more than the kernel");

    let c = program(&their_names);
    for flags in [&[][..], &["-DBINDER_IPC_32BIT"]] {
        let ours = values("our", &ours, &c, flags);
        let theirs = values("kernel", &theirs, &c, flags);
        assert_eq!(theirs.len(), their_names.len());
        let differ = |(name, value): (&String, &String)| {
            let our = &ours[name];
            (our != value).then(|| format!("{name}: {our}, in the kernel {value}"))
        };
        let differences: Vec<_> = theirs.iter().filter_map(differ).collect();
        assert!(differences.is_empty(), "{differences:#?}");
        eprintln!("{} names agree ({flags:?})", theirs.len());
    }
}

#[test]
fn values_that_need_no_kernel() {
    let ours = read(&project().join("uapi/linux/android"));
    let names = [
        "const TF_DEFER_COMPLETE",
        "type struct binder_handle_cookie",
    ];
    let names = BTreeSet::from(names.map(String::from));
    let values = values("own", &ours, &program(&names), &[]);
    assert_eq!(values["const TF_DEFER_COMPLETE"], "128");
    assert_eq!(values["type struct binder_handle_cookie"], "12001");
}
