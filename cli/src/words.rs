//! Splits a line of the shell into words.
//!
//! Blanks separate words, and quotes of either kind keep them together. A backslash is an ordinary
//! character, as in paths of Windows, except before a quote or a backslash in double quotes.

use crate::failure::{Failure, Outcome};

/// The words of a line that may not be complete yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The words, without quotes. The last one is empty after a blank.
    pub words: Vec<String>,
    /// Where the last word begins, in bytes, with its quote.
    pub last_start: usize,
    /// Whether a quote is open at the end.
    pub is_open: bool,
}

/// Splits a line up to the cursor.
pub fn partial(line: &str) -> Words {
    let mut words = Vec::new();
    let (mut word, mut start, mut is_word, mut quote) = (String::new(), line.len(), false, None);
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !is_word && !c.is_whitespace() {
            (start, is_word) = (at, true);
        }
        match (quote, c) {
            (Some('"'), '\\') => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, next)) => word.push(next),
                None => word.push('\\'),
            },
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
                start = line.len();
            }
            (None, c) => word.push(c),
        }
    }
    words.push(word);
    Words { words, last_start: start, is_open: quote.is_some() }
}

/// Splits a complete line.
pub fn split(line: &str) -> Outcome<Vec<String>> {
    let Words { mut words, last_start, is_open } = partial(line);
    if is_open {
        return Err(Failure::usage("a quote is not closed"));
    }
    // The empty word after the last blank; `''` is a word.
    if last_start == line.len() {
        words.pop();
    }
    Ok(words)
}

/// A word as it has to be written in a line.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:,+@%=".contains(c);
    match word {
        _ if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        _ if !word.contains('\'') => format!("'{word}'"),
        _ => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_into_words() {
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("  ls   tables ", &["ls", "tables"]),
            (r#"ls x --filter 'a == "b c"'"#, &["ls", "x", "--filter", r#"a == "b c""#]),
            (r#"ls --filter "a == \"b\"""#, &["ls", "--filter", r#"a == "b""#]),
            (r"import C:\data\new.csv", &["import", r"C:\data\new.csv"]),
            (r#"show "it's""#, &["show", "it's"]),
            ("show ''", &["show", ""]),
            ("--a='b c'd", &["--a=b cd"]),
        ];
        for (line, words) in cases {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert!(split("show 'a").is_err());
    }

    #[test]
    fn a_quoted_word_is_read_back() {
        for word in ["a", "a b", "it's", "say \"it's\" \\ so", "", "ä/ö"] {
            assert_eq!(split(&quoted(word)).unwrap(), [word]);
        }
    }

    #[test]
    fn the_last_word_has_a_place() {
        let last = |line: &str| {
            let words = partial(line);
            (words.last_start, words.words.last().cloned().unwrap())
        };
        assert_eq!(last("export 'My Ta"), (7, "My Ta".to_owned()));
        assert_eq!(last("export "), (7, String::new()));
        assert_eq!(last("exp"), (0, "exp".to_owned()));
    }
}
