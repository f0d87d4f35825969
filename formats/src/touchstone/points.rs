//! The points of a Touchstone file, which may take several lines each.

use stationdb::Result;
use stationdb::tables::readers::shortened;

use super::header::{keyword, without_comment};
use crate::instrument_text::{decode, number};
use crate::lines::Lines;

/// Numbers of a point of noise beside its frequency.
pub(super) const NOISE: usize = 4;

/// A frequency, and its numbers.
#[derive(Debug, Default)]
pub(super) struct Point {
    /// The line of its frequency.
    pub(super) line: u64,
    pub(super) hertz: f64,
    pub(super) numbers: Vec<f64>,
    /// The first line of a comment that has numbers for each point, as simulators write them.
    pub(super) impedances: Option<u64>,
}

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Point,
    /// The first line of points of noise, which was read.
    Noise,
    /// A keyword, whose line was read.
    Keyword(String),
    /// The end of the file.
    End,
    /// The end of the file within a point.
    Cut,
}

/// The frequency in hertz, exactly as it is written.
fn hertz(text: &str, exponent: i32) -> Option<f64> {
    let (mantissa, own) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let own: i32 = own.parse().ok()?;
    number(&format!("{mantissa}e{}", own.checked_add(exponent)?), false)
}

/// Whether a line is a comment with impedances or propagation constants.
fn has_impedances(line: &str) -> bool {
    let Some(comment) = line.trim_start().strip_prefix('!') else { return false };
    let comment = comment.trim_start().to_ascii_lowercase();
    comment.starts_with("gamma") || comment.starts_with("port impedance")
}

/// How points are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points {
    /// Numbers beside the frequency.
    pub(super) width: usize,
    /// The power of ten of the unit of frequencies.
    pub(super) exponent: i32,
    /// The last frequency of a two-port of version 1, behind which noise may begin.
    pub(super) noise_below: Option<f64>,
}

impl Points {
    /// Reads the next point. `is_read` says that its first line was read.
    ///
    /// # Errors
    /// `InvalidArgument` with the line for a text that is no number, and for more numbers than a
    /// point has; `LimitExceeded`; `Io`.
    pub(super) fn next(
        &self,
        lines: &mut Lines,
        mut is_read: bool,
        point: &mut Point,
    ) -> Result<Step> {
        point.numbers.clear();
        let mut is_open = false;
        loop {
            if !std::mem::take(&mut is_read) && !lines.advance()? {
                return Ok(if is_open { Step::Cut } else { Step::End });
            }
            let (text, _) = decode(lines.text());
            if has_impedances(&text) {
                point.impedances.get_or_insert(lines.here.line);
            }
            if let Some((name, _)) = keyword(&text) {
                if is_open {
                    return Err(lines.fault(self.short(point)));
                }
                return Ok(Step::Keyword(name));
            }
            let mut words = without_comment(&text).split_ascii_whitespace().peekable();
            if words.peek().is_none_or(|word| word.starts_with('#')) {
                continue;
            }
            if !is_open {
                let first = words.next().unwrap_or_default();
                point.hertz = hertz(first, self.exponent).ok_or_else(|| {
                    lines.fault(format!("the frequency {:?} is no number", shortened(first)))
                })?;
                point.line = lines.here.line;
                is_open = true;
                let below = self.noise_below.is_some_and(|last| point.hertz <= last);
                if below && words.clone().count() == NOISE {
                    return Ok(Step::Noise);
                }
            } else if self.width != NOISE {
                // The first line of a point has the frequency, and the others pairs alone.
                let count = words.clone().count();
                if !count.is_multiple_of(2) {
                    return Err(lines.fault(format!(
                        "the line has {count} numbers, and none of a pair is in another line; {}",
                        self.short(point)
                    )));
                }
            }
            for word in words {
                if point.numbers.len() == self.width {
                    return Err(lines.fault(format!(
                        "there are more than the {} numbers of the point of line {}; the number of \
                         ports may be another one",
                        self.width, point.line
                    )));
                }
                let value = number(word, false)
                    .ok_or_else(|| lines.fault(format!("{:?} is no number", shortened(word))))?;
                point.numbers.push(value);
            }
            if point.numbers.len() == self.width {
                return Ok(Step::Point);
            }
        }
    }

    /// What is wrong with a point that has too few numbers.
    pub(super) fn short(&self, point: &Point) -> String {
        format!(
            "the point of line {} has {} of its {} numbers; the number of ports may be another one",
            point.line,
            point.numbers.len(),
            self.width
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_exact() {
        for (text, exponent, expected) in [
            ("1.00000001", 9, 1_000_000_010.0),
            ("2.4", 9, 2.4e9),
            ("0.1", 3, 100.0),
            ("1.5E+01", 6, 15_000_000.0),
            ("75", 0, 75.0),
        ] {
            assert_eq!(hertz(text, exponent), Some(expected), "{text}");
        }
        for text in ["x", "1e", "1ex", "1e99999999999", ""] {
            assert_eq!(hertz(text, 9), None, "{text:?}");
        }
    }
}
