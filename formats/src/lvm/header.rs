//! The header of a measurement file, and that of each of its segments.

use std::collections::BTreeMap;

use stationdb::{Error, Result};

use super::escape::unescape;
use crate::instrument_text::decode;
use crate::limits;
use crate::lines::{At, Lines};
use crate::options::ImportOptions;

/// What the first line of a file begins with.
pub(super) const MARK: &str = "LabVIEW Measurement";
const END: &str = "***End_of_Header***";
const SPECIAL: &str = "***Start_Special***";
const SPECIAL_END: &str = "***End_Special***";
/// The name of columns of X values, and of the column of comments.
pub(super) const X_VALUE: &str = "X_Value";
const COMMENT: &str = "Comment";
/// Fields that have a cell for each channel.
const OF_CHANNELS: [&str; 9] = [
    "Samples",
    "Date",
    "Time",
    "Y_Unit_Label",
    "Y_Dimension",
    "X_Unit_Label",
    "X_Dimension",
    "X0",
    "Delta_X",
];
/// Fields whose texts have escapes.
const ESCAPED: [&str; 2] = ["Description", "Notes"];

/// The fields before the first segment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileHeader {
    pub(super) separator: u8,
    pub(super) comma: bool,
    pub(super) fields: BTreeMap<String, String>,
}

/// Bytes that headers may take together.
#[derive(Debug, Default)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn used(&self) -> usize {
        self.0
    }

    /// # Errors
    /// `LimitExceeded`.
    pub(super) fn take(&mut self, bytes: usize, lines: &Lines) -> Result<()> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= limits::IMPORT_METADATA_BYTES {
            return Ok(());
        }
        let what = format!(
            "the headers of the measurement file take more than {} bytes",
            limits::IMPORT_METADATA_BYTES
        );
        Err(crate::lines::at_line(Error::limit(what), lines.here.line))
    }
}

fn is(line: &[u8], mark: &str) -> bool {
    line.starts_with(mark.as_bytes())
}

/// Whether a line begins a file header.
pub(super) fn begins_file(line: &[u8]) -> bool {
    is(line, MARK)
}

/// Whether the header ends before its end, because the file does.
pub(super) struct Cut;

impl FileHeader {
    /// Reads the lines behind the mark.
    ///
    /// # Errors
    /// `InvalidArgument` with the line; `LimitExceeded`; `Io`. The inner error is a file that ends.
    pub(super) fn read(
        lines: &mut Lines,
        options: &ImportOptions,
        budget: &mut Budget,
    ) -> Result<std::result::Result<Self, Cut>> {
        let mut header = Self { separator: 0, comma: false, fields: BTreeMap::new() };
        let (mut mark, mut special) = (None, Special::default());
        loop {
            if !lines.advance()? {
                return Ok(Err(Cut));
            }
            let line = lines.text();
            budget.take(line.len(), lines)?;
            if special.takes(line) {
                continue;
            }
            if is(line, END) {
                break;
            }
            let (text, _) = decode(line);
            let Some(at) = text.find(['\t', ',', ';', '|']) else { continue };
            let (key, value) = text.split_at(at);
            let between = value.chars().next().unwrap_or_default();
            let value = value.get(1..).unwrap_or_default();
            header.separator = u8::try_from(between).unwrap_or(b'\t');
            match key {
                "Separator" => mark = separator(value),
                "Decimal_Separator" => {
                    let value = value.trim_end_matches(between);
                    header.comma = match if value.is_empty() { "," } else { value.trim() } {
                        "," => true,
                        "." => false,
                        other => {
                            return Err(lines.fault(format!(
                                "the decimal separator {other:?} is neither a point nor a comma; \
                                 name it with decimalSeparator, and correct this line"
                            )));
                        }
                    };
                }
                _ => {
                    let value = value.trim_end_matches(between).trim();
                    let value = if ESCAPED.contains(&key) {
                        unescape(value).into_owned()
                    } else {
                        value.to_owned()
                    };
                    if !key.is_empty() && !value.is_empty() {
                        header.fields.insert(key.to_owned(), value);
                    }
                }
            }
        }
        header.separator = match options.separator.or(mark) {
            Some(separator) => separator,
            None if header.separator == 0 => b'\t',
            None => header.separator,
        };
        header.comma = options.decimal_comma.unwrap_or(header.comma);
        if header.comma && header.separator == b',' {
            return Err(lines.fault(
                "commas separate values and decimals in this file; name one of them with \
                 separator or decimalSeparator",
            ));
        }
        special.into_field(&mut header.fields);
        Ok(Ok(header))
    }

