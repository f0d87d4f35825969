//! The sources of this crate, for tests that read them.

#![allow(dead_code, reason = "each suite uses a part of it")]

use std::path::Path;

/// The Rust files in a folder of the crate and below it, sorted: path with `/` (`src/disk/mod.rs`)
/// and text.
pub(crate) fn rust_files(folder: &str) -> Vec<(String, String)> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder)).unwrap()
        {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".rs") {
                files.push((path, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// The identifiers and numbers of a text, in order.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Replaces comments, and the contents of strings and characters, by blanks. Keeps the line
/// numbers.
pub(crate) fn scrub(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let blank = |out: &mut String, c: char| out.push(if c == '\n' { '\n' } else { ' ' });
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        let starts_word = at == 0 || !(chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
        let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
        if c == '/' && next == Some('/') {
            while chars.get(at).is_some_and(|c| *c != '\n') {
                out.push(' ');
                at += 1;
            }
        } else if c == '/' && next == Some('*') {
            let mut depth = 0;
            while at < chars.len() {
                let pair = (chars[at], chars.get(at + 1).copied());
                depth += i32::from(pair == ('/', Some('*'))) - i32::from(pair == ('*', Some('/')));
                blank(&mut out, chars[at]);
                at += 1;
                if depth == 0 {
                    out.push(' ');
                    at += 1;
                    break;
                }
            }
        } else if starts_word && c == 'r' && chars.get(at + 1 + hashes) == Some(&'"') {
            out.extend(&chars[at..at + 2 + hashes]);
            at += 2 + hashes;
            let end: Vec<char> =
                std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            while at < chars.len() && !chars[at..].starts_with(&end) {
                blank(&mut out, chars[at]);
                at += 1;
            }
            out.extend(&end);
            at += end.len();
        } else if c == '"' {
            out.push('"');
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                for _ in 0..1 + usize::from(chars[at] == '\\') {
                    if let Some(c) = chars.get(at) {
                        blank(&mut out, *c);
                    }
                    at += 1;
                }
            }
            out.push('"');
            at += 1;
        } else if c == '\'' && (next == Some('\\') || chars.get(at + 2) == Some(&'\'')) {
            out.push(' ');
            at += 1;
            let mut first = true;
            while at < chars.len() && (first || chars[at] != '\'') {
                first = false;
                let step = 1 + usize::from(chars[at] == '\\');
                out.push_str(&"  "[..step]);
                at += step;
            }
            out.push(' ');
            at += 1;
        } else {
            out.push(c);
            at += 1;
        }
    }
    out
}
