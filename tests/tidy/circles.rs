//! Finds import cycles: files of one room that import each other, directly or through others.
//!
//! An import is a path of a `use`, or a path in the code. It leads to the file that defines the
//! item: a path through `pub use` is followed to its end. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{module_path, scrub, uses, without_tests};

/// A module, by its path from the crate's root: `["store", "salvage"]`.
type Module = Vec<String>;

/// The files of a crate without their tests, and where their items are defined.
struct Crate<'c> {
    code: BTreeMap<Module, &'c str>,
    /// The names that each module re-exports, each with the full path of its item.
    exports: BTreeMap<Module, Vec<(String, Vec<String>)>>,
}

/// The cycles among `files` within one room: the files of each, and the imports that close it.
///
/// Imports between rooms have another rule, and the root only lists names.
pub(super) fn circles(files: &BTreeMap<String, String>) -> Vec<String> {
    closed_by(files, |from, to| from.first() == to.first() && !to.is_empty())
}

/// The cycles among the files of a crate that has no rooms. Its root is a file like the others.
pub(super) fn crate_circles(files: &BTreeMap<String, String>) -> Vec<String> {
    closed_by(files, |_, _| true)
}

/// The cycles of those imports that count.
fn closed_by(
    files: &BTreeMap<String, String>,
    counts: impl Fn(&Module, &Module) -> bool,
) -> Vec<String> {
    let known = Crate::new(files);
    let mut edges: BTreeMap<&Module, BTreeMap<&Module, String>> = BTreeMap::new();
    for (here, code) in &known.code {
        for path in known.imports(here, code) {
            let Some((target, _)) =
                known.home(&path, 0).and_then(|target| known.code.get_key_value(&target))
            else {
                continue;
            };
            if target != here && counts(here, target) {
                edges.entry(here).or_default().entry(target).or_insert_with(|| path.join("::"));
            }
        }
    }
    let modules: Vec<&Module> = known.code.keys().collect();
    strongly_connected(&modules, &edges)
        .into_iter()
        .map(|circle| {
            let mut text = format!("{} files import each other:", circle.len());
            for from in &circle {
                for (to, path) in
                    edges.get(from).into_iter().flatten().filter(|(to, _)| circle.contains(*to))
                {
                    let [from, to] = [from, to].map(|module| name(module));
                    text.push_str(&format!("\n    {from} imports {path} of {to}"));
                }
            }
            text
        })
        .collect()
}

fn name(module: &Module) -> String {
    if module.is_empty() { "the root".to_owned() } else { module.join("::") }
}

impl<'c> Crate<'c> {
    fn new(files: &'c BTreeMap<String, String>) -> Self {
        let code = files.iter().map(|(path, code)| (module_path(path), code.as_str())).collect();
        let mut known = Self { code, exports: BTreeMap::new() };
        let exports = known.code.iter().map(|(here, code)| {
            let public = uses(code).into_iter().filter(|import| import.is_public);
            let named = public
                .filter_map(|import| Some((import.name, known.absolute(&import.path, here)?)));
            (here.clone(), named.collect())
        });
        known.exports = exports.collect();
        known
    }

    /// A path from the crate's root; `None` if it leaves the crate.
    fn absolute(&self, path: &str, here: &Module) -> Option<Vec<String>> {
        let mut parts = path.split("::").map(str::trim).peekable();
        let mut base = here.clone();
        match *parts.peek()? {
            "crate" => {
                base.clear();
                parts.next();
            }
            "self" => {
                parts.next();
            }
            "super" => {
                while parts.next_if_eq(&"super").is_some() {
                    base.pop()?;
                }
            }
            child => {
                base.push(child.to_owned());
                if !self.code.contains_key(&base) {
                    return None;
                }
                base.pop();
            }
        }
        base.extend(parts.map(str::to_owned));
        Some(base)
    }

    /// The imports of a file, as paths from the crate's root.
    fn imports(&self, here: &Module, code: &str) -> BTreeSet<Vec<String>> {
        let all = uses(code);
        // An imported module can be the first part of a path in the code.
        let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for import in all.iter().filter(|import| !import.is_public) {
            names
                .extend(self.absolute(&import.path, here).map(|path| (import.name.as_str(), path)));
        }
        let mut found: BTreeSet<Vec<String>> = names.values().cloned().collect();
        for path in paths(code) {
            let (first, rest) = path.split_once("::").unwrap_or((&path, ""));
            let resolved = match names.get(first) {
                Some(module) => Some(
                    module.iter().cloned().chain(rest.split("::").map(str::to_owned)).collect(),
                ),
                None => self.absolute(&path, here),
            };
            found.extend(resolved);
        }
        found
    }

