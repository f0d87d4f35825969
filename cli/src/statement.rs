//! Lines of the shell that are statements of SQL.
//!
//! Quotes and `--` mean something else in SQL, so a statement is not split into words.

/// What a statement may begin with.
const STARTS: [&str; 4] = ["select", "with", "explain", "describe"];
/// Options that may stand before or after a statement.
const OPTIONS: [&str; 4] = ["--json", "--jsonl", "--csv", "--no-pager"];
/// Options with a value, which may stand after a statement. Before one, it needs quotes.
const VALUED: [&str; 2] = ["--lake", "--root"];
/// The tables of records, and those of steps, measurements and quotas.
pub const RECORDS: [&str; 17] = [
    "products",
    "results",
    "steps",
    "measurements",
    "specifications",
    "assets",
    "asset_utilizations",
    "work_items",
    "work_item_templates",
    "test_plans",
    "test_plan_templates",
    "tables",
    "files",
    "feeds",
    "packages",
    "workspaces",
    "quotas",
];

/// The first word of a text, and the rest.
fn first(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// Whether the line is a statement, or asks for one.
pub fn is_one(line: &str) -> bool {
    let (word, _) = first(line);
    // A statement needs no blank after its first word, as in `select*from products`.
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let begins = word.split_once(|c| !is_name(c)).map_or(word, |(begins, _)| begins);
    word == "sql" || STARTS.iter().any(|start| begins.eq_ignore_ascii_case(start))
}

/// The words of the command that the line means, if it is a statement as it stands. A statement in
/// quotes is a word, as in every other command.
pub fn words(line: &str) -> Option<Vec<String>> {
    if !is_one(line) {
        return None;
    }
    let mut words = vec!["sql".to_owned()];
    let mut rest = match first(line) {
        ("sql", rest) => rest.trim(),
        _ => line.trim(),
    };
    while let (option, after) = first(rest)
        && OPTIONS.contains(&option)
    {
        words.push(option.to_owned());
        rest = after.trim_start();
    }
    // At the end of a line nothing else begins so: it would be a comment.
    if let Some((before, options)) = at_the_end(rest) {
        words.extend(options);
        rest = before.trim_end();
    }
    // Options with a value, as `--lake DIR`, stand before a statement in quotes.
    if rest.is_empty() || rest.starts_with(['"', '\'', '-']) {
        return None;
    }
    words.extend(["--".to_owned(), rest.to_owned()]);
    Some(words)
}

/// A statement, and the options after it: from the first place on after which there is nothing
/// else.
fn at_the_end(text: &str) -> Option<(&str, Vec<String>)> {
    text.match_indices("--").find_map(|(at, _)| {
        let (before, rest) = text.split_at_checked(at)?;
        before.ends_with(char::is_whitespace).then_some(())?;
        let options = crate::words::split(rest).ok()?;
        are_options(&options).then_some((before, options))
    })
}

/// Whether words are options, each with its value.
fn are_options(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let is_option = if VALUED.contains(&word) {
            words.next().is_some_and(|value| !value.starts_with("--"))
        } else {
            OPTIONS.contains(&word)
        };
        if !is_option {
            return false;
        }
    }
    true
}

/// The column of a field: the first name of its path in snake case.
pub fn column_of(field: &str) -> String {
    let first = field.split('.').next().unwrap_or_default();
    let mut column = String::with_capacity(first.len() + 4);
    for letter in first.chars() {
        if letter.is_uppercase() {
            column.push('_');
        }
        column.extend(letter.to_lowercase());
    }
    column
}

/// The name as a statement has to write it.
pub fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_stays_as_it_is() {
        let cases: [(&str, &[&str]); 10] = [
            ("Select*from products", &["sql", "--", "Select*from products"]),
            (
                r#"sql select "it's", 'a "b"' from rows."Loop 1""#,
                &["sql", "--", r#"select "it's", 'a "b"' from rows."Loop 1""#],
            ),
            ("SELECT 1 -- one", &["sql", "--", "SELECT 1 -- one"]),
            ("select 1 --json", &["sql", "--json", "--", "select 1"]),
            (
                "sql --csv --no-pager select  1;",
                &["sql", "--csv", "--no-pager", "--", "select  1;"],
            ),
            (
                "with a as (select 1) select * from a",
                &["sql", "--", "with a as (select 1) select * from a"],
            ),
            (
                r#"select 1 --lake "my lake" --csv --root plant"#,
                &["sql", "--lake", "my lake", "--csv", "--root", "plant", "--", "select 1"],
            ),
            ("sql select 1 --lake lake", &["sql", "--lake", "lake", "--", "select 1"]),
            // Comments.
            ("select 1 --json is text", &["sql", "--", "select 1 --json is text"]),
            ("select 1 --csv --lake", &["sql", "--", "select 1 --csv --lake"]),
        ];
        for (line, expected) in cases {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
        for line in [
            "sql",
            "sql --help",
            "sql 'select 1' --json",
            "ls select",
            "selected",
            "select-x",
            "",
            "sql --lake lake 'select 1'",
        ] {
            assert_eq!(words(line), None, "{line}");
        }
    }

    #[test]
    fn columns_have_the_names_of_fields() {
        for (field, column) in
            [("partNumber", "part_number"), ("timeline.dueDateTime", "timeline"), ("id", "id")]
        {
            assert_eq!(column_of(field), column);
        }
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(quoted("loop_1"), "loop_1");
        assert_eq!(quoted("Loop 1"), "\"Loop 1\"");
        assert_eq!(quoted("1a"), "\"1a\"");
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