    /// The cells of a line.
    pub(super) fn cells<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        text.split(char::from(self.separator))
    }

    /// Whether rows have X values.
    pub(super) fn has_x(&self) -> bool {
        self.fields.get("X_Columns").is_none_or(|value| value != "No")
    }

    /// Whether X values of time count from 1904, and not from date and time.
    pub(super) fn is_absolute(&self) -> bool {
        self.fields.get("Time_Pref").is_some_and(|value| value == "Absolute")
    }
}

/// The separator that a field names, if it is one of those that LabVIEW knows, or one character.
fn separator(value: &str) -> Option<u8> {
    match value.trim().to_ascii_lowercase().as_str() {
        "tab" => Some(b'\t'),
        "comma" => Some(b','),
        "semicolon" => Some(b';'),
        _ => None,
    }
}

/// The blocks of a header that only the program that wrote them reads.
#[derive(Default)]
struct Special {
    is_open: bool,
    text: String,
}

impl Special {
    /// Whether a line is of such a block.
    fn takes(&mut self, line: &[u8]) -> bool {
        if is(line, SPECIAL_END) && self.is_open {
            self.is_open = false;
            return true;
        }
        self.is_open |= is(line, SPECIAL);
        if self.is_open {
            let (text, _) = decode(line);
            let text = text.strip_prefix(SPECIAL).unwrap_or(&text).trim();
            if !text.is_empty() {
                self.text.push_str(if self.text.is_empty() { "" } else { "\n" });
                self.text.push_str(text);
            }
        }
        self.is_open
    }

    fn into_field(self, fields: &mut BTreeMap<String, String>) {
        if !self.text.is_empty() {
            fields.insert("Special".to_owned(), self.text);
        }
    }
}

/// A channel: its name, its cell in a row, and the cell of its X value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) cell: usize,
    pub(super) x: Option<usize>,
}

/// The header of a segment, with the line that names its columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Segment {
    /// The cells of each field, without its name, and its line.
    fields: BTreeMap<String, (u64, Vec<String>)>,
    special: Option<String>,
    pub(super) channels: Vec<Channel>,
    /// The cell of comments.
    pub(super) comment: Option<usize>,
    /// Whether each channel has an X column of its own.
    pub(super) is_multi: bool,
    /// What the first cell of the line of names is: an X column, below the names of the fields.
    has_x_first: bool,
    /// Where its rows begin.
    pub(super) rows: At,
    /// The line of the names.
    pub(super) names_line: u64,
    /// Whether its names are not UTF-8.
    pub(super) is_foreign: bool,
}

impl Segment {
    /// Reads the header from its first line, which was read.
    ///
    /// # Errors
    /// `InvalidArgument` with the line; `LimitExceeded`; `Io`. The inner error is a file that ends.
    pub(super) fn read(
        lines: &mut Lines,
        header: &FileHeader,
        budget: &mut Budget,
    ) -> Result<std::result::Result<Self, Cut>> {
        let (mut segment, mut special) = (Self::default(), Special::default());
        let mut is_behind = false;
        loop {
            let line = lines.text();
            budget.take(line.len() + 64, lines)?;
            let (text, is_foreign) = decode(line);
            segment.is_foreign |= is_foreign;
            let is_blank = header.cells(&text).all(|cell| cell.trim().is_empty());
            if special.takes(line) || is_blank {
                // Blank lines and special blocks say nothing of the columns.
            } else if is(line, END) {
                is_behind = true;
            } else if is_behind || header.cells(&text).next().map(str::trim) == Some(X_VALUE) {
                segment.name_columns(&text, header, lines)?;
                segment.special = Some(special.text).filter(|text| !text.is_empty());
                segment.rows = lines.next;
                return Ok(Ok(segment));
            } else {
                let mut cells = header.cells(&text).map(|cell| cell.trim().to_owned());
                let key = cells.next().unwrap_or_default();
                segment.fields.insert(key, (lines.here.line, cells.collect()));
            }
            if !lines.advance()? {
                return Ok(Err(Cut));
            }
        }
    }

