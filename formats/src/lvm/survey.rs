//! The first pass over a measurement file: which tables it has, and where their rows are.

use std::collections::HashMap;

use stationdb::{Control, Error, Result};

use super::axis::Axis;
use super::header::{self, Budget, FileHeader, Segment, X_VALUE};
use crate::instrument_text::number;
use crate::limits;
use crate::lines::{At, Lines, at_line};
use crate::options::ImportOptions;

/// Lines between two looks at the control.
const LINES_PER_CHECK: u64 = 4096;

/// Where a segment is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// The first line of its header.
    pub(super) header: At,
    /// The end of its rows.
    pub(super) end: u64,
    /// Its number in the file, from 1.
    pub(super) number: i32,
    /// Which of the file headers is above it.
    pub(super) file: usize,
}

/// Segments with the same columns.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The header of the first one.
    pub(super) first: Segment,
    pub(super) parts: Vec<Part>,
    /// Whether their rows have times.
    pub(super) has_times: bool,
    /// Whether each channel is a table of its own.
    pub(super) is_split: bool,
    /// The channels of one axis that have others' X values, for the report.
    pub(super) doubt: Option<String>,
}

/// What a file has.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) headers: Vec<FileHeader>,
    pub(super) groups: Vec<Group>,
    pub(super) warnings: Vec<String>,
    /// Whether the warnings have a date that is not read.
    has_unread: bool,
    /// Segments that a file may have.
    segments_max: usize,
}

/// Whether a line without a blank line above it begins a segment.
fn begins_segment(cell: &str, is_behind_blank: bool) -> bool {
    let is_word = cell.starts_with(|first: char| first.is_ascii_alphabetic() || first == '*');
    match cell {
        "Channels" | "Notes" | X_VALUE | "***Start_Special***" => true,
        _ => is_behind_blank && is_word && number(cell, false).is_none(),
    }
}

fn ends_in(lines: &Lines, what: &str) -> Error {
    at_line(
        Error::invalid(format!(
            "the file ends in {what}, as after a power cut; write it again, or remove that header"
        )),
        lines.here.line,
    )
}

impl Survey {
    /// Reads the headers of a file, and skips its rows.
    ///
    /// # Errors
    /// `InvalidArgument` with the line for a text that is no measurement file, and for a header
    /// that is damaged; `LimitExceeded`; `Io`; `Cancelled`.
    pub(super) fn of(
        lines: &mut Lines,
        options: &ImportOptions,
        control: &Control,
    ) -> Result<Self> {
        Self::bounded(lines, options, control, limits::LVM_SEGMENTS)
    }

