//! Public structs can get members: other crates make them by `new` and setters, and no pattern names
//! all of their members.

use crate::sources::{rust_files, words};

/// Structs that callers may write out, and why none of them gets a member.
const COMPLETE: &[(&str, &str)] = &[
    ("DirEntry", "made by disks of hosts: name and kind of an entry"),
    ("FileId", "made by disks of hosts: the two numbers of a file"),
    ("HoldBounds", "two bounds that a host gives together"),
    ("QueueFailure", "made by hosts: what ran, and the error"),
];

/// Structs at the root of a file whose members are all public, without the attribute.
fn without_attribute<'s>(text: &'s str, exported: &[&str]) -> Vec<&'s str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("pub struct ") else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let body = lines[at + 1..].iter().take_while(|line| !line.starts_with('}'));
        let is_member = |line: &&&str| line.starts_with("    ") && line.contains(": ");
        let members: Vec<_> = body
            .filter(is_member)
            .filter(|line| !line.trim_start().starts_with(['/', '#']))
            .collect();
        let is_open =
            !members.is_empty() && members.iter().all(|line| line.starts_with("    pub "));
        let attributes = lines[..at].iter().rev().take_while(|line| !line.is_empty());
        let has_it = attributes.clone().any(|line| *line == "#[non_exhaustive]");
        let is_complete = COMPLETE.iter().any(|(known, _)| *known == name);
        if is_open && !has_it && !is_complete && exported.contains(&name) && rest.contains('{') {
            found.push(name);
        }
    }
    found
}

#[test]
fn public_structs_can_get_members() {
    let files = rust_files("src");
    let text = |wanted: &str| &files.iter().find(|(path, _)| path == wanted).unwrap().1;
    let lib = text("src/lib.rs");
    let exported: Vec<&str> = words(lib).collect();
    let problems: Vec<_> =
        files.iter().flat_map(|(_, text)| without_attribute(text, &exported)).collect();
    assert_eq!(problems, Vec::<&str>::new(), "add #[non_exhaustive], or a reason above");
    // The libraries beside this one.
    for member in ["sql", "lake", "cluster", "formats"] {
        let files = rust_files(&format!("{member}/src"));
        let lib = files.iter().find(|(path, _)| *path == format!("{member}/src/lib.rs"));
        let exported: Vec<&str> = words(&lib.unwrap().1).collect();
        let problems: Vec<_> =
            files.iter().flat_map(|(_, text)| without_attribute(text, &exported)).collect();
        assert_eq!(problems, Vec::<&str>::new(), "{member}: add #[non_exhaustive]");
    }
    // Those that macros declare.
    for (path, declaration) in [
        ("src/value/wire.rs", "pub struct $name {"),
        ("derive/src/requests.rs", "pub struct #name {"),
    ] {
        let derive = rust_files("derive/src");
        let text = files.iter().chain(&derive).find(|(known, _)| known == path).unwrap();
        let before = text.1.split(declaration).next().unwrap();
        let attributes = before.rsplit("\n\n").next().unwrap();
        assert!(attributes.contains("#[non_exhaustive]"), "{path}: {declaration}");
    }
}

#[test]
fn a_struct_without_the_attribute_is_found() {
    let open = "/// A.\npub struct A {\n    /// B.\n    pub b: u8,\n}\n";
    assert_eq!(without_attribute(open, &["A"]), ["A"]);
    assert_eq!(without_attribute(open, &[]), Vec::<&str>::new());
    let marked = open.replace("pub struct", "#[non_exhaustive]\npub struct");
    assert_eq!(without_attribute(&marked, &["A"]), Vec::<&str>::new());
    let private = open.replace("pub b", "b");
    assert_eq!(without_attribute(&private, &["A"]), Vec::<&str>::new());
}