    /// The file that defines the item of a path.
    fn home(&self, path: &[String], depth: usize) -> Option<Module> {
        // The depth needs a limit only for code that does not compile: re-exports that form a
        // cycle.
        if depth > 16 {
            return None;
        }
        let split = (0..=path.len()).rev().find(|end| self.code.contains_key(&path[..*end]))?;
        let (module, rest) = path.split_at(split);
        let Some(name) = rest.first() else { return Some(module.to_vec()) };
        let defined = self.definition(module, name, depth);
        // A name that the root does not have is one of another crate, in code that a macro writes.
        defined.or_else(|| (!module.is_empty()).then(|| module.to_vec()))
    }

    /// The file that defines `name` of `module`; `None` if the module does not have it.
    fn definition(&self, module: &[String], name: &str, depth: usize) -> Option<Module> {
        let exports = self.exports.get(module)?;
        if let Some((_, target)) = exports.iter().find(|(export, _)| export == name) {
            return self.home(target, depth + 1);
        }
        if defines(self.code.get(module)?, name) {
            return Some(module.to_vec());
        }
        let globs = exports.iter().filter(|(export, _)| export == "*");
        globs.filter_map(|(_, target)| target.split_last()).find_map(|(_, below)| {
            // The glob may itself lead through a re-export of the module.
            let below = self.home(below, depth + 1)?;
            if depth > 16 { None } else { self.definition(&below, name, depth + 1) }
        })
    }
}

/// Whether a file defines an item of this name: by a keyword, or as an id type.
fn defines(code: &str, name: &str) -> bool {
    const KEYWORDS: [&str; 9] =
        ["struct", "enum", "fn", "trait", "type", "const", "static", "macro_rules!", "id_type!("];
    code.match_indices(name).any(|(at, _)| {
        let after = code[at + name.len()..].chars().next();
        let before = code[..at].trim_end();
        !after.is_some_and(|c| c.is_alphanumeric() || c == '_')
            && KEYWORDS.iter().any(|keyword| before.ends_with(keyword))
    })
}

/// The paths of two or more parts in the code, except those of `use` and `pub(in …)`.
fn paths(code: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code;
    let mut before = String::new();
    while let Some(start) = rest.find(is_word) {
        before.push_str(&rest[..start]);
        rest = &rest[start..];
        let mut end = 0;
        loop {
            end += rest[end..].find(|c| !is_word(c)).unwrap_or(rest.len() - end);
            let follows =
                rest[end..].strip_prefix("::").is_some_and(|next| next.starts_with(is_word));
            if !follows {
                break;
            }
            end += 2;
        }
        let path = &rest[..end];
        rest = &rest[end..];
        let context = before.trim_end();
        // `use` is read as a whole elsewhere.
        let may_begin = context.is_empty()
            || context.ends_with([';', '}', '{', ')', ']'])
            || context.ends_with("pub");
        if path == "use" && may_begin {
            rest = rest.find(';').map_or("", |end| &rest[end..]);
        } else if path.contains("::") && !context.ends_with("pub(in") {
            found.push(path.to_owned());
        }
        before.push_str(path);
        // Only the end is needed.
        let cut = before.len().saturating_sub(64);
        let cut = (cut..before.len()).find(|at| before.is_char_boundary(*at)).unwrap_or(0);
        before.drain(..cut);
    }
    found
}

/// The sets of more than one node that are connected in both directions, by Tarjan's algorithm.
///
/// Each node gets a number in the order of the visits, and `low`, the smallest number on the stack
/// that it can reach. A node whose `low` is its own number is the first of its set: everything
/// above it on the stack belongs to the set. A node that is no longer on the stack belongs to a
/// finished set and must not lower `low`; otherwise two sets would be joined.
fn strongly_connected<'m>(
    nodes: &[&'m Module],
    edges: &BTreeMap<&'m Module, BTreeMap<&'m Module, String>>,
) -> Vec<BTreeSet<&'m Module>> {
    #[derive(Default)]
    struct Search<'m> {
        /// The number of each node, in the order of the visits.
        number: BTreeMap<&'m Module, usize>,
        /// The smallest number on the stack that each node can reach.
        low: BTreeMap<&'m Module, usize>,
        stack: Vec<&'m Module>,
        found: Vec<BTreeSet<&'m Module>>,
    }
    fn visit<'m>(
        search: &mut Search<'m>,
        node: &'m Module,
        edges: &BTreeMap<&'m Module, BTreeMap<&'m Module, String>>,
    ) {
        let number = search.number.len();
        search.number.insert(node, number);
        search.low.insert(node, number);
        search.stack.push(node);
        for next in edges.get(node).into_iter().flat_map(BTreeMap::keys).copied() {
            if !search.number.contains_key(next) {
                visit(search, next, edges);
                search.low.insert(node, search.low[node].min(search.low[next]));
            } else if search.stack.contains(&next) {
                search.low.insert(node, search.low[node].min(search.number[next]));
            }
        }
        if search.low[node] == number {
            let from = search.stack.iter().position(|open| *open == node).unwrap();
            let circle: BTreeSet<&Module> = search.stack.split_off(from).into_iter().collect();
            if circle.len() > 1 {
                search.found.push(circle);
            }
        }
    }
    let mut search = Search::default();
    for node in nodes {
        if !search.number.contains_key(*node) {
            visit(&mut search, node, edges);
        }
    }
    search.found
}

