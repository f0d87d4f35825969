//! Compares what is stored with a committed list: members, values, codes and versions of layouts.
//!
//! `tests/fixtures/v<format>/format.txt` must equal the sources, and `FINGERPRINT` must be its hash.

use crate::store::tests::prelude::*;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::format::FINGERPRINT;
use crate::blobs::BLOB_MAGIC;
use crate::columnar::{BUFFER_VERSION, SUMMARY_VERSION};
use crate::model::{ConditionValue, ExecutionEvent, Platform, REGISTRY, SpecificationLimit};
use crate::records::{JOURNAL_MAGIC, layout_samples};
use crate::session::token::VERSION as TOKEN_VERSION;
use crate::value::number::Number;
use crate::value::planned_time::PlannedTime;
use crate::value::stored::Stored;

const RULE: &str = "What is stored has changed. Until the first release that changes format 1: write its list and \
    its fingerprint with STATIONDB_PIN_FORMAT=1 before this test, and its stores with \
    `STATIONDB_MAKE_FIXTURES=1 cargo test --locked --all-features --test fixtures make`. Stores of earlier builds are \
    refused from then on. See \"How the format grows\" in docs/format.md.";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn list() -> PathBuf {
    root().join(format!("tests/fixtures/v{}/format.txt", Format::FIRST.number()))
}

/// A text of the repository; a checkout may use other line ends.
fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n")
}

/// The layouts with a version, as the table in `docs/format.md` names them.
fn layouts() -> [(String, String); 5] {
    let magic = |name: &str, magic: [u8; 8]| {
        let magic = String::from_utf8_lossy(&magic).trim_end().to_owned();
        (format!("{name} `{magic}`"), magic.trim_start_matches(char::is_alphabetic).to_owned())
    };
    [
        ("continuation token".to_owned(), TOKEN_VERSION.to_string()),
        ("buffered append `SDTB`".to_owned(), BUFFER_VERSION.to_string()),
        ("segment summary `SDSM`".to_owned(), SUMMARY_VERSION.to_string()),
        magic("blob", BLOB_MAGIC),
        magic("journal", JOURNAL_MAGIC),
    ]
}

/// Hashes of bytes that no list of members describes: layouts without a version, and the forms of
/// types that encode themselves.
fn samples() -> Vec<(String, String)> {
    fn bytes<T: Stored + serde::de::DeserializeOwned>(value: serde_json::Value) -> Vec<u8> {
        stored::to_bytes(&serde_json::from_value::<T>(value).unwrap()).unwrap()
    }
    let mut samples = layout_samples();
    samples.extend([
        ("Number", bytes::<Vec<Number>>(json!([1, -7, 1.5, -0.0, 1e300]))),
        ("PlannedTime", bytes::<Vec<PlannedTime>>(json!(["2024-01-02T03:04:05.006Z", "2024-01-02T03:04:05"]))),
        ("Platform", bytes::<Platform>(json!("NI_LINUX_RT"))),
        (
            "SpecificationLimit",
            bytes::<Vec<SpecificationLimit>>(json!([{ "min": 1, "max": 2.5 }, { "typical": -3 }])),
        ),
        (
            "ConditionValue",
            bytes::<Vec<ConditionValue>>(json!([
                { "conditionType": "NUMERIC", "discrete": [1.5, 2], "range": [{ "min": 1, "max": 2 }], "unit": "V" },
                { "conditionType": "STRING", "discrete": ["a", "b"] },
                { "conditionType": 7 },
            ])),
        ),
        (
            "ExecutionEvent",
            bytes::<Vec<ExecutionEvent>>(json!([
                { "type": "JOB", "action": "START", "jobIds": ["1"], "newState": "IN_PROGRESS" },
                { "type": "NOTEBOOK", "action": "A", "executionId": "e" },
                { "type": "MANUAL", "action": "END", "error": { "name": "n", "code": -1, "args": ["a"] } },
            ])),
        ),
        ("BTreeMap", bytes::<BTreeMap<String, Option<String>>>(json!({ "a": "b", "c": null }))),
        ("Value", bytes::<Vec<serde_json::Value>>(json!([null, true, 1, 1.5, "a", [1], { "a": 1 }]))),
    ]);
    let hash = |bytes: Vec<u8>| format!("{:016x}", xxh3_64(&bytes));
    samples.into_iter().map(|(name, bytes)| (name.to_owned(), hash(bytes))).collect()
}

/// The sources of the library, without tests.
fn sources(directory: &Path, texts: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_test = name.ends_with("tests") || name.ends_with("tests.rs") || name == "sim";
        if path.is_dir() && !is_test {
            sources(&path, texts);
        } else if name.ends_with(".rs") && !is_test {
            let text = std::fs::read_to_string(&path).unwrap();
            // Tests are at the end of a file.
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
            texts.push((path, code));
        }
    }
}

/// The text between the brace at the start and the matching one.
fn braced(text: &str) -> &str {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[1..at];
        }
    }
    panic!("a brace is not closed: {text:.80}");
}

