//! The lines of the beginning of a file, and their fields.

/// A line of the first bytes.
#[derive(Debug)]
pub(in crate::csv) struct Line<'h> {
    /// Its number, from 1, and where it begins.
    pub(in crate::csv) number: u64,
    pub(in crate::csv) byte: usize,
    pub(in crate::csv) text: &'h [u8],
}

/// The fields of a line.
fn split(text: &str, separator: u8) -> Vec<String> {
    if separator == b' ' {
        return text.split_ascii_whitespace().map(str::to_owned).collect();
    }
    let (mut out, mut field) = (Vec::new(), String::new());
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            other if other == char::from(separator) && !is_quoted => {
                out.push(std::mem::take(&mut field).trim().to_owned());
            }
            other => field.push(other),
        }
    }
    out.push(field.trim().to_owned());
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
