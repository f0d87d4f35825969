//! The public calls, read from the sources.

use std::collections::BTreeSet;
use std::path::Path;

use crate::sources::rust_files;

/// Operations that return without a read. All others have to meet the panic.
pub const OPERATIONS_THAT_READ_NOTHING: [&str; 6] = [
    "ProductService::product_api_info",
    "ResultService::result_api_info",
    "SpecificationService::specification_api_info",
    "TableService::table_api_info",
    "FileService::file_api_info",
    "RecordService::record_schema",
];

/// Exported types: `plain` ones without a part of a store, such as requests and answers, and
/// `handle`s, which hold a store or a part of one.
const EXPORTED: &str = include_str!("../corpus/exported.txt");

/// Whether a type is listed as this.
fn is_listed(what: &str, name: &str) -> bool {
    EXPORTED.lines().any(|line| line.split_once(' ') == Some((what, name)))
}

/// Traits of the standard library with methods of handles.
const STANDARD: &[&str] = &["Iterator", "Read", "Seek", "Write", "BufRead"];

/// Returns the names that the rooms with handles export: `Store`, `RowStream`, …
fn exported() -> BTreeSet<String> {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let mut names = BTreeSet::new();
    for statement in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let rooms =
            ["blobs::", "columnar::", "text::", "services::", "session::", "store::", "records::"];
        let path = statement.strip_prefix("crate::").unwrap_or(statement);
        let listed = rooms.iter().find_map(|room| path.strip_prefix(room)).unwrap_or_default();
        let words = listed
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty());
        names.extend(words.map(str::to_owned));
    }
    names
}

fn name_of(line: &str) -> Option<&str> {
    line.split(['(', '<']).next().filter(|name| !name.is_empty())
}

/// Returns `Store::open`, `RowStream::next`, … of every exported handle.
pub fn methods() -> BTreeSet<String> {
    for name in exported() {
        let is_known =
            is_listed("plain", &name) || is_listed("handle", &name) || name.ends_with("Service");
        assert!(is_known, "{name} is exported: does it hold a part of a store?");
    }
    let mut methods = BTreeSet::new();
    for (_, text) in rust_files("src") {
        let mut inside: Option<(Vec<String>, &str)> = None;
        for line in text.lines() {
            if let Some(header) = line.strip_prefix("impl") {
                // Without the parameters of the `impl` itself: `<'t>` of `impl<'t> Transaction<'t>
                // {`.
                let header = match header.strip_prefix('<') {
                    Some(rest) => rest.split_once("> ").map_or("", |(_, rest)| rest),
                    None => header,
                };
                let header = header.trim().trim_end_matches(['{', '}']).trim();
                let (of, subject) =
                    header.split_once(" for ").map_or(("", header), |(of, subject)| (of, subject));
                // A macro declares the methods of several handles at once: `impl Session, Transaction {`.
                let subjects =
                    subject.split(", ").filter_map(|subject| subject.split(['<', ' ', ',']).next());
                let prefix = match of {
                    "" => "    pub fn ",
                    of if STANDARD.contains(&of) => "    fn ",
                    _ => continue,
                };
                inside = Some((
                    subjects.filter(|name| is_listed("handle", name)).map(str::to_owned).collect(),
                    prefix,
                ));
            } else if line == "}" {
                inside = None;
            } else if let Some((subjects, prefix)) = &inside {
                if let Some(name) = line.strip_prefix(prefix).and_then(name_of) {
                    methods.extend(subjects.iter().map(|subject| format!("{subject}::{name}")));
                }
            }
        }
    }
    methods
}

/// Returns `ProductService::get_product`, … of every service trait.
pub fn operations() -> BTreeSet<String> {
    let mut operations = BTreeSet::new();
    for (_, text) in rust_files("src") {
        let mut service = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("pub trait ") {
                service = rest
                    .split([' ', ':', '{', '<'])
                    .next()
                    .filter(|name| name.ends_with("Service"));
            } else if line == "}" {
                service = None;
            } else if let (Some(service), Some(rest)) = (service, line.strip_prefix("    fn ")) {
                operations.extend(name_of(rest).map(|name| format!("{service}::{name}")));
            }
        }
    }
    operations
}
