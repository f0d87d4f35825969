//! Reads the sources and documents of this crate, and refuses what the project's rules do not
//! allow.
//!
//! Each rule is a function over text, so that the tests below can show what it refuses.

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/members.rs"]
mod members;
#[path = "common/sources.rs"]
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sources::scrub;

/// Rooms from the lowest to the highest level. A room imports only from lower levels; rooms of one
/// level do not import each other.
const LEVELS: &[&[&str]] = &[
    &["error"],
    &["value", "disk", "arrow"],
    &["model", "filter", "packages"],
    &["records", "columnar", "text", "blobs"],
    &["session"],
    &["services"],
    &["store"],
    &["fuzz"],
];

/// The only files that may use the operating system's files.
const FILE_DOORS: [&str; 4] =
    ["src/disk/real.rs", "src/disk/file.rs", "src/disk/directory.rs", "src/disk/identity.rs"];

/// Code that the library must not contain, and what to do instead.
const BANNED: &[(&str, &str)] = &[
    (".unwrap()", "return an error"),
    (".expect(\"", "return an error"),
    ("panic!(", "return an error"),
    ("todo!(", "write it"),
    ("unimplemented!(", "write it"),
    ("unreachable!(", "return an error, or make the case impossible by type"),
    ("to_ne_bytes", "use little or big endian bytes"),
    ("from_ne_bytes", "use little or big endian bytes"),
    ("unsafe ", "find a safe way"),
    ("dbg!(", "remove it"),
    ("println!(", "return the text to the caller"),
];

#[test]
fn sources_keep_the_rules() {
    let sources = Sources::read(&root().join("src"));
    assert!(sources.files.len() > 20, "the sources were not found");
    report(sources.problems());
}

#[test]
fn links_of_documents_lead_to_files() {
    let mut documents = vec![root().join("README.md")];
    documents.extend(files_below(&root().join("docs"), "md"));
    let problems = documents.iter().filter(|path| path.exists()).flat_map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let here = path.parent().unwrap().to_owned();
        dead_links(&text, |link| here.join(link).exists())
            .into_iter()
            .map(|link| format!("{}: the link {link:?} leads to no file", path.display()))
            .collect::<Vec<_>>()
    });
    report(problems.collect());
}

/// Limits that no call of `holds_at` tests, and the reason.
const NOT_TRIED: &[(&str, &str)] = &[
    (
        "TABLE_ROWS",
        "a billion rows: tests/services/tables/rules.rs tests `table_rows_max` with few rows",
    ),
    (
        "SPECIFICATION_MAGNITUDE",
        "not an integer: tests/services/bounds.rs tests the numbers next to it",
    ),
    (
        "SPILL_BYTES",
        "four gibibytes of temporary files: columnar/tests.rs tests a small `bytes_max`",
    ),
    (
        "ROWS_PAGE_BYTES",
        "ends a page, refuses nothing: columnar/memory_tests.rs tests a page of it, and one byte more",
    ),
    (
        "QUERY_LIST",
        "tests/request_bounds tests every list of every request with as many entries and one more",
    ),
    ("SUBSCRIBER_HOLD_MS_DEFAULT", "the default of an option"),
    ("TRANSACTION_HOLD_MS_DEFAULT", "the default of an option"),
    ("SUBSCRIBER_HOLD_BYTES_DEFAULT", "the default of an option"),
    ("PASS_PAGE_BYTES", "how much is read at once: store/sync_tests.rs has a page above it"),
    ("FINDINGS", "further findings are counted; none is refused"),
    ("FILTER_TEXT_BYTES", "a longer text counts as null; none is refused"),
    ("QUERY_MEMORY_BYTES", "the default of an option"),
    ("MEMORY_BUDGET_BYTES", "the default of an option"),
    ("RECORD_UNSYNCED_BYTES", "how much is kept for reads after a failure; none is refused"),
    ("REWRITE_CACHE_BYTES", "the size of a cache"),
    ("MEMORY_TABLE_BYTES", "the default of an option"),
    ("RECORD_CACHE_BYTES", "the default of an option, applied by redb"),
    (
        "RECORD_REWRITE_BYTES_MIN",
        "decides when a file is rewritten; none is refused: store/rewrite_tests.rs has a file below it",
    ),
    (
        "RECORD_REWRITE_BYTES_MAX",
        "the default of an option; store/rewrite_tests.rs tests it with little in use",
    ),
    (
        "SMALL_BLOB_BYTES",
        "decides between two ways of storing that read alike; tests/services/files.rs has a file of each size",
    ),
    ("SMALL_BLOB_BYTES_MAX", "caps an option, and refuses nothing"),
    ("DICTIONARY_CACHE_BYTES", "the size of a cache"),
    ("SEARCH_RESIDENT_BYTES", "the size of a cache"),
    ("SEARCH_BLOCKS_BYTES", "the size of a cache"),
    ("SEARCH_WRITER_BYTES", "the memory of a writer"),
    ("SEARCH_OVERLAY_CHANGES", "decides when work is passed on; answers do not depend on it"),
    ("SEARCH_FEED_CHANGES", "how much is read at once; answers do not depend on it"),
    ("SEARCH_CHECKPOINT_CHANGES", "decides when work is made durable; answers do not depend on it"),
    ("SEARCH_TAKE_DEFAULT", "a default"),
    ("GROUP_OPERATIONS", "operations above it are in the next commit; none is refused"),
    ("QUERY_THREADS", "how many threads share the work"),
    ("UTILIZATION_LOOKUPS", "decides between two plans with equal answers"),
    ("EXECUTION_HISTORY", "the oldest event is dropped; none is refused"),
    ("LAB_TAKE", "larger pages are capped to it, as the service does; none is refused"),
    (
        "PACKAGE_DECODER_KIB",
        "the archive declares it in steps; packages/tests.rs has an archive above it",
    ),
];