/// Code without comments, attributes and line ends.
fn bare(code: &str) -> String {
    let lines = code
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//") && !line.starts_with("#["));
    lines.collect::<Vec<_>>().join(" ")
}

/// The parts between commas that are outside all brackets.
fn parts(code: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for character in code.chars() {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if character == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(character);
        }
    }
    let parts = parts.into_iter().map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    parts.filter(|part| !part.is_empty()).collect()
}

/// The texts that begin with `opening`, up to the closing brace.
fn bodies<'t>(text: &'t str, opening: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(opening).map(move |(at, _)| braced(&text[at + opening.len() - 1..]))
}

/// A line that ends with the format that added it.
fn line(text: &str, since: &str) -> String {
    format!("  {text} since {since}\n")
}

/// A member without `pub` or `pub(crate)`.
fn without_visibility(member: &str) -> &str {
    member.strip_prefix("pub ").or_else(|| member.strip_prefix("pub(crate) ")).unwrap()
}

/// The members of a struct in order, from the text after its name.
fn members(rest: &str) -> String {
    let members = parts(braced(&rest[rest.find('{').unwrap()..])).into_iter().map(|member| {
        let (since, member) = match member.strip_prefix("since(") {
            Some(rest) => rest.split_once(") ").unwrap(),
            None => ("1", member.as_str()),
        };
        line(without_visibility(member), since)
    });
    members.collect()
}

/// `#[derive(…, Resource)]`: each resource with its members in order.
fn resources(text: &str, found: &mut BTreeMap<String, String>) {
    for rest in text.split(", Resource)]\n").skip(1) {
        let rest = rest.split_once(" struct ").unwrap().1;
        let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        let end = rest.find("\n}").unwrap() + 2;
        // `#[since(2)]` is the only attribute that affects what is stored.
        let code = bare(&rest[..end].replace("#[since(", "since(").replace(")]\n", ")\n"));
        assert!(
            found.insert(format!("record {name}"), members(&code)).is_none(),
            "two records are called {name}"
        );
    }
}

/// `record!`: each stored struct with its members in order.
fn records(text: &str, found: &mut BTreeMap<String, String>) {
    for body in bodies(text, "record! {") {
        for (at, _) in body.match_indices("pub struct ") {
            let before = body[..at].trim_end();
            // Requests and responses are not stored.
            let words = ["wire", "patch", "answer", "created", "page", "batch"];
            if words.iter().any(|word| before.ends_with(word)) {
                continue;
            }
            let rest = &body[at + "pub struct ".len()..];
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            assert!(
                found.insert(format!("record {name}"), members(rest)).is_none(),
                "two records are called {name}"
            );
        }
    }
}

/// `wire_enum!` and `wire_union!`: the values in order, the variants with their codes.
fn enumerations(text: &str, found: &mut BTreeMap<String, String>) {
    for (opening, kind) in [("wire_enum! {", "enum"), ("wire_union! {", "union")] {
        for body in bodies(text, opening) {
            // Enumerations of requests and answers are not stored.
            let Some(rest) = body.trim_start().strip_prefix("pub enum ") else { continue };
            let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap();
            let values = parts(braced(&rest[rest.find('{').unwrap()..]))
                .into_iter()
                .enumerate()
                .map(|(at, value)| {
                    let (value, since) = value.split_once(" since ").unwrap_or((&value, "1"));
                    let text =
                        if kind == "enum" { format!("{at} {value}") } else { value.to_owned() };
                    line(&text, since)
                });
            let values: String = values.collect();
            assert!(
                found.insert(format!("{kind} {name}"), values).is_none(),
                "two enumerations are called {name}"
            );
        }
    }
}

/// The list of what this build stores.
fn stored() -> String {
    let mut texts = Vec::new();
    sources(&root().join("src"), &mut texts);
    let mut found = BTreeMap::new();
    for (_, text) in &texts {
        let code = bare(text);
        records(&code, &mut found);
        enumerations(&code, &mut found);
        resources(text, &mut found);
    }
    assert!(found.len() > 40, "{} stored types were found", found.len());
    for registered in REGISTRY {
        let kind = &registered.kind;
        let mut lines = format!("  {:?} ids\n", kind.id);
        for index in (registered.indexes)() {
            let unique = if index.unique { " unique" } else { "" };
            let text = format!(
                "index {} {:?} beside {:?}{unique}",
                index.number, index.fields, index.include
            );
            lines += &line(&text, &index.since.to_string());
        }
        assert!(found.insert(format!("kind {:03}", kind.code), lines).is_none());
    }
    for (number, space) in Space::ALL.into_iter().enumerate() {
        found.insert(format!("space {number:03}"), format!("  {}\n", space.name()));
    }
    for (name, version) in layouts() {
        found.insert(format!("layout {name}"), format!("  {version}\n"));
    }
    for (name, hash) in samples() {
        found.insert(format!("bytes {name}"), format!("  {hash}\n"));
    }
    let mut text = String::new();
    for (head, lines) in found {
        write!(text, "{head}\n{lines}").unwrap();
    }
    text
}

