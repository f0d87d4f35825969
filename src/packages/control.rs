//! The grammar of control files: one paragraph of `Name: value` fields with continuation lines.

use crate::error::Result;
use crate::value::limits;

use super::{invalid, too_large};

/// One field of a control file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControlField {
    /// Name as spelled in the file.
    pub name: String,
    /// Its text: folded fields joined with spaces, multi-line fields with line feeds.
    pub text: String,
}

/// The fields of a control file, in order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlFile {
    /// The fields; no two names differ only in case.
    pub fields: Vec<ControlField>,
}

/// Fields whose continuation lines are one folded line. Every other field keeps its lines.
const FOLDED: &[&str] = &[
    "Package",
    "Version",
    "Architecture",
    "Maintainer",
    "Homepage",
    "Section",
    "Source",
    "Priority",
    "Essential",
    "Installed-Size",
    "Tags",
    "XB-Tags",
    "Tag",
    "Depends",
    "Pre-Depends",
    "Predepends",
    "Recommends",
    "Suggests",
    "Enhances",
    "Breaks",
    "Conflicts",
    "Replaces",
    "Provides",
];

impl ControlFile {
    /// The text of a field; ignores the case of `name`.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.text.as_str())
    }

    /// Reads the first paragraph of a control file. Bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// `InvalidArgument` for a line that belongs to no field; `LimitExceeded` for a name, field or
    /// file beyond its bound.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > limits::PACKAGE_CONTROL_TEXT_BYTES {
            return Err(too_large(format_args!(
                "its control file is longer than {} bytes",
                limits::PACKAGE_CONTROL_TEXT_BYTES
            )));
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut parser = Parser::default();
        for (index, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim().is_empty() {
                // The first blank line after a field ends the only paragraph.
                if parser.current.is_some() {
                    break;
                }
                continue;
            }
            parser.line(line, index + 1)?;
        }
        parser.finish()
    }
}

#[derive(Default)]
struct Parser {
    file: ControlFile,
    current: Option<RawField>,
}

struct RawField {
    name: String,
    lines: Vec<String>,
    bytes: usize,
}

