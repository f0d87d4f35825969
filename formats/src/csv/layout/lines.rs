//! The lines of the beginning of a file, and their fields.

/// A line of the first bytes.
#[derive(Debug)]
pub(in crate::csv) struct Line<'h> {
    /// Its number, from 1, and where it begins.
    pub(in crate::csv) number: u64,
    pub(in crate::csv) byte: usize,
    pub(in crate::csv) text: &'h [u8],
}

/// The fields of a line. Any number of blanks separates two fields where blanks do.
fn split(text: &str, separator: u8) -> Vec<String> {
    let is_blank = separator == b' ';
    let separates = |character: char| {
        character == char::from(separator) || is_blank && character.is_ascii_whitespace()
    };
    let (mut out, mut field) = (Vec::new(), String::new());
    let (mut is_quoted, mut is_closed, mut was_quoted) = (false, false, false);
    let mut push = |field: &mut String, was_quoted: bool| {
        if !is_blank || was_quoted || !field.is_empty() {
            out.push(std::mem::take(field).trim().to_owned());
        }
    };
    for character in text.chars() {
        match character {
            '"' if is_quoted => (is_quoted, is_closed) = (false, true),
            '"' if is_closed => {
                field.push('"');
                (is_quoted, is_closed) = (true, false);
            }
            // Another quote is a part of its field.
            '"' if field.trim().is_empty() => (is_quoted, was_quoted) = (true, true),
            other if separates(other) && !is_quoted => {
                push(&mut field, was_quoted);
                (is_closed, was_quoted) = (false, false);
            }
            other => {
                field.push(other);
                is_closed = false;
            }
        }
    }
    push(&mut field, was_quoted);
    out
}

/// A line with its fields.
pub(super) struct Fields {
    pub(super) number: u64,
    pub(super) byte: usize,
    pub(super) text: String,
    pub(super) all: Vec<String>,
}

/// The lines that are not blank, with their fields.
pub(super) fn fields_of(lines: &[Line<'_>], separator: u8) -> Vec<Fields> {
    let fields = |line: &Line<'_>| {
        let text = String::from_utf8_lossy(line.text).into_owned();
        Fields { number: line.number, byte: line.byte, all: split(&text, separator), text }
    };
    let is_blank = |line: &&Line<'_>| line.text.iter().all(u8::is_ascii_whitespace);
    lines.iter().filter(|line| !is_blank(line)).map(fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_separators_outside_of_quotes() {
        for (text, separator, expected) in [
            ("a,b", b',', &["a", "b"][..]),
            (" a , \"b,c\" ,", b',', &["a", "b,c", ""]),
            ("\"a \"\"b\"\"\",3.5\" x,\"\"", b',', &["a \"b\"", "3.5\" x", ""]),
            ("", b',', &[""]),
            ("  a \t\"b c\" \"\" d ", b' ', &["a", "b c", "", "d"]),
            (" ", b' ', &[]),
        ] {
            assert_eq!(split(text, separator), expected, "{text:?}");
        }
    }
}
