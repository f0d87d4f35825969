//! Checks that the documents and the code name the same things.

use std::collections::BTreeSet;
use std::path::Path;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Those of `names` that `document` does not contain between backquotes.
fn missing<'n>(document: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let spans: Vec<&str> = document.split('`').skip(1).step_by(2).collect();
    names
        .into_iter()
        .filter(|name| !spans.iter().any(|span| span.split_whitespace().any(|word| word == *name)))
        .collect()
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
    let decisions = read("docs/decisions.md");
    for section in ["dependencies", "dev-dependencies"] {
        let names = manifest[section].as_table().unwrap().keys().map(String::as_str);
        assert_eq!(
            missing(&decisions, names),
            Vec::<&str>::new(),
            "docs/decisions.md gives no reason for these"
        );
    }
}

#[test]
fn every_space_is_in_the_format_page() {
    let code = read("src/records/space.rs");
    let names: Vec<&str> =
        code.lines().filter_map(|line| line.split_once("=> \"")?.1.split('"').next()).collect();
    assert!(names.len() > 10, "the spaces were not found");
    assert_eq!(
        missing(&read("docs/format.md"), names),
        Vec::<&str>::new(),
        "docs/format.md does not describe these"
    );
}

#[test]
fn every_kind_code_is_in_the_format_page() {
    let format = read("docs/format.md").replace('\n', " ").to_lowercase();
    let mut count = 0;
    let folders =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    for path in folders
        .flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
    {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for declaration in text.split("#[resource(").skip(1) {
            let Some(declaration) = declaration.trim_start().strip_prefix("kind") else { continue };
            let member = |name: &str| {
                Some(
                    declaration
                        .split_once(name)?
                        .1
                        .split([',', ')'])
                        .next()?
                        .trim()
                        .trim_matches('"'),
                )
            };
            let (Some(code), Some(name)) = (member(" = "), member("name = ")) else { continue };
            assert!(code.parse::<u8>().is_ok(), "{code:?} is no number of a kind");
            count += 1;
            assert!(
                format.contains(&format!("{} {code}", name.to_lowercase())),
                "docs/format.md does not name the kind {name:?} {code}"
            );
        }
    }
    assert!(count >= 13, "{count} kinds were found");
}

#[test]
fn the_recipe_of_a_resource_is_the_file_that_is_compiled() {
    let (page, recipe) = (read("docs/architecture.md"), read("docs/recipe/fixture.rs"));
    let shown = page.split("```rust,ignore\n").nth(1).unwrap().split("   ```").next().unwrap();
    let shown: Vec<&str> =
        shown.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).collect();
    assert!(shown.len() > 20, "the recipe was not found");
    assert!(
        recipe.contains(shown.join("\n").trim_end()),
        "docs/architecture.md shows another declaration than the recipe"
    );
}

#[test]
fn every_room_is_in_the_architecture_page() {
    let lib = read("src/lib.rs");
    let architecture = read("docs/architecture.md");
    let rooms = lib.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    assert_eq!(
        missing(&architecture, rooms),
        Vec::<&str>::new(),
        "docs/architecture.md does not show these rooms"
    );
}

#[test]
fn the_example_and_its_picture_are_where_the_readme_says() {
    let readme = read("README.md");
    let first_screen: String = readme.lines().take(30).collect::<Vec<_>>().join("\n");
    for command in ["cargo run --release --example station_day", "cargo test"] {
        assert!(
            first_screen.contains(command),
            "the README's first screen does not say {command:?}"
        );
    }
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/station_day/main.rs").exists());
}

/// Each silent change says what happens, why, and which test holds it.
#[test]
fn every_silent_change_has_its_test() {
    for row in every_row_has_tests("docs/reference/silent-changes.md", 9) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(cells.len() == 6 && cells.iter().skip(1).take(4).all(|cell| !cell.is_empty()));
    }
}

/// The rows of a page's table, each of which names tests that exist.
fn every_row_has_tests(page: &str, count: usize) -> Vec<String> {
    let page = read(page);
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), count);
    for row in &rows {
        let tests: Vec<(&str, &str)> =
            row.split('`').skip(1).step_by(2).filter_map(|span| span.split_once("::")).collect();
        assert!(!tests.is_empty(), "no test: {row}");
        for (file, name) in tests {
            let source = read(file);
            let lines: Vec<&str> = source.lines().map(str::trim).collect();
            let at = lines.iter().position(|line| *line == format!("fn {name}() {{"));
            let above = &lines[..at.unwrap_or_default()];
            let is_test = above.iter().rev().take(3).any(|line| *line == "#[test]");
            assert!(is_test, "{file} has no test {name}");
        }
    }
    rows.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_bound_of_a_record_is_written_down() {
    let limits = read("src/value/limits.rs");
    assert!(limits.contains("pub const RECORD_BYTES: usize = 4 * 1024 * 1024;"));
    let page = read("docs/reference/README.md");
    assert!(page.contains("| one stored record | 4 MiB "), "docs/reference/README.md");
}

/// The text of a section of a page, to the next heading of its level.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default();
    section.split("\n## ").next().unwrap_or_default()
}

/// docs/server.md names what has no route, and nothing else.
#[test]
fn the_page_of_the_server_names_what_is_not_routed() {
    let test = read("examples/server/tests/http/wire.rs");
    let list = test.split("const OTHERS: ").nth(1).unwrap().split("];").next().unwrap();
    // The first text of each pair.
    let pairs = list.split('(').skip(1).map(str::trim_start);
    let others: BTreeSet<&str> =
        pairs.filter_map(|pair| pair.strip_prefix('"')?.split('"').next()).collect();
    assert!(others.len() > 10, "{others:?}");
    let page = read("docs/server.md");
    let rows = section(&page, "What is not routed").lines().filter(|line| line.starts_with("| "));
    let named: BTreeSet<&str> = rows
        .skip(1)
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|cell| cell.split(',').map(str::trim))
        .collect();
    assert_eq!(named, others, "docs/server.md, and OTHERS in the test of the server");
}

/// What docs/server.md tells of the library is there, and the example uses it.
#[test]
fn the_page_of_the_server_names_what_the_example_uses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut library, mut example) = (String::new(), String::new());
    for (folder, text) in
        [(folder.join("src"), &mut library), (folder.join("examples/server/src"), &mut example)]
    {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    text.push_str(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
    }
    let page = read("docs/server.md");
    let sections = ["Requests and answers", "Cancelling and deadlines", "Streaming up"];
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for text in sections.map(|heading| section(&page, heading)) {
        for span in text.split('`').skip(1).step_by(2) {
            // Paths of the library and its functions: not members, values or types of others.
            let words = span.split(|c: char| !c.is_alphanumeric() && c != '_');
            let is_name = |word: &&str| {
                let is_type = word.len() > 3 && word.starts_with(char::is_uppercase);
                (is_type && word.contains(char::is_lowercase)) || word.starts_with("from_")
            };
            names.extend(words.filter(is_name));
        }
    }
    assert!(names.len() > 12, "{names:?}");
    for others in ["Handle", "Instant", "Cancelled"] {
        names.remove(others);
    }
    let missing: Vec<&str> = names
        .into_iter()
        .filter(|name| {
            let declared = ["struct", "enum", "trait", "fn"].iter().any(|kind| {
                let named = format!("{kind} {name}");
                library.match_indices(&named).any(|(at, _)| {
                    let next = library[at + named.len()..].chars().next();
                    !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
                })
            });
            !declared || !example.contains(name)
        })
        .collect();
    assert_eq!(missing, Vec::<&str>::new(), "not in src, or not used by the example");
}