/// Every limit is tested one below it, at it and one above it, or has a reason why not.
#[test]
fn every_bound_is_tried() {
    let limits = std::fs::read_to_string(root().join("src/value/limits.rs")).unwrap();
    let files = ["src", "tests/services"]
        .into_iter()
        .flat_map(|folder| files_below(&root().join(folder), "rs"));
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    let tried: Vec<String> = texts
        .flat_map(|text| {
            // The first argument.
            let calls = text.split("holds_at(").skip(1);
            calls.filter_map(|call| call.split(',').next()).map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let names =
        limits.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 50, "{names:?}");
    let is_tried = |name: &str| {
        tried.iter().any(|argument| {
            argument.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        })
    };
    let excused = |name: &str| NOT_TRIED.iter().any(|(excused, _)| *excused == name);
    let mut problems = Vec::new();
    for name in &names {
        match (is_tried(name), excused(name)) {
            (false, false) => {
                problems.push(format!("no test checks {name} with `limits::holds_at`"));
            }
            (true, true) => problems.push(format!("{name} is tested; remove it from NOT_TRIED")),
            _ => {}
        }
    }
    let gone = NOT_TRIED.iter().filter(|(name, _)| !names.contains(name));
    problems.extend(gone.map(|(name, _)| format!("there is no limit {name}")));
    report(problems);
}

/// How much a suite does is decided in one file.
#[test]
fn sizes_of_suites_are_in_one_file() {
    const HOME: &str = "tests/common/sizes.rs";
    let folders = [
        "src", "tests", "c", "cli", "cluster", "examples", "formats", "lake", "powerfs", "python",
        "report", "sql",
    ];
    let files: Vec<_> = folders.into_iter().flat_map(sources::rust_files).collect();
    assert!(files.iter().any(|(path, _)| path == HOME), "{HOME} was not found");
    let others = files.iter().filter(|(path, _)| path != HOME && path != "tests/tidy.rs");
    let odd = others.filter(|(_, text)| {
        ["\"STATIONDB_NIGHT\"", "\"STATIONDB_CRASH_SEED\"", "is_night("]
            .iter()
            .any(|name| text.contains(name))
    });
    report(odd.map(|(path, _)| format!("{path}: the sizes of suites belong in {HOME}")).collect());
}

/// Whatever does more at night is in a suite of `.ci/night`.
#[test]
fn the_night_runs_each_suite_that_has_a_long_form() {
    let sizes = std::fs::read_to_string("tests/common/sizes.rs").unwrap();
    let entries = sizes.lines().filter_map(|line| line.trim().strip_prefix("(\""));
    let longer: Vec<&str> = entries
        .filter_map(|entry| {
            let (name, numbers) = entry.split_once("\", ")?;
            let (daily, night) = numbers.strip_suffix("),")?.split_once(", ")?;
            (daily != night).then_some(name)
        })
        .collect();
    assert!(longer.len() > 40, "{longer:?}");
    let script = std::fs::read_to_string(".ci/night").unwrap();
    let suites: Vec<(&str, &str)> = script
        .lines()
        .filter_map(|line| line.strip_prefix("  [")?.split_once("]='")?.1.strip_suffix('\''))
        .filter_map(|suite| suite.split_once(' '))
        .collect();
    assert!(suites.len() > 25, "{suites:?}");
    let mut problems = Vec::new();
    for (path, text) in ["src", "tests", "c", "lake", "cluster", "powerfs", "report", "sql"]
        .into_iter()
        .flat_map(sources::rust_files)
    {
        let asks = |name: &&str| {
            ["size", "count", "does"]
                .iter()
                .any(|call| text.contains(&format!("{call}(\"{name}\")")))
        };
        let Some(size) = longer.iter().copied().find(|name| asks(name)) else { continue };
        let tests: Vec<&str> = text
            .split("#[test]")
            .skip(1)
            .filter_map(|test| test.split_once("fn ")?.1.split_once('(').map(|(name, _)| name))
            .collect();
        // A file without tests has what those of its program share.
        if tests.is_empty() {
            continue;
        }
        let program = match path.split_once("tests/") {
            Some((_, below)) if !path.starts_with("src/") => {
                below.split(['/', '.']).next().unwrap()
            }
            _ => "lib",
        };
        let module = path.trim_end_matches(".rs").replace('/', "::");
        let runs = |&(of, pattern): &(&str, &str)| {
            of == program
                && pattern.split('|').any(|part| {
                    let literal = part
                        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':')
                        .max_by_key(|piece| piece.len())
                        .unwrap();
                    tests.iter().any(|test| format!("{module}::{test}").contains(literal))
                })
        };
        if !suites.iter().any(|suite| runs(suite)) {
            problems.push(format!("{path}: no suite of .ci/night runs what asks for {size:?}"));
        }
    }
    report(problems);
}