impl Parser {
    fn line(&mut self, line: &str, number: usize) -> Result<()> {
        if line.starts_with('#') {
            return Ok(());
        }
        if let Some(continuation) = line.strip_prefix([' ', '\t']) {
            let Some(field) = &mut self.current else {
                return Err(invalid(format_args!(
                    "line {number} of its control file continues a field, but no field precedes it"
                )));
            };
            return field.push(continuation);
        }
        let Some((name, value)) = line.split_once(':') else {
            return Err(invalid(format_args!("line {number} of its control file has no colon")));
        };
        let name = name.trim();
        if name.is_empty() {
            return Err(invalid(format_args!(
                "line {number} of its control file has no field name"
            )));
        }
        if name.len() > limits::PACKAGE_NAME_BYTES {
            return Err(too_large(format_args!(
                "the field name in line {number} of its control file is longer than {} bytes",
                limits::PACKAGE_NAME_BYTES
            )));
        }
        self.close()?;
        let mut field = RawField { name: name.to_owned(), lines: Vec::new(), bytes: 0 };
        field.push(value.trim())?;
        self.current = Some(field);
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(raw) = self.current.take() else {
            return Ok(());
        };
        let field = raw.into_field();
        let fields = &mut self.file.fields;
        if let Some(have) =
            fields.iter_mut().find(|have| have.name.eq_ignore_ascii_case(&field.name))
        {
            *have = field;
        } else if fields.len() < limits::PACKAGE_FIELDS {
            fields.push(field);
        } else {
            return Err(too_large(format_args!(
                "its control file has more than {} fields",
                limits::PACKAGE_FIELDS
            )));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ControlFile> {
        self.close()?;
        Ok(self.file)
    }
}

impl RawField {
    fn push(&mut self, line: &str) -> Result<()> {
        self.bytes += line.len() + 1;
        if self.bytes > limits::PACKAGE_FIELD_BYTES + 1 {
            return Err(too_large(format_args!(
                "the field {} of its control file is longer than {} bytes",
                self.name,
                limits::PACKAGE_FIELD_BYTES
            )));
        }
        self.lines.push(line.trim_end().to_owned());
        Ok(())
    }

    fn into_field(self) -> ControlField {
        let folded = FOLDED.iter().any(|name| name.eq_ignore_ascii_case(&self.name));
        let text = if folded {
            let parts: Vec<&str> =
                self.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
            parts.join(" ")
        } else {
            let mut lines = self.lines;
            // A field whose first line is empty starts on its second line.
            if lines.len() > 1 && lines.first().is_some_and(String::is_empty) {
                lines.remove(0);
            }
            let texts: Vec<&str> =
                lines.iter().map(|line| if line == "." { "" } else { line.as_str() }).collect();
            // A dot on the line of the name is a value, not an empty line.
            match (lines.first(), texts.as_slice()) {
                (Some(first), [_]) => first.clone(),
                _ => texts.join("\n").trim_end().to_owned(),
            }
        };
        ControlField { name: self.name, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn get(text: &str, name: &str) -> Option<String> {
        ControlFile::parse(text.as_bytes()).unwrap().get(name).map(str::to_owned)
    }

    #[test]
    fn descriptions_keep_their_lines_and_preformatted_text() {
        let text = "Package: a\nDescription: Tool\n First\n .\n  fixed\n";
        assert_eq!(get(text, "description").as_deref(), Some("Tool\nFirst\n\n fixed"));
        assert_eq!(get("Eula:\n  a\n b\n", "Eula").as_deref(), Some(" a\nb"));
        assert_eq!(get("Note: .\n", "Note").as_deref(), Some("."));
    }

    #[test]
    fn lists_are_folded_and_names_match_in_any_case() {
        assert_eq!(
            get("DEPENDS: a,\n b (>= 1),\n\tc\n", "Depends").as_deref(),
            Some("a, b (>= 1), c")
        );
    }

    #[test]
    fn the_paragraph_ends_at_a_blank_line_and_comments_are_ignored() {
        let text = "\u{feff}\r\n\r\n# comment\r\nPackage:  a:b \r\n# in a field\r\nVersion: 1\r\n\r\nPackage: other\r\n";
        let file = ControlFile::parse(text.as_bytes()).unwrap();
        assert_eq!(file.fields.len(), 2);
        assert_eq!(file.get("package"), Some("a:b"));
        assert_eq!(file.get("version"), Some("1"));
    }

    #[test]
    fn the_last_of_equal_fields_wins_and_bad_bytes_are_replaced() {
        let file = ControlFile::parse(b"Package: a\npackage: b\xff\n").unwrap();
        assert_eq!(
            file.fields,
            [ControlField { name: "package".into(), text: "b\u{fffd}".into() }]
        );
    }

    #[test]
    fn lines_that_belong_to_no_field_are_refused() {
        for bad in [" continued\n", "no colon\n", ": nameless\n"] {
            let error = ControlFile::parse(bad.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}");
            assert!(error.message().contains("line 1"), "{error}");
        }
    }

    #[test]
    fn bounds_hold_at_the_limit_and_not_above() {
        let field = |len: usize| format!("Package: {}\n", "x".repeat(len));
        let above = ErrorKind::LimitExceeded;
        limits::holds_at(limits::PACKAGE_FIELD_BYTES, above, |len| {
            ControlFile::parse(field(len).as_bytes())
        });
        let name = |len: usize| format!("{}: x\n", "N".repeat(len));
        limits::holds_at(limits::PACKAGE_NAME_BYTES, above, |len| {
            ControlFile::parse(name(len).as_bytes())
        });
        let many = |count: usize| {
            (0..count).fold(String::new(), |text, index| text + &format!("F{index}: x\n"))
        };
        limits::holds_at(limits::PACKAGE_FIELDS, above, |count| {
            ControlFile::parse(many(count).as_bytes())
        });
        let long = |len: usize| {
            let mut text = "F: x\n".to_owned();
            text.push_str(&"#".repeat(len - text.len()));
            text
        };
        assert!(ControlFile::parse(long(limits::PACKAGE_CONTROL_TEXT_BYTES).as_bytes()).is_ok());
        assert!(
            ControlFile::parse(long(limits::PACKAGE_CONTROL_TEXT_BYTES + 1).as_bytes()).is_err()
        );
    }
}
