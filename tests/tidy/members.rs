//! The packages beside the library: none of their files import each other.

use super::{Sources, circles, report, root, sources};

/// The packages of the workspace that have sources of their own.
fn members() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let list = manifest.split_once("\nmembers = [").and_then(|(_, list)| list.split_once(']'));
    let (list, _) = list.unwrap();
    let names = list.split('"').skip(1).step_by(2).map(str::to_owned);
    names.filter(|name| root().join(name).join("src").is_dir()).collect()
}

/// The circles of a package. The paths of its files begin with its name.
fn member_circles(member: &str, files: Vec<(String, String)>) -> Vec<String> {
    let files: Vec<_> =
        files.into_iter().map(|(path, text)| (path[member.len() + 1..].to_owned(), text)).collect();
    // A program without a library begins at `main.rs`.
    let is_library = files.iter().any(|(path, _)| path == "src/lib.rs");
    let files = files.into_iter().map(|(path, text)| match path.as_str() {
        "src/main.rs" if !is_library => ("src/lib.rs".to_owned(), text),
        _ => (path, text),
    });
    let found = circles::crate_circles(&Sources::new(files).files);
    found.into_iter().map(|circle| format!("{member}: {circle}")).collect()
}

#[test]
fn files_of_members_do_not_import_each_other() {
    let members = members();
    assert!(members.len() > 5, "{members:?}");
    let found = members.iter().flat_map(|member| {
        let files = sources::rust_files(&format!("{member}/src"));
        assert!(!files.is_empty(), "the sources of {member} were not found");
        member_circles(member, files)
    });
    report(found.collect());
}

#[track_caller]
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(path, text)| (format!("lake/{path}"), (*text).to_owned()));
    member_circles("lake", files.collect())
}

#[test]
fn circles_of_a_member() {
    // Of files beside each other, directly and through others.
    let circle = found(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::b::B;"),
        ("src/b.rs", "use crate::c::C;"),
        ("src/c.rs", "fn f() { crate::a::f() }"),
    ]);
    assert!(circle[0].starts_with("lake: 3 files import each other:"), "{circle:?}");
    // With the root, of a library and of a program.
    for root in ["src/lib.rs", "src/main.rs"] {
        let circle = found(&[
            (root, "mod a;\nuse a::A;\npub struct Options;"),
            ("src/a.rs", "use crate::Options;"),
        ]);
        assert!(circle[0].contains("the root imports"), "{root}: {circle:?}");
    }
}

#[test]
fn but_not_members_without_circles() {
    let allowed = |files: &[(&str, &str)]| assert_eq!(found(files), [""; 0], "{files:?}");
    // The root lists names, and files use them.
    allowed(&[
        ("src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;"),
        ("src/a.rs", "pub struct A;"),
        ("src/b.rs", "use crate::A;\npub struct B;"),
    ]);
    // A program beside a library uses it, and tests use everything.
    allowed(&[
        ("src/lib.rs", "mod a;\npub use a::A;"),
        ("src/main.rs", "use stationdb_lake::A;"),
        ("src/a.rs", "pub struct A;\n#[cfg(test)]\nmod tests {\n use crate::b;\n}"),
        ("src/b.rs", "use crate::A;"),
    ]);
}