    fn bounded(
        lines: &mut Lines,
        options: &ImportOptions,
        control: &Control,
        segments_max: usize,
    ) -> Result<Self> {
        let (headers, groups, warnings) = (Vec::new(), Vec::new(), Vec::new());
        let mut survey = Self { headers, groups, warnings, has_unread: false, segments_max };
        let (mut budget, mut known) = (Budget::default(), HashMap::new());
        let mut count = 0;
        if !lines.advance()? || !header::begins_file(lines.text()) {
            return Err(at_line(
                Error::invalid(format!(
                    "the file is no measurement file of LabVIEW: its first line does not begin \
                     with {:?}",
                    header::MARK
                )),
                1,
            ));
        }
        // Whether a line was read that is not looked at yet.
        let mut is_read = true;
        let mut is_behind_blank = true;
        // The group of the segment that is read, and the end of its last row.
        let (mut open, mut rows_end) = (None::<usize>, 0);
        loop {
            if !std::mem::take(&mut is_read) && !lines.advance()? {
                survey.close(open, rows_end);
                break;
            }
            if lines.here.line.is_multiple_of(LINES_PER_CHECK) {
                control.check()?;
            }
            let Some(file) = survey.headers.len().checked_sub(1) else {
                survey.read_file(lines, options, &mut budget)?;
                continue;
            };
            let separator = survey.headers.get(file).map_or(b'\t', |header| header.separator);
            let line = lines.text();
            let cell = line.split(|byte| *byte == separator).next().unwrap_or_default();
            let cell = cell.trim_ascii();
            if cell.is_empty() {
                let is_value = |byte: &u8| *byte != separator && !byte.is_ascii_whitespace();
                is_behind_blank = !line.iter().any(is_value);
                if !is_behind_blank {
                    rows_end = lines.next.byte;
                }
                continue;
            }
            if header::begins_file(line) {
                survey.close(open.take(), rows_end);
                survey.read_file(lines, options, &mut budget)?;
                is_behind_blank = true;
                continue;
            }
            let is_header =
                std::str::from_utf8(cell).is_ok_and(|cell| begins_segment(cell, is_behind_blank));
            is_behind_blank = false;
            if !is_header {
                if open.is_none() {
                    return Err(lines.fault(
                        "a segment should begin here, with the line of its channels or of the \
                         names of its columns",
                    ));
                }
                rows_end = lines.next.byte;
                continue;
            }
            survey.close(open.take(), rows_end);
            count += 1;
            open = survey.read_segment(lines, options, &mut budget, &mut known, count)?;
            rows_end = lines.next.byte;
            if open.is_none() {
                break;
            }
        }
        if survey.groups.is_empty() {
            return Err(at_line(
                Error::invalid("the file has no segment: nothing was measured, or it was cut off"),
                lines.here.line,
            ));
        }
        Ok(survey)
    }

    fn close(&mut self, open: Option<usize>, end: u64) {
        let group = open.and_then(|at| self.groups.get_mut(at));
        if let Some(part) = group.and_then(|group| group.parts.last_mut()) {
            part.end = end;
        }
    }

    fn read_file(
        &mut self,
        lines: &mut Lines,
        options: &ImportOptions,
        budget: &mut Budget,
    ) -> Result<()> {
        match FileHeader::read(lines, options, budget)? {
            Ok(header) => {
                if self.headers.last() != Some(&header) {
                    self.headers.push(header);
                }
                Ok(())
            }
            Err(_) if !self.groups.is_empty() => {
                self.warnings.push(format!(
                    "the file ends in line {} in a header, which is left out",
                    lines.here.line
                ));
                Ok(())
            }
            Err(_) => Err(ends_in(lines, "its header")),
        }
    }

    /// Reads the header of a segment, and returns its group; `None` if the file ends there.
    fn read_segment(
        &mut self,
        lines: &mut Lines,
        options: &ImportOptions,
        budget: &mut Budget,
        known: &mut HashMap<String, usize>,
        count: usize,
    ) -> Result<Option<usize>> {
        let at = lines.here;
        let file = self.headers.len().saturating_sub(1);
        let Some(header) = self.headers.get(file) else {
            return Err(lines.fault("a segment without a header of the file"));
        };
        // A header that is like another one is not kept.
        let mut own = Budget::default();
        let Ok(segment) = Segment::read(lines, header, &mut own)? else {
            if self.groups.is_empty() {
                return Err(ends_in(lines, "the header of a segment"));
            }
            self.warnings.push(format!(
                "the file ends in the header of a segment in line {}, which is left out",
                at.line
            ));
            return Ok(None);
        };
        if count > self.segments_max {
            let what = format!(
                "there are more than the {} segments of an import; split the file",
                self.segments_max
            );
            return Err(at_line(Error::limit(what), at.line));
        }
        let shape = Shape::of(&segment, header, options)?;
        if let Some(line) = shape.unread.filter(|_| !self.has_unread) {
            self.has_unread = true;
            self.warnings.push(format!(
                "the date and time in line {line} are not read, so the rows of such segments have no \
                 times; if the order of its day and month is not known, set dateOrder"
            ));
        }
        let key = shape.key(&segment);
        let part = Part {
            header: at,
            end: lines.next.byte,
            number: i32::try_from(count).unwrap_or(i32::MAX),
            file,
        };
        let at = *known.entry(key).or_insert(self.groups.len());
        if let Some(group) = self.groups.get_mut(at) {
            group.parts.push(part);
            return Ok(Some(at));
        }
        budget.take(own.used(), lines)?;
        let Shape { has_times, is_split, doubt, .. } = shape;
        self.groups.push(Group { first: segment, parts: vec![part], has_times, is_split, doubt });
        Ok(Some(at))
    }
}

