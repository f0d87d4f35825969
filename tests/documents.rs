//! Checks that the documents and the code name the same things.

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

/// Each correction names the test that fails without it: a file, and a function in it.
#[test]
fn every_test_of_the_corrections_is_there() {
    let page = read("docs/reference/corrections.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 21, "corrections");
    for row in rows {
        let tests: Vec<(&str, &str)> =
            row.split('`').skip(1).step_by(2).filter_map(|span| span.split_once("::")).collect();
        assert!(!tests.is_empty(), "no test: {row}");
        for (file, name) in tests {
            let test = format!("#[test]\nfn {name}() {{");
            assert!(read(file).contains(&test), "{file} has no test {name}");
        }
    }
}
