//! Each answer that may contain the error of an item is one that must be looked at, and becomes an
//! error by `into_result`.

use crate::sources::{rust_files, words};

/// The answers of batches in a source: their names, and whether the compiler asks to use them.
fn answers(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("pub struct ") {
        let rest = &text[at..];
        let body = &rest[..rest.find('}').unwrap_or(rest.len())];
        if body.contains("pub error: Option<ApiError>") || body.contains("pub error: ApiError") {
            // The attributes are between the last empty line, or brace, and the name.
            let before = &text[..at];
            let from = before.rfind("\n\n").max(before.rfind('{')).unwrap_or_default();
            let name = words(&rest["pub struct ".len()..]).next().unwrap_or_default();
            found.push((name.to_owned(), before[from..].contains("#[must_use")));
        }
    }
    found
}

/// Files whose errors are no errors of items: the body of a refused request, and what an action of
/// one work item led to.
const OTHERS: [&str; 3] =
    ["src/model/bodies.rs", "src/model/lab/execution.rs", "src/model/lab/execution_event.rs"];

#[test]
fn every_answer_of_a_batch_must_be_used_and_becomes_an_error() {
    let files = rust_files("src/model");
    let list = files.iter().find(|(path, _)| path == "src/model/answer.rs").unwrap();
    let list = list.1.split("\nbatches! {").nth(1).and_then(|rest| rest.split("\n}").next());
    let listed: Vec<&str> = words(list.unwrap()).collect();
    let (mut count, mut problems) = (0, Vec::new());
    for (path, text) in files.iter().filter(|(path, _)| !OTHERS.contains(&path.as_str())) {
        for (name, is_must_use) in answers(text) {
            count += 1;
            if !is_must_use {
                problems.push(format!("{path}: {name} is not #[must_use]"));
            }
            if !listed.contains(&name.as_str()) {
                problems.push(format!("{path}: {name} is no BatchAnswer"));
            }
        }
    }
    assert!(count > 20, "{count} answers were found");
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn answers_that_nobody_must_use_are_found() {
    let text = "\n    /// A.\n    #[must_use = \"x\"]\n    wire pub struct A {\n        pub error: \
                Option<ApiError>,\n    }\n\n    /// B.\n    wire pub struct B {\n        pub error: \
                ApiError,\n    }\n\n    wire pub struct C {\n        pub id: String,\n    }\n";
    assert_eq!(answers(text), [("A".to_owned(), true), ("B".to_owned(), false)]);
}