/// Test modules have the form that CONTRIBUTING.md describes under "Tests".
#[test]
fn test_modules_have_one_form() {
    report(
        sources::rust_files("src")
            .iter()
            .flat_map(|(path, text)| odd_test_modules(path, text))
            .collect(),
    );
}

/// Test modules that are not in the file where the compiler expects them.
fn odd_test_modules(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = line.split("mod ").nth(1)?.strip_suffix(';')?;
        let has_path = at > 0 && lines[at - 1].starts_with("#[path");
        (has_path && (name == "tests" || name.ends_with("_tests"))).then_some((at + 1, name))
    });
    declared
        .map(|(line, name)| {
            format!("{path}:{line}: `mod {name};` belongs in mod.rs, without a #[path]")
        })
        .collect()
}

/// Characters that a line of the library may have; rustfmt leaves longer texts and comments alone.
const LINE_CHARS_MAX: usize = 100;

#[test]
fn lines_are_short() {
    let mut problems = Vec::new();
    for folder in ["src", "derive/src"] {
        let files = sources::rust_files(folder);
        let library = Sources::new(files.clone()).files;
        assert!(!library.is_empty(), "{folder} was not found");
        for (path, text) in files.iter().filter(|(path, _)| library.contains_key(path)) {
            let lines = long_lines(text).into_iter();
            problems.extend(lines.map(|line| format!("{path}:{line}: longer than 100 characters")));
        }
    }
    report(problems);
}

/// A path that climbs twice hides the room that it comes from.
#[test]
fn paths_climb_once() {
    let folders = [
        "src",
        "c/src",
        "derive/src",
        "examples",
        "cli/src",
        "sql/src",
        "lake/src",
        "cluster/src",
        "formats/src",
        "report/src",
    ];
    let mut problems = Vec::new();
    for folder in folders {
        let files = sources::rust_files(folder);
        assert!(!files.is_empty(), "{folder} was not found");
        for (path, text) in files {
            let climbs = text.match_indices("super::super::");
            problems.extend(climbs.map(|(at, _)| format!("{path}:{}", line_of(&text, at))));
        }
    }
    report(problems);
}

