//! What an import warns of, as many times as a caller reads.

use std::collections::BTreeMap;

/// Warnings that are told one by one.
const WARNINGS: usize = 100;

/// The warnings of an import.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    told: Vec<String>,
    more: usize,
    /// What happened more than once: how many times, and the first place.
    counted: BTreeMap<&'static str, (usize, u64)>,
}

impl Warnings {
    pub(super) fn tell(&mut self, warning: String) {
        if self.told.len() < WARNINGS {
            self.told.push(warning);
        } else {
            self.more += 1;
        }
    }

    /// Counts what happened at a byte of the file.
    pub(super) fn count(&mut self, what: &'static str, at: u64) {
        self.counted.entry(what).or_insert((0, at)).0 += 1;
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        let counted = self.counted.into_iter();
        let counted =
            counted.map(|(what, (count, at))| format!("{count} {what}, first at byte {at}"));
        let more = (self.more > 0).then(|| format!("{} more warnings", self.more));
        self.told.into_iter().chain(more).chain(counted).collect()
    }
}