#[test]
fn what_is_stored_is_what_the_committed_list_says() {
    let now = stored();
    let fingerprint = xxh3_64(now.as_bytes());
    if std::env::var_os("STATIONDB_PIN_FORMAT").is_some() {
        std::fs::create_dir_all(list().parent().unwrap()).unwrap();
        std::fs::write(list(), &now).unwrap();
        let source = root().join("src/store/format.rs");
        let digits = format!("{fingerprint:016x}");
        let groups = [&digits[..4], &digits[4..8], &digits[8..12], &digits[12..]].join("_");
        let code = text_of(&source);
        let (before, rest) = code.split_once("FINGERPRINT: u64 = 0x").unwrap();
        let after = rest.split_once(';').unwrap().1;
        let code = format!("{before}FINGERPRINT: u64 = 0x{groups};{after}");
        std::fs::write(source, code).unwrap();
        return;
    }
    let was = text_of(&list());
    let differs = was.lines().zip(now.lines()).find(|(was, is)| was != is);
    assert!(was == now, "first difference {differs:?}. {RULE}");
    assert!(fingerprint == FINGERPRINT, "the fingerprint is {fingerprint:016x}. {RULE}");
    let page = text_of(&root().join("docs/format.md"));
    for (name, version) in layouts() {
        assert!(page.contains(&format!("| {name} | {version} |")), "docs/format.md: {name}");
    }
}

#[test]
fn the_list_has_what_the_sources_declare_as_stored() {
    let mut found = BTreeMap::new();
    let text = "record! {\n/// A.\npub struct A requires(b) {\n/// B.\n#[serde(default)]\npub b: Map<K, V>,\nsince(2) pub c: u8,\n}\n\
        wire pub struct B { pub d: u8 }\n}\n";
    records(&bare(text), &mut found);
    enumerations("wire_enum! { pub enum L { A = \"A\", B = \"B\" since 2, } }", &mut found);
    enumerations("wire_enum! { wire pub enum W { A = \"A\", } }", &mut found);
    resources(
        "#[derive(Clone, Resource)]\n#[fields(a)]\npub struct C {\n    /// A.\n    #[since(2)]\n    pub a: Option<u8>,\n\
            \x20   #[serde(default)]\n    pub r#type: u8,\n}\n",
        &mut found,
    );
    let list: Vec<(&str, &str)> =
        found.iter().map(|(head, lines)| (head.as_str(), lines.as_str())).collect();
    assert_eq!(list[0], ("enum L", "  0 A = \"A\" since 1\n  1 B = \"B\" since 2\n"));
    assert_eq!(list[1], ("record A", "  b: Map<K, V> since 1\n  c: u8 since 2\n"));
    assert_eq!(list[2], ("record C", "  a: Option<u8> since 2\n  r#type: u8 since 1\n"));
    assert_eq!(list.len(), 3);
}

/// The build script.
#[path = "../../build.rs"]
#[allow(dead_code, unreachable_pub)]
mod build;

#[test]
fn the_build_script_finds_the_commit_of_every_form_of_a_checkout() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let told = |path: &str| {
        let watched = std::cell::RefCell::new(Vec::new());
        let commit = build::commit(&root.join(path), &|path| {
            assert!(path.exists(), "{}", path.display());
            watched.borrow_mut().push(path.file_name().unwrap().to_str().unwrap().to_owned());
        });
        (commit.unwrap_or_default(), watched.into_inner())
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let [one, two, three] = ["1", "2", "3"].map(|digit| digit.repeat(40));
    assert_eq!(told("main"), (String::new(), vec![]), "a package");
    put("main/.git/HEAD", "ref: refs/heads/main\n");
    put(
        "main/.git/packed-refs",
        &format!("# pack-refs\n{two} refs/heads/x/main\n{one} refs/heads/main\n"),
    );
    put("main/.git/refs/tags/t", "");
    assert_eq!(told("main"), ("1".repeat(12), named(&["HEAD", "refs", "packed-refs"])), "packed");
    put("main/.git/refs/heads/main", &format!("{two}\n"));
    assert_eq!(told("main"), ("2".repeat(12), named(&["HEAD", "main"])), "a commit on it");
    put("main/.git/HEAD", &format!("{three}\n"));
    assert_eq!(told("main"), ("3".repeat(12), named(&["HEAD"])), "no branch");
    put("other/.git", &format!("gitdir: {}\n", root.join("main/.git/worktrees/other").display()));
    put("main/.git/worktrees/other/HEAD", "ref: refs/heads/side\n");
    put("main/.git/worktrees/other/commondir", "../..\n");
    put("main/.git/refs/heads/side", &format!("{one}\n"));
    assert_eq!(told("other"), ("1".repeat(12), named(&["HEAD", "side"])), "a worktree");
    put("main/.git/refs/heads/side", "ref: refs/heads/main\n");
    assert_eq!(told("other"), (String::new(), named(&["HEAD", "side"])), "no commit");
}