/// The lines outside tests that are too long. Examples, tables and links in comments may be.
fn long_lines(text: &str) -> Vec<usize> {
    let code = scrub(text);
    let (library, _) = without_tests(&code);
    let (mut in_tests, mut in_example) = (false, false);
    let mut long = Vec::new();
    for (at, ((line, code), library)) in
        text.lines().zip(code.lines()).zip(library.lines()).enumerate()
    {
        // A comment or the text of a literal belongs to the code before it.
        if !code.trim().is_empty() {
            in_tests = library.trim().is_empty();
        }
        let trimmed = line.trim_start();
        let comment = trimmed.starts_with("//").then(|| trimmed.trim_start_matches(['/', '!']));
        let words = comment.map(str::trim_start).unwrap_or_default();
        // An example may include a file between its comments.
        if words.starts_with("```") {
            in_example = !in_example;
        } else if comment.is_none() && !trimmed.starts_with("#[doc") {
            in_example = false;
        }
        let is_free = words.starts_with('|') || words.contains("](") || words.contains("://");
        let is_excepted = in_tests || in_example || is_free;
        if line.chars().count() > LINE_CHARS_MAX && !is_excepted {
            long.push(at + 1);
        }
    }
    long
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn report(problems: Vec<String>) {
    let mut text = String::new();
    for problem in &problems {
        let _ = writeln!(text, "{problem}");
    }
    assert!(problems.is_empty(), "{} problems:\n{text}", problems.len());
}

fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            if path.is_dir() { files_below(&path, extension) } else { vec![path] }
        })
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// The library's code without comments and without the contents of strings.
struct Sources {
    /// Path with `/` (`src/disk/mod.rs`) to code without tests.
    files: BTreeMap<String, String>,
    /// The same for all files, with tests.
    with_tests: BTreeMap<String, String>,
}

impl Sources {
    fn read(dir: &Path) -> Self {
        let files = files_below(dir, "rs").into_iter().map(|path| {
            let relative = path.strip_prefix(dir).unwrap().to_string_lossy().replace('\\', "/");
            (format!("src/{relative}"), std::fs::read_to_string(&path).unwrap())
        });
        Self::new(files)
    }

    fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut stripped = BTreeMap::new();
        let mut with_tests = BTreeMap::new();
        let mut test_modules = Vec::new();
        for (path, text) in files {
            let text = scrub(&text);
            let (code, modules) = without_tests(&text);
            with_tests.insert(path.clone(), text);
            let inside = module_path(&path);
            test_modules.extend(modules.into_iter().map(|module| {
                let mut test_path = inside.clone();
                test_path.push(module);
                test_path
            }));
            stripped.insert(path, code);
        }
        // A test module with a `#[path]` is known by the name of its file.
        stripped.retain(|path, _| !path.ends_with("_tests.rs"));
        stripped.retain(|path, _| {
            !test_modules.iter().any(|module| module_path(path).starts_with(module))
        });
        Self { files: stripped, with_tests }
    }

    fn problems(&self) -> Vec<String> {
        let root = self.files.get("src/lib.rs").map(|lib| Root::new(lib)).unwrap_or_default();
        let mut problems = circles::circles(&self.files);
        let sources = |files: &BTreeMap<String, String>,
                       f: &dyn Fn(&str, &str) -> Vec<(usize, String)>| {
            let sources = files.iter().filter(|(path, _)| *path != "src/lib.rs");
            let problems = sources.flat_map(|(path, code)| {
                f(path, code).into_iter().map(move |(line, rule)| format!("{path}:{line}: {rule}"))
            });
            problems.collect::<BTreeSet<String>>()
        };
        let mut upward = sources(&self.files, &|path, code| upward_imports(path, code, &root));
        upward.extend(sources(&self.with_tests, &|path, code| match module_path(path).first() {
            // A test module at the root belongs to no room.
            Some(room) if level(room).is_none() => Vec::new(),
            _ => upward_imports(path, code, &root),
        }));
        problems.extend(upward);
        problems.extend(sources(&self.files, &banned_words));
        problems
    }
}

/// `src/disk/sim/mod.rs` -> `[disk, sim]`.
fn module_path(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    inner.split('/').filter(|part| !part.is_empty() && *part != "lib").map(str::to_owned).collect()
}

fn level(room: &str) -> Option<usize> {
    LEVELS.iter().position(|rooms| rooms.contains(&room))
}

