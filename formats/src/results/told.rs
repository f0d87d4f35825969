//! What a report of an import has to tell: each thing once, with the number of times.

use std::collections::BTreeMap;

use super::step::NewResult;
use crate::limits::RESULTS_WARNINGS;

/// Bytes of a warning from which on its end is left out.
const NOTE_BYTES: usize = 400;

/// Warnings that are counted.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Texts with the number of times, and the line of the first.
    notes: BTreeMap<String, (usize, u64)>,
    others: usize,
}

impl Told {
    /// Notes what was found in a line; 0 for no line.
    pub(crate) fn note(&mut self, line: u64, what: impl Into<String>) {
        let mut what = what.into();
        if what.len() > NOTE_BYTES {
            what = what.chars().take(NOTE_BYTES / 4).chain("…".chars()).collect();
        }
        if self.notes.len() >= RESULTS_WARNINGS && !self.notes.contains_key(&what) {
            self.others += 1;
            return;
        }
        self.notes.entry(what).or_insert((0, line)).0 += 1;
    }

    /// Notes the results whose start is the time of their import.
    pub(crate) fn note_starts(&mut self, results: &[NewResult]) {
        let without = results.iter().filter(|result| result.request.started_at.is_none());
        for _ in without {
            self.note(0, "a result has no start, and starts at the time of the import");
        }
    }

    /// The warnings.
    pub(crate) fn finish(self) -> Vec<String> {
        let notes = self.notes.into_iter().map(|(what, (count, line))| {
            let times = if count > 1 { format!(", {count} times") } else { String::new() };
            let first = if count > 1 { "first in line" } else { "in line" };
            let place = if line > 0 { format!(", {first} {line}") } else { String::new() };
            format!("{what}{times}{place}")
        });
        let others = (self.others > 0).then(|| format!("{} further warnings", self.others));
        notes.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_counted() {
        let mut told = Told::default();
        for line in [7, 9] {
            told.note(line, "twice");
        }
        told.note(3, "once");
        told.note(0, "nowhere");
        let expected = ["nowhere", "once, in line 3", "twice, 2 times, first in line 7"];
        assert_eq!(told.finish(), expected);
    }

    #[test]
    fn more_are_counted_together() {
        let mut told = Told::default();
        for at in 0..RESULTS_WARNINGS + 2 {
            told.note(1, format!("{at:06}"));
        }
        let warnings = told.finish();
        assert_eq!(warnings.len(), RESULTS_WARNINGS + 1);
        assert_eq!(warnings[RESULTS_WARNINGS], "2 further warnings");
    }
}