    fn name_columns(&mut self, text: &str, header: &FileHeader, lines: &Lines) -> Result<()> {
        let mut names: Vec<&str> = header.cells(text).map(str::trim).collect();
        while names.last().is_some_and(|name| name.is_empty()) {
            names.pop();
        }
        if names.len() > limits::IMPORT_COLUMNS {
            let what =
                format!("there are more than the {} columns of an import", limits::IMPORT_COLUMNS);
            return Err(crate::lines::at_line(Error::limit(what), lines.here.line));
        }
        self.names_line = lines.here.line;
        if names.len() > 1 && names.last().is_some_and(|name| name.eq_ignore_ascii_case(COMMENT)) {
            names.pop();
            self.comment = Some(names.len());
        }
        let is_x = |name: &&str| **name == *X_VALUE;
        let x_count = names.iter().filter(|name| is_x(name)).count();
        self.has_x_first = names.first().is_some_and(|name| is_x(name));
        self.is_multi = x_count > 1;
        let mut x = None;
        for (cell, name) in names.iter().enumerate() {
            if is_x(name) {
                x = Some(cell);
                continue;
            }
            let name =
                if name.is_empty() { format!("column_{}", cell + 1) } else { (*name).into() };
            self.channels.push(Channel { name, cell, x });
        }
        if self.channels.is_empty() {
            return Err(lines.fault(
                "the segment names no channel; this line must name its columns, such as X_Value \
                 and a channel",
            ));
        }
        Ok(())
    }

    /// The cell of a field for a channel; `None` if it is empty or absent.
    pub(super) fn field(&self, key: &str, channel: &Channel) -> Option<&str> {
        let (_, cells) = self.fields.get(key)?;
        let at = if self.has_x_first { channel.cell.checked_sub(1)? } else { channel.cell };
        cells.get(at).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    /// The line of a field.
    pub(super) fn line_of(&self, key: &str) -> u64 {
        self.fields.get(key).map_or(self.names_line, |(line, _)| *line)
    }

    /// The fields that are of the segment and not of its channels.
    pub(super) fn properties(&self) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        for (key, (_, cells)) in &self.fields {
            if OF_CHANNELS.contains(&key.as_str()) || key == "Channels" || key.is_empty() {
                continue;
            }
            let cells: Vec<&str> =
                cells.iter().map(String::as_str).filter(|cell| !cell.is_empty()).collect();
            let text = cells.join(", ");
            if !text.is_empty() {
                let text =
                    if ESCAPED.contains(&key.as_str()) { unescape(&text).into() } else { text };
                out.insert(key.clone(), text);
            }
        }
        if let Some(special) = &self.special {
            out.insert("Special".to_owned(), special.clone());
        }
        out
    }

    /// The fields of a channel that say what it is; with `all` also those of this segment alone.
    pub(super) fn channel_properties(
        &self,
        channel: &Channel,
        all: bool,
    ) -> impl Iterator<Item = (&'static str, &str)> {
        let of_segment =
            |key: &&str| matches!(*key, "Samples" | "Date" | "Time" | "X0" | "Delta_X");
        OF_CHANNELS
            .into_iter()
            .filter(move |key| all || !of_segment(key))
            .filter_map(|key| Some((key, self.field(key, channel)?)))
    }
}