/// Blanks out items under a `cfg` that contains `test`, and returns the names of the modules among
/// them.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let mut out: Vec<char> = code.chars().collect();
    let mut modules = Vec::new();
    let mut at = 0;
    while at < out.len() {
        if out[at] != '#' {
            at += 1;
            continue;
        }
        let rest: String = out[at..].iter().take(200).collect();
        let attribute = rest.starts_with("#[cfg(") || rest.starts_with("#[test]");
        let end = rest.find(']').unwrap_or(0);
        let inside = &rest[..end];
        let is_test = attribute
            && !inside.contains("not(test")
            && inside.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "test");
        if !is_test {
            at += 1;
            continue;
        }
        let (mut depth, mut stop) = (0_i32, at + rest[..end].chars().count() + 1);
        let item_from = stop;
        while stop < out.len() {
            match out[stop] {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
            let ends = depth == 0 && matches!(out[stop], '}' | ';');
            stop += 1;
            if ends {
                break;
            }
        }
        let item: String = out[item_from..stop].iter().collect();
        let words: Vec<&str> = item.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        if let (Some(position), true) =
            (words.iter().position(|word| *word == "mod"), item.ends_with(';'))
        {
            modules.push(words[position + 1].to_owned());
        }
        for c in &mut out[at..stop] {
            if *c != '\n' {
                *c = ' ';
            }
        }
        at = stop;
    }
    (out.into_iter().collect(), modules)
}

/// The re-exports of `lib.rs`. An import through a name at the root, or through a public module
/// there, must keep to the levels too.
#[derive(Default)]
struct Root {
    /// The room of each name.
    names: BTreeMap<String, String>,
    /// The highest room of each public module, which `module::*` imports; `*` is that of the root.
    modules: BTreeMap<String, String>,
}

impl Root {
    fn new(lib: &str) -> Self {
        let mut root = Self::default();
        for (part, text) in lib.split("pub mod ").enumerate() {
            let (inside, after) =
                if part == 0 { ("", text) } else { text.split_once("\n}").unwrap_or((text, "")) };
            let module = inside.split_whitespace().next().unwrap_or("*");
            root.add(module, inside.split_once('{').map_or("", |(_, inside)| inside));
            root.add("*", after);
        }
        root
    }

    fn add(&mut self, module: &str, code: &str) {
        for import in uses(code).into_iter().filter(|import| import.is_public) {
            let path = import.path.strip_prefix("crate::").unwrap_or(&import.path);
            let Some((room, _)) = path.split_once("::").filter(|(room, _)| level(room).is_some())
            else {
                continue;
            };
            self.names.insert(import.name, room.to_owned());
            for module in [module, "*"] {
                let highest =
                    self.modules.entry(module.to_owned()).or_insert_with(|| room.to_owned());
                if level(room) > level(highest) {
                    *highest = room.to_owned();
                }
            }
        }
    }

    /// The room that a path from the root leads to.
    fn room<'r>(&'r self, path: &'r [String]) -> Option<&'r str> {
        let first = path.first()?;
        if level(first).is_some() {
            return Some(first);
        }
        let named = self.names.get(first).or_else(|| self.names.get(path.get(1)?));
        named.or_else(|| self.modules.get(first)).map(String::as_str)
    }
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

/// One path that a `use` imports.
struct Use {
    line: usize,
    path: String,
    /// The name in the importing file; `*` for everything in a module.
    name: String,
    /// Whether it is `pub`, even if only for a part of the crate.
    is_public: bool,
}

/// Every path that a `use` imports; nested trees are expanded.
fn uses(code: &str) -> Vec<Use> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(next) = code[from..].find("use ") {
        let at = from + next;
        from = at + 4;
        let before = code[..at].trim_end();
        if !(before.is_empty()
            || before.ends_with([';', '}', '{', ')', ']'])
            || before.ends_with("pub"))
        {
            continue;
        }
        let Some(end) = code[at..].find(';') else { continue };
        let visibility = before.strip_suffix(')').and_then(|before| before.rsplit_once('('));
        let is_public = visibility.map_or(before, |(before, _)| before).ends_with("pub");
        let tree: String = code[from..at + end].split_whitespace().collect::<Vec<_>>().join(" ");
        unfold("", &tree, &mut |path| {
            let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
            // `a::self` is `a`.
            let path = path.trim().trim_end_matches("::self");
            let last = path.rsplit("::").next().unwrap_or_default();
            let name = if alias.is_empty() { last } else { alias.trim() };
            found.push(Use {
                line: line_of(code, at),
                path: path.to_owned(),
                name: name.to_owned(),
                is_public,
            });
        });
    }
    found
}

