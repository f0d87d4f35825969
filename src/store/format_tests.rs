//! Compares what is stored with committed lists: numbers, members, values and codes of every
//! format.
//!
//! `tests/fixtures/v<format>/format.txt` lists what that format stores. The list of the format that
//! this build writes must equal the sources. Without all later additions, it must equal the list of
//! each earlier format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::model::REGISTRY;
use crate::records::Space;
use crate::value::stored::Format;

const RULE: &str = "What is stored has changed. A member, an enumeration value, a union variant or an index may \
    be added: raise `Format::CURRENT`, give it `since` with that number, and write the list of the new format with \
    STATIONDB_PIN_FORMAT=1. Nothing that an earlier format stores may change or go. See \"How the format grows\" in \
    docs/format.md.";

/// Kinds that came after format 1, by code, with their formats.
const KINDS_SINCE: &[(u8, &str)] = &[(14, "4"), (15, "5")];
/// The formats that introduced spaces, where that is not the first.
const SPACES_SINCE: &[(u8, &str)] = &[(15, "6"), (16, "6"), (17, "9")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn list_of(format: u8) -> PathBuf {
    root().join(format!("tests/fixtures/v{format}/format.txt"))
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

/// Orders and projections, which the derive generates. No record contains one, but the lists of
/// formats 1 and 2 have them, so they stay there.
fn made(found: &mut BTreeMap<String, String>) {
    use crate::{
        assets::*, files::*, products::*, specifications::*, tables::*, test_plans::*,
        work_items::*,
    };
    macro_rules! made {
        ($($name:ident),* $(,)?) => { $(
            let values = $name::ALL.iter().enumerate();
            let values = values.map(|(at, value)| line(&format!("{at} {value:?} = {:?}", value.as_str()), "1"));
            found.insert(concat!("enum ", stringify!($name)).to_owned(), values.collect());
        )* };
    }
    made! {
        AssetField, AssetOrderBy, FileLinqQueryOrderBy, FileQueryOrderBy, ProductField, ProductOrderBy,
        ProductProjection, SpecificationOrderBy, SpecificationProjection, TableOrderBy, TableProjection,
        TestPlanField, TestPlanOrderBy, TestPlanTemplateField, TestPlanTemplateOrderBy, UtilizationOrderBy,
        WorkItemField, WorkItemOrderBy, WorkItemTemplateField, WorkItemTemplateOrderBy,
    }
}

/// `record!`: each stored struct with its members in order.
fn records(text: &str, found: &mut BTreeMap<String, String>) {
    for body in bodies(text, "record! {") {
        for (at, _) in body.match_indices("pub struct ") {
            let before = body[..at].trim_end();
            // Requests and responses are not stored.
            if before.ends_with("wire") || before.ends_with("patch") {
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
            let rest = body.trim_start().strip_prefix("pub enum ").unwrap();
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
    made(&mut found);
    assert!(found.len() > 60, "{} stored types were found", found.len());
    for registered in REGISTRY {
        let kind = &registered.kind;
        let since =
            KINDS_SINCE.iter().find(|(code, _)| *code == kind.code).map_or("1", |(_, since)| since);
        let mut lines = line(&format!("{:?} ids", kind.id), since);
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
        let since = SPACES_SINCE
            .iter()
            .find(|(at, _)| *at as usize == number)
            .map_or("1", |(_, since)| since);
        found.insert(format!("space {number:03}"), line(space.name(), since));
    }
    let mut text = String::new();
    for (head, lines) in found {
        write!(text, "{head}\n{lines}").unwrap();
    }
    text
}

/// A list without the additions after `format`.
fn as_of(list: &str, format: u8) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for line in list.lines() {
        let since =
            line.rsplit_once(" since ").filter(|_| line.starts_with(' ')).map(|(_, since)| since);
        if since.is_some_and(|since| since.parse::<u8>().unwrap() > format) {
            continue;
        }
        // A type whose lines all came later did not exist.
        let is_head = since.is_none();
        if is_head && kept.last().is_some_and(|last| !last.starts_with(' ')) {
            kept.pop();
        }
        kept.push(line);
    }
    if kept.last().is_some_and(|last| !last.starts_with(' ')) {
        kept.pop();
    }
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// A list with type names without their paths: a type may move to another module.
fn without_paths(list: &str) -> String {
    let mut parts = list.split("::").peekable();
    let mut text = String::new();
    while let Some(part) = parts.next() {
        let is_path = parts.peek().is_some();
        let kept = part.trim_end_matches(|c: char| is_path && (c.is_alphanumeric() || c == '_'));
        text.push_str(kept);
    }
    text
}

/// A list in which a record of one member is that member wherever it is part of another record: the
/// bytes are the same. So a member may become a record, to which later formats add.
fn without_single_members(list: &str) -> String {
    let mut heads: Vec<(&str, Vec<String>)> = Vec::new();
    for line in list.lines() {
        match (line.starts_with(' '), heads.last_mut()) {
            (true, Some((_, lines))) => lines.push(line.to_owned()),
            _ => heads.push((line, Vec::new())),
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    loop {
        let single = heads.iter().enumerate().find_map(|(at, (head, lines))| {
            let name = head.strip_prefix("record ")?;
            let [line] = lines.as_slice() else { return None };
            let ty = line.split_once(": ")?.1.rsplit_once(" since ")?.0.to_owned();
            let is_used = heads
                .iter()
                .flat_map(|(_, lines)| lines)
                .any(|line| line.split(|c| !is_word(c)).any(|word| word == name));
            is_used.then(|| (at, name.to_owned(), ty))
        });
        let Some((at, name, ty)) = single else { break };
        heads.remove(at);
        for line in heads.iter_mut().flat_map(|(_, lines)| lines) {
            let mut text = String::new();
            for part in line.split_inclusive(|c| !is_word(c)) {
                let word = part.trim_end_matches(|c| !is_word(c));
                text += if word == name { &ty } else { word };
                text += &part[word.len()..];
            }
            *line = text;
        }
    }
    heads
        .into_iter()
        .map(|(head, lines)| {
            format!("{head}\n{}", lines.iter().map(|line| format!("{line}\n")).collect::<String>())
        })
        .collect()
}

#[test]
fn what_is_stored_is_what_the_committed_lists_say() {
    let now = stored();
    let current = Format::CURRENT.number();
    if std::env::var_os("STATIONDB_PIN_FORMAT").is_some() {
        std::fs::create_dir_all(list_of(current).parent().unwrap()).unwrap();
        std::fs::write(list_of(current), &now).unwrap();
    }
    let list = |format| {
        let text = std::fs::read_to_string(list_of(format)).unwrap_or_default();
        // A checkout may use other line ends.
        without_paths(&text.replace("\r\n", "\n"))
    };
    for format in 1..=current {
        let is = without_single_members(&without_paths(&as_of(&now, format)));
        let was = without_single_members(&list(format));
        let differs = was.lines().zip(is.lines()).find(|(was, is)| was != is);
        assert!(was == is, "format {format}, first difference {differs:?}. {RULE}");
    }
}

#[test]
fn a_list_without_what_came_later_is_that_of_the_format_before() {
    let now = "enum E\n  0 A = \"A\" since 1\n  1 B = \"B\" since 2\nrecord New\n  a: u8 since 2\nrecord R\n  a: u8 since 1\n";
    let before = "enum E\n  0 A = \"A\" since 1\nrecord R\n  a: u8 since 1\n";
    assert_eq!(as_of(now, 1), before);
    assert_eq!(as_of(now, 2), now);
    let grown = "record A\n  a: Option<Time> since 1\n  b: Vec<Time> since 1\nrecord Time\n  utc: i64 since 1\n  zone: bool since 2\n";
    let inline = "record A\n  a: Option<i64> since 1\n  b: Vec<i64> since 1\n";
    assert_eq!(without_single_members(&as_of(grown, 1)), inline);
    assert_eq!(without_single_members(inline), inline);
    assert_eq!(without_single_members(grown), grown);
    let paths = "  a: Option<super::b::C> since 1\n  d: E<f::G, H> since 1\n";
    assert_eq!(without_paths(paths), "  a: Option<C> since 1\n  d: E<G, H> since 1\n");
    let mut found = BTreeMap::new();
    let text = "record! {\n/// A.\npub struct A requires(b) {\n/// B.\n#[serde(default)]\npub b: Map<K, V>,\nsince(2) pub c: u8,\n}\n\
        wire pub struct B { pub d: u8 }\n}\n";
    records(&bare(text), &mut found);
    enumerations("wire_enum! { pub enum L { A = \"A\", B = \"B\" since 2, } }", &mut found);
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
