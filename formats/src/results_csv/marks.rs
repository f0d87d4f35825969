//! The decimal mark of each column.

use stationdb::tables::readers::shortened;

use super::columns::{Columns, Member};
use crate::csv::{Texts, may_be_thousands};
use crate::results::Told;
use crate::results::parameter::{number, number_text};

/// How the numbers of a column are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    #[default]
    Point,
    Comma,
    /// Nothing decides, so numbers with marks are texts.
    Unknown,
}

/// A number with a decimal comma, as one with a point.
fn with_comma(text: &str) -> Option<String> {
    let point = (!text.contains('.')).then(|| text.replacen(',', ".", 1))?;
    number(&point).map(|_| point)
}

impl Mark {
    /// A number as other texts have it, and any other text as it is.
    pub(super) fn canonical(self, text: &str) -> String {
        match self {
            Self::Comma => with_comma(text).map_or_else(|| text.to_owned(), |it| number_text(&it)),
            Self::Unknown if text.contains('.') => text.to_owned(),
            Self::Point | Self::Unknown => number_text(text),
        }
    }

    /// The number of a text.
    pub(super) fn number(self, text: &str) -> Option<f64> {
        match self {
            Self::Comma => number(&with_comma(text)?),
            Self::Unknown if text.contains('.') => None,
            Self::Point | Self::Unknown => number(text),
        }
    }
}

/// Whether people read a text as a number, with whatever marks.
pub(super) fn looks_like_number(text: &str) -> bool {
    number(text).is_some()
        || with_comma(text).is_some()
        || [',', '.'].into_iter().any(|mark| {
            let other = if mark == ',' { '.' } else { ',' };
            may_be_thousands(text.split(other).next().unwrap_or_default(), mark)
        })
}

/// What the values of some columns say: whether a mark can only be a decimal one, and the first value
/// whose mark may separate thousands, with its line.
#[derive(Clone, Debug, Default)]
struct Seen {
    point: bool,
    comma: bool,
    maybe_point: Option<(u64, String)>,
    maybe_comma: Option<(u64, String)>,
}

impl Seen {
    fn add(&mut self, line: u64, text: &str) {
        let first = || Some((line, shortened(text)));
        if text.contains('.') && number(text).is_some() {
            if may_be_thousands(text, '.') {
                self.maybe_point = self.maybe_point.take().or_else(first);
            } else {
                self.point = true;
            }
        } else if text.contains(',') && with_comma(text).is_some() {
            if may_be_thousands(text, ',') {
                self.maybe_comma = self.maybe_comma.take().or_else(first);
            } else {
                self.comma = true;
            }
        }
    }
}

impl Seen {
    /// The mark, with what is doubtful of it. `others` says whether a column of the file has points,
    /// and whether one has commas, that can only be decimal marks.
    fn mark(&self, others: (bool, bool)) -> (Mark, Option<(u64, String)>) {
        let (has_point, has_comma) = others;
        let doubt = |value: &(u64, String), what: &str| {
            let (line, text) = value;
            Some((*line, format!("{text:?} {what}; name the decimal mark with decimalSeparator")))
        };
        if self.point || self.comma {
            return (if self.point { Mark::Point } else { Mark::Comma }, None);
        }
        match (&self.maybe_comma, &self.maybe_point) {
            (Some(_), None) if has_comma && !has_point => (Mark::Comma, None),
            (Some(comma), _) => {
                let what = "has a comma that may be a decimal mark or separate thousands, so such \
                            values are texts";
                (Mark::Unknown, doubt(comma, what))
            }
            (None, Some(point)) if has_comma => {
                let what = "has a point that may separate thousands, as others have decimal commas, \
                            so such values are texts";
                (Mark::Unknown, doubt(point, what))
            }
            (None, Some(point)) if !has_point => {
                let what = "was read with a decimal point, which may separate thousands";
                (Mark::Point, doubt(point, what))
            }
            (None, _) => (Mark::Point, None),
        }
    }
}

/// The marks of all columns.
#[derive(Debug)]
pub(super) struct Marks {
    /// Each with what a report says of it, and the line of a value.
    all: Vec<(Mark, Option<(u64, String)>)>,
}

impl Marks {
    /// Finds the marks. What must hold: a comma before three digits is a decimal mark only where
    /// another value says so, as programs that write points also write thousands with commas.
    pub(super) fn find(texts: &Texts, columns: &Columns, said: Option<bool>) -> Self {
        let width = texts.names().len();
        if let Some(is_comma) = said {
            let mark = if is_comma { Mark::Comma } else { Mark::Point };
            return Self { all: vec![(mark, None); width] };
        }
        // A value and its limits have one mark, also where they have columns of their own.
        let of_value = [Member::Value, Member::LowLimit, Member::HighLimit, Member::NominalValue];
        let of_value: Vec<usize> =
            of_value.into_iter().filter_map(|member| columns.get(member)).collect();
        let first = of_value.first().copied().unwrap_or_default();
        let place = |column: usize| if of_value.contains(&column) { first } else { column };
        let mut seen = vec![Seen::default(); width];
        for row in 0..texts.len() {
            for column in 0..width {
                if let (Some(text), Some(seen)) =
                    (texts.get(row, column), seen.get_mut(place(column)))
                {
                    seen.add(texts.line(row), text);
                }
            }
        }
        if texts.separator == b',' {
            // A comma that separates values is no decimal mark.
            for seen in &mut seen {
                (seen.comma, seen.maybe_comma) = (false, None);
                seen.point |= seen.maybe_point.is_some();
            }
        }
        let others = (seen.iter().any(|seen| seen.point), seen.iter().any(|seen| seen.comma));
        let found: Vec<_> = seen.iter().map(|seen| seen.mark(others)).collect();
        let all = (0..width).map(|at| found.get(place(at)).cloned().unwrap_or_default());
        Self { all: all.collect() }
    }

    /// The mark of a column.
    pub(super) fn of(&self, column: Option<usize>) -> Mark {
        column.and_then(|at| self.all.get(at)).map_or(Mark::Point, |(mark, _)| *mark)
    }

    /// Tells what is doubtful of the mark of a column of numbers.
    pub(super) fn tell(&self, column: Option<usize>, told: &mut Told) {
        if let Some((_, Some((line, what)))) = column.and_then(|at| self.all.get(at)) {
            told.note(*line, what.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_the_mark_of_their_column() {
        for (mark, text, number, canonical) in [
            (Mark::Point, "5.010", Some(5.01), "5.01"),
            (Mark::Point, "1,234", None, "1,234"),
            (Mark::Comma, "5,010", Some(5.01), "5.01"),
            (Mark::Comma, "1.234", None, "1.234"),
            (Mark::Comma, "7", Some(7.0), "7"),
            (Mark::Unknown, "1,234", None, "1,234"),
            (Mark::Unknown, "1.234", None, "1.234"),
            (Mark::Unknown, "1.50", None, "1.50"),
            (Mark::Unknown, "7", Some(7.0), "7"),
            (Mark::Point, "open", None, "open"),
        ] {
            assert_eq!(mark.number(text), number, "{mark:?} {text}");
            assert_eq!(mark.canonical(text), canonical, "{mark:?} {text}");
        }
        for text in ["1,234", "1.234,5", "1,234,567.5", "5.01", "7", "5,01"] {
            assert!(looks_like_number(text), "{text}");
        }
        for text in ["ok", "1.2.3", "A5", "", "12:00"] {
            assert!(!looks_like_number(text), "{text}");
        }
    }
}