/// Every path that a `use` imports, with its line.
fn use_paths(code: &str) -> Vec<(usize, String)> {
    uses(code).into_iter().map(|import| (import.line, import.path)).collect()
}

fn unfold(prefix: &str, tree: &str, found: &mut impl FnMut(String)) {
    let tree = tree.trim();
    match tree.split_once('{') {
        Some((head, rest)) if !head.contains(',') => {
            let inner = rest.trim_end().strip_suffix('}').unwrap_or(rest);
            let prefix = format!("{prefix}{}", head.trim());
            let (mut depth, mut start) = (0, 0);
            for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 0 => {
                        if !inner[start..at].trim().is_empty() {
                            unfold(&prefix, &inner[start..at], found);
                        }
                        start = at + 1;
                    }
                    _ => {}
                }
            }
        }
        _ => found(format!("{prefix}{tree}")),
    }
}

/// The room that a path of a file leads to; `None` if it leaves the crate.
fn resolve(path: &str, file: &str, root: &Root) -> Option<String> {
    let mut here = module_path(file);
    let mut parts = path.split("::").map(str::trim).peekable();
    match parts.peek().copied()? {
        // Tests may use the crate's name, as its users do.
        "crate" | "stationdb" => {
            here.clear();
            parts.next();
        }
        "self" => {
            parts.next();
        }
        "super" => {}
        _ => return None,
    }
    while parts.peek() == Some(&"super") {
        here.pop();
        parts.next();
    }
    // In a test module inside a file of the root, this is the file itself.
    if here.is_empty() && path.starts_with("super") && parts.peek() == Some(&"*") {
        return None;
    }
    here.extend(parts.map(str::to_owned));
    root.room(&here).map(str::to_owned)
}

/// Imports of a room that is not on a lower level.
fn upward_imports(file: &str, code: &str, root: &Root) -> Vec<(usize, String)> {
    let Some(room) = module_path(file).first().cloned() else { return Vec::new() };
    let Some(own) = level(&room) else {
        return vec![(1, format!("the room {room:?} has no level; give it one in tests/tidy.rs"))];
    };
    let mut paths = use_paths(code);
    for (at, _) in code.match_indices("crate::").chain(code.match_indices("stationdb::")) {
        let path: String = code[at..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':')
            .collect();
        paths.push((line_of(code, at), path));
    }
    let mut problems: Vec<(usize, String)> = paths
        .into_iter()
        .filter_map(|(line, path)| {
            let target = resolve(&path, file, root)?;
            let target_level = level(&target)?;
            (target != room && target_level >= own).then(|| {
                (line, format!("{room} must not import {target} ({path}); imports point down"))
            })
        })
        .collect();
    problems.sort();
    problems.dedup_by_key(|(line, _)| *line);
    problems
}

fn banned_words(file: &str, code: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    for (word, instead) in BANNED {
        for (at, _) in code.match_indices(word) {
            let before = code[..at].chars().next_back();
            // A longer name is another macro.
            let part_of_longer =
                !word.starts_with('.') && before.is_some_and(|c| c.is_alphanumeric() || c == '_');
            if !part_of_longer {
                problems.push((
                    line_of(code, at),
                    format!("{:?} must not be in library code: {instead}", word.trim()),
                ));
            }
        }
    }
    if !FILE_DOORS.contains(&file) {
        let uses = use_paths(code)
            .into_iter()
            .filter(|(_, path)| path.starts_with("std::fs"))
            .map(|(line, _)| line);
        let inline = code.match_indices("std::fs").map(|(at, _)| line_of(code, at));
        for line in uses.chain(inline) {
            let doors = FILE_DOORS.join(", ");
            problems.push((line, format!("only {doors} may use std::fs; use the disk")));
        }
    }
    problems.sort();
    problems.dedup();
    problems
}

/// The relative links of a Markdown text whose targets do not exist. Code contains no links.
fn dead_links(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut dead = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        // Every second piece is code in backticks.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
        for (at, _) in prose.match_indices("](") {
            let Some(link) = prose[at + 2..].split([')', ' ']).next() else { continue };
            let target = link.split('#').next().unwrap_or_default();
            if !target.is_empty()
                && !link.contains("://")
                && !link.starts_with("mailto:")
                && !exists(target)
            {
                dead.push(link.to_owned());
            }
        }
    }
    dead
}

mod rules_refuse {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        Sources::new(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
            .problems()
    }

