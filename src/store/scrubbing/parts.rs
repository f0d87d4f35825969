//! The parts of a scrub.

use crate::records::Space;

pub(super) const JOURNAL: &str = "journal";
pub(super) const TABLES: &str = "tables";
pub(super) const FILES: &str = "files";
pub(super) const SEARCH: &str = "search";

/// The parts of a scrub, in their order.
pub(super) fn parts() -> impl Iterator<Item = String> {
    let spaces = Space::ALL.into_iter().map(part_of);
    spaces.chain([JOURNAL, TABLES, FILES, SEARCH].map(str::to_owned))
}

fn part_of(space: Space) -> String {
    format!("space {}", space.name())
}

/// The space that a part is.
pub(super) fn space_of(part: &str) -> Option<Space> {
    Space::ALL.into_iter().find(|space| part_of(*space) == part)
}