#[track_caller]
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files =
        files.iter().map(|(path, text)| ((*path).to_owned(), without_tests(&scrub(text)).0));
    circles(&files.collect())
}

#[track_caller]
fn refused(files: &[(&str, &str)], words: &[&str]) {
    let found = found(files);
    assert!(
        found.len() == 1 && words.iter().all(|word| found[0].contains(word)),
        "{files:?} gave {found:?}"
    );
}

#[track_caller]
fn allowed(files: &[(&str, &str)]) {
    let found = found(files);
    assert!(found.is_empty(), "{files:?} gave {found:?}");
}

const STORE: (&str, &str) =
    ("src/store/mod.rs", "mod open;\nmod scrub;\npub use open::Store;\npub(crate) use scrub::*;\n");

#[test]
fn files_that_import_each_other() {
    let scrub = ("src/store/scrub.rs", "use super::open::Store;\npub fn scrub() {}");
    refused(
        &[STORE, ("src/store/open.rs", "use super::scrub;\npub struct Store;"), scrub],
        &[
            "2 files",
            "store::open imports store::scrub",
            "store::scrub imports store::open::Store of store::open",
        ],
    );
    // In the code, through an imported module, and through re-exports by name and by glob.
    for text in [
        "fn f() { super::scrub::scrub(); }\npub struct Store;",
        "fn f() { use crate::store::scrub; }\npub struct Store;",
        "use super::{scrub as other, super::error};\npub struct Store;",
        "fn f() { crate::store::scrub() }\npub struct Store;",
        "use crate::store;\nfn f() { store::scrub() }\npub struct Store;",
        "pub struct Store(super::scrub::Deep);",
    ] {
        refused(&[STORE, ("src/store/open.rs", text), scrub], &["2 files"]);
    }
    let again = ("src/store/scrub.rs", "use crate::store::Store;\npub fn scrub() {}");
    refused(
        &[STORE, ("src/store/open.rs", "use super::scrub;\npub struct Store;"), again],
        &["2 files"],
    );
}

#[test]
fn files_that_import_each_other_through_others() {
    refused(
        &[
            ("src/store/mod.rs", "mod a; mod b; mod c; mod d;"),
            ("src/store/a.rs", "use super::b::B;"),
            ("src/store/b.rs", "use super::c::C;"),
            ("src/store/c.rs", "use super::a::A;"),
            ("src/store/d.rs", "use super::a::A;"),
        ],
        &["3 files"],
    );
    // A file and the ones below it.
    refused(
        &[
            ("src/store/salvage/mod.rs", "mod facts; use self::facts::Facts; pub struct Report;"),
            ("src/store/salvage/facts.rs", "use super::Report; pub struct Facts;"),
        ],
        &["store::salvage imports", "store::salvage::facts imports"],
    );
}

#[test]
fn but_not_files_that_do_not() {
    let scrub = ("src/store/scrub.rs", "use super::open::Store;\npub fn scrub() {}");
    allowed(&[STORE, ("src/store/open.rs", "// use super::scrub;\npub struct Store;"), scrub]);
    allowed(&[
        STORE,
        (
            "src/store/open.rs",
            "#[cfg(test)]\nmod tests { use super::super::scrub; }\npub struct Store;",
        ),
        scrub,
    ]);
    allowed(&[STORE, ("src/store/open.rs", "pub(in crate::store::scrub) struct Store;"), scrub]);
    // A list of re-exports imports nothing, and imports between rooms have another rule.
    allowed(&[
        STORE,
        ("src/store/open.rs", "pub use super::scrub::scrub;\npub struct Store;"),
        scrub,
    ]);
    allowed(&[
        ("src/store/mod.rs", "use crate::session::Session;"),
        ("src/session/mod.rs", "use crate::store::Store;"),
    ]);
    // Another item of the same name.
    allowed(&[
        STORE,
        ("src/store/open.rs", "use std::scrub;\npub struct Store; fn f() { scrub::scrub() }"),
        scrub,
    ]);
}