    #[track_caller]
    fn refused(path: &str, text: &str, word: &str) {
        let found = problems(&[("src/lib.rs", "pub use session::{Session, What};"), (path, text)]);
        assert!(found.iter().any(|problem| problem.contains(word)), "{text:?} gave {found:?}");
    }

    #[track_caller]
    fn allowed(path: &str, text: &str) {
        let found = problems(&[
            ("src/lib.rs", "pub use session::{Session, What};\n#[cfg(test)] mod helper;"),
            (path, text),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn imports_that_point_up() {
        refused(
            "src/records/file.rs",
            "use crate::session::Session;",
            "src/records/file.rs:1: records must not",
        );
        refused(
            "src/records/file.rs",
            "\nuse crate::{error::Error, session::{View, Draft}};",
            ":2: records must not",
        );
        refused("src/records/file.rs", "use super::super::store::Store;", "must not import store");
        refused("src/records/mod.rs", "use super::store::Store;", "must not import store");
        refused(
            "src/records/file.rs",
            "fn f() -> crate::session::View { }",
            "must not import session",
        );
        refused("src/records/file.rs", "use crate::Session;", "must not import session");
        refused("src/value/id.rs", "use crate::disk::Disk;", "must not import disk");
        refused(
            "src/model/asset.rs",
            "pub(crate) use crate::filter::Plan;",
            "must not import filter",
        );
        refused("src/cellar/mod.rs", "", "has no level");
    }

    #[test]
    fn but_not_imports_that_point_down() {
        allowed(
            "src/session/view.rs",
            "use crate::records::{Space, Turn};\nuse super::draft::Draft;\nuse super::super::error::Error;",
        );
        allowed(
            "src/session/query/mod.rs",
            "pub(crate) use plan::Plan; use std::sync::Arc; use super::super::disk;",
        );
        allowed(
            "src/value/id.rs",
            "// use crate::store::Store;\n/* use crate::store; */ const S: &str = \"use crate::store::Store;\";",
        );
        allowed("src/value/id.rs", "/// [`crate::store::Store`]\nfn reuse (x: u8) {}");
    }

    #[test]
    fn imports_of_tests_that_point_up() {
        refused(
            "src/value/id.rs",
            "#[cfg(test)]\nmod tests {\n use crate::store::Store;\n}\n",
            "src/value/id.rs:3: value must not import store",
        );
        refused(
            "src/records/tests.rs",
            "use crate::session::View;",
            "records must not import session",
        );
        refused(
            "src/records/file_tests.rs",
            "fn f() { stationdb::Session::new() }",
            "must not import session",
        );
        // Everything that the root or one of its public modules has.
        let lib = (
            "src/lib.rs",
            "pub mod lab {\n pub use crate::session::Runner;\n}\npub use store::Store;",
        );
        let found = |text| problems(&[lib, ("src/records/tests.rs", text)]);
        assert!(found("use crate::lab::*;")[0].contains("must not import session"));
        assert!(found("use crate::{Error, lab::Runner};")[0].contains("must not import session"));
        assert!(found("use crate::*;")[0].contains("must not import store"));
        assert_eq!(found("use super::*;\nuse crate::error::Error;"), [""; 0]);
    }

    #[test]
    fn files_in_a_circle() {
        let found = problems(&[
            ("src/store/mod.rs", "mod a; mod b;"),
            ("src/store/a.rs", "use super::b::B;"),
            ("src/store/b.rs", "use super::a::A;"),
        ]);
        assert!(found[0].starts_with("2 files import each other:"), "{found:?}");
    }

    #[test]
    fn panics_in_library_code() {
        refused("src/value/id.rs", "fn f() { x.unwrap() }", "unwrap");
        refused("src/value/id.rs", "fn f() { x\n.expect(\"why\") }", ":2: \".expect");
        refused("src/value/id.rs", "fn f() { panic!(\"no\") }", "panic");
        refused("src/value/id.rs", "fn f() { todo!() }", "todo");
        refused("src/value/id.rs", "#[cfg(not(test))] fn f() { todo!() }", "todo");
        refused("src/value/id.rs", "#[cfg(test)]\nfn t() { {} }\nfn f() { todo!() }", ":3: \"todo");
        refused(
            "src/value/id.rs",
            "const C: char = '\"'; fn f() { todo!() } const D: char = '\"';",
            "todo",
        );
        refused("src/value/id.rs", "fn f<'a>(x: &'a str) { unsafe { } }", "unsafe");
        refused("src/value/id.rs", "let b = x.to_ne_bytes();", "endian");
    }

    #[test]
    fn but_not_panics_in_tests_and_texts() {
        allowed(
            "src/value/id.rs",
            "#[cfg(test)]\nmod tests { fn t() { x.unwrap(); if a { panic!(\"}\") } } }\n",
        );
        allowed(
            "src/value/id.rs",
            "#[cfg(any(test, feature = \"faults\"))]\npub fn t(a: [u8; 3]) -> u8 { x.unwrap() }\n",
        );
        allowed("src/helper.rs", "fn t() { x.unwrap() }");
        allowed("src/helper/deep.rs", "fn t() { x.unwrap() }");
        allowed(
            "src/value/id.rs",
            "/// x.unwrap()\nfn f() { x.unwrap_or(1); self.expect(Token::Comma); g(r#\"panic!(\"#) }",
        );
    }

    #[test]
    fn files_past_the_door() {
        refused("src/blobs/put.rs", "use std::fs::File;", "std::fs");
        refused("src/blobs/put.rs", "use std::{fs, io};", "std::fs");
        refused("src/blobs/put.rs", "fn f() { std::fs::remove_file(p) }", "std::fs");
        allowed("src/disk/real.rs", "use std::fs::File;");
        allowed("src/blobs/put.rs", "#[cfg(test)]\nmod tests { use std::fs::File; }");
    }

    #[test]
    fn long_lines_of_the_library() {
        let long = "x".repeat(LINE_CHARS_MAX + 1);
        assert_eq!(long_lines(&format!("\nlet {long};")), [2]);
        assert_eq!(long_lines(&format!("let s = \"\n{long}\";")), [2]);
        assert_eq!(long_lines(&format!("/// {long}\nfn f() {{}}\n// {long}")), [1, 3]);
        assert_eq!(long_lines(&format!("//! ```\n//! {long}\n//! ```\n//! {long}")), [4]);
        let after = format!("#[cfg(test)]\nmod tests {{\n{long}\n}}\nfn f() {{ {long} }}");
        assert_eq!(long_lines(&after), [5]);
        // A fence that is left open ends with its comment.
        assert_eq!(long_lines(&format!("/// ```\nfn f() {{}}\n// {long}")), [3]);
    }

    #[test]
    fn but_not_lines_that_must_be_long() {
        let long = "x".repeat(LINE_CHARS_MAX + 1);
        assert_eq!(long_lines(&"…".repeat(LINE_CHARS_MAX)), [0; 0]);
        assert_eq!(long_lines(&format!("/// ```\n#[doc = \"a\"]\n/// {long}\n/// ```")), [0; 0]);
        assert_eq!(long_lines(&format!("/// | {long} |\n// [x]({long}) https://{long}")), [0; 0]);
        assert_eq!(long_lines(&format!("#[cfg(test)]\nmod t {{\n{long}\n// {long}\n}}")), [0; 0]);
    }

    #[test]
    fn test_modules_of_another_form() {
        let with_path = "#[cfg(test)]\n#[path = \"id_tests.rs\"]\nmod tests;\n";
        assert_eq!(odd_test_modules("src/value/id.rs", with_path).len(), 1);
        assert_eq!(
            odd_test_modules("src/value/mod.rs", &with_path.replace("mod tests", "mod id_tests"))
                .len(),
            1
        );
        let plain =
            "#[cfg(test)]\nmod id_tests;\n#[cfg(test)]\nmod tests;\n#[path = \"a.rs\"]\nmod a;\n";
        assert!(odd_test_modules("src/value/mod.rs", plain).is_empty());
    }

    #[test]
    fn links_that_lead_nowhere() {
        let there = |link: &str| link == "format.md" || link == "../README.md";
        assert_eq!(
            dead_links("see [a](format.md#x), [b](gone.md) and [c](../README.md)", there),
            ["gone.md"]
        );
        assert!(dead_links("[a](https://x.y/z) [b](#part) [c](mailto:a@b)", there).is_empty());
        assert!(dead_links("`[a](gone.md)`\n```\n[a](gone.md)\n```", there).is_empty());
        assert_eq!(dead_links("```\nx\n```\n![p](gone.png \"title\")", there), ["gone.png"]);
    }
}
