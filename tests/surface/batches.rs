//! Each answer that may contain the error of an item is declared as that of a batch: it is one that
//! must be looked at, and becomes an error by `into_result`.

use crate::sources::{rust_files, words};

/// The answers of batches in a source: their names, and whether they are declared as such.
fn answers(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("pub struct ") {
        let rest = &text[at..];
        let body = &rest[..rest.find('}').unwrap_or(rest.len())];
        if body.contains("pub error: Option<ApiError>") || body.contains("pub error: ApiError") {
            let name = words(&rest["pub struct ".len()..]).next().unwrap_or_default();
            found.push((name.to_owned(), text[..at].trim_end().ends_with(" batch")));
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
    let (mut count, mut problems) = (0, Vec::new());
    for (path, text) in rust_files("src/model") {
        for (name, is_batch) in answers(&text) {
            count += 1;
            if !is_batch && !OTHERS.contains(&path.as_str()) {
                problems.push(format!("{path}: {name} is not declared as `batch`"));
            }
        }
    }
    assert!(count > 20, "{count} answers were found");
    assert!(problems.is_empty(), "{problems:#?}");
    let declarations = rust_files("src/value");
    let (_, text) = declarations.iter().find(|(path, _)| path == "src/value/wire.rs").unwrap();
    let rule = text.split("\n    ($(#[$meta:meta])* batch pub struct").nth(1).unwrap();
    assert!(rule.split("\n    };").next().unwrap().contains("#[must_use"));
}

#[test]
fn answers_that_nobody_must_use_are_found() {
    let text = "\n    /// A.\n    created batch pub struct A {\n        pub error: \
                Option<ApiError>,\n    }\n\n    /// B.\n    answer pub struct B {\n        pub error: \
                ApiError,\n    }\n\n    wire pub struct C {\n        pub id: String,\n    }\n";
    assert_eq!(answers(text), [("A".to_owned(), true), ("B".to_owned(), false)]);
}