/// What the axes of the channels of a segment make of its tables.
struct Shape {
    has_times: bool,
    is_split: bool,
    doubt: Option<String>,
    /// The first line of a date or time that is not read.
    unread: Option<u64>,
}

impl Shape {
    fn of(segment: &Segment, header: &FileHeader, options: &ImportOptions) -> Result<Self> {
        let mut axes: Vec<(&str, Axis)> = Vec::new();
        for channel in &segment.channels {
            let axis = Axis::of(segment, channel, header, options)?;
            // A channel without samples has no axis that counts.
            if axis.samples != Some(0) {
                axes.push((&channel.name, axis));
            }
        }
        let first = axes.first().copied();
        let other =
            first.and_then(|(_, first)| axes.iter().find(|(_, axis)| !axis.is_same(&first)));
        let is_split = segment.is_multi || (other.is_some() && !header.has_x());
        let doubt = other.filter(|_| !is_split).map(|(name, _)| {
            format!(
                "the axis of channel {name:?} is not that of the first channel, whose X values the \
                 file has in line {}",
                segment.names_line
            )
        });
        Ok(Self {
            has_times: !axes.is_empty() && axes.iter().all(|(_, axis)| axis.has_times()),
            is_split,
            doubt,
            unread: axes.iter().find_map(|(_, axis)| axis.unread),
        })
    }

    /// What is the same for segments of one table.
    fn key(&self, segment: &Segment) -> String {
        let channels = segment.channels.iter().map(|channel| {
            let units: Vec<_> = segment.channel_properties(channel, false).collect();
            (channel, units)
        });
        let channels: Vec<_> = channels.collect();
        format!("{channels:?} {:?} {} {}", segment.comment, self.has_times, self.is_split)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn survey(text: String, segments_max: usize) -> Result<Survey> {
        let mut lines = Lines::new(Box::new(Cursor::new(text.into_bytes())))?;
        Survey::bounded(&mut lines, &ImportOptions::default(), &Control::default(), segments_max)
    }

    const HEADER: &str = "LabVIEW Measurement\nSeparator\tTab\n***End_of_Header***\n\n";

    #[test]
    fn bounds_are_kept() {
        let above = stationdb::ErrorKind::LimitExceeded;
        let segments = |count: usize| {
            let one = "Channels\t1\n***End_of_Header***\nX_Value\tU\n0\t1\n\n";
            survey(HEADER.to_owned() + &one.repeat(count), 100)
        };
        limits::holds_at(100_usize, above, segments);
        // The same header again takes nothing, and others add up.
        assert_eq!(segments(100).unwrap().groups.len(), 1);
        let columns = |count: usize| {
            let names: String = (0..count).map(|at| format!("\t{at}")).collect();
            survey(format!("{HEADER}X_Value{names}\n"), 1)
        };
        limits::holds_at(limits::IMPORT_COLUMNS - 1, above, columns);
        let notes = |count: usize| {
            let mut text = HEADER.to_owned();
            for at in 0..count {
                let note = "x".repeat(limits::IMPORT_METADATA_BYTES / 4);
                text += &format!("Notes\t{note}\nX_Value\tU{at}\n0\t1\n\n");
            }
            survey(text, 100)
        };
        assert!(notes(3).is_ok());
        assert_eq!(notes(4).unwrap_err().kind(), above);
    }
}
