//! Links: the numbers by which the steps of a result are found without reading them.
//!
//! A step with an id that a caller chose has a link of that id, and one with a parent has a link of
//! the id of its parent. A link begins with a hash of the id and ends with the number of the step,
//! so all links of an id follow each other. Different ids may have one hash: what a link leads to
//! is compared with the id. A generated id has the number of its step and needs no link.

use std::ops::RangeInclusive;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::stored::StoredStep;
use crate::value::wire::record;

record! {
    /// Consecutive links of a result.
    pub struct StepLinks {
        /// The first link less the number in the key of the row, then each link less the one
        /// before it.
        pub differences: Vec<u64>,
    }
}

/// The bits of a link that are the number of a step.
const SEQ_BITS: u32 = 40;
const SEQ: u64 = (1 << SEQ_BITS) - 1;

/// What a link tells of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Link {
    /// The step has it.
    Own = 0,
    /// The parent of the step has it.
    Parent = 1,
}

impl Link {
    fn first(self, id: &str) -> u64 {
        xxh3_64_with_seed(id.as_bytes(), self as u64) & !SEQ
    }

    /// The links that an id can have.
    #[must_use]
    pub(crate) fn all(self, id: &str) -> RangeInclusive<u64> {
        self.first(id)..=self.first(id) | SEQ
    }
}

/// The number of the step that a link leads to.
#[must_use]
pub(crate) fn seq_of(link: u64) -> u64 {
    link & SEQ
}

/// The links of a step with this chosen id and this parent.
pub(crate) fn links(
    seq: u64,
    step_id: Option<&str>,
    parent_id: Option<&str>,
) -> impl Iterator<Item = u64> {
    let own = step_id.map(|id| Link::Own.first(id));
    let parent = parent_id.map(|id| Link::Parent.first(id));
    own.into_iter().chain(parent).map(move |first| first | (seq & SEQ))
}

/// The links of a step.
pub(crate) fn links_of(step: &StoredStep) -> impl Iterator<Item = u64> {
    links(step.seq, step.step_id.as_deref(), step.parent_id.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_of_an_id_are_those_of_its_steps() {
        let step = StoredStep {
            seq: 7,
            step_id: Some("a".to_owned()),
            parent_id: Some("b".to_owned()),
            ..Default::default()
        };
        let found: Vec<u64> = links_of(&step).collect();
        assert_eq!(found.iter().map(|link| seq_of(*link)).collect::<Vec<_>>(), [7, 7]);
        let of = |link: Link, id: &str| -> Vec<bool> {
            found.iter().map(|found| link.all(id).contains(found)).collect()
        };
        assert_eq!(of(Link::Own, "a"), [true, false]);
        assert_eq!(of(Link::Parent, "b"), [false, true]);
        assert_eq!(of(Link::Own, "b"), [false, false]);
        assert_eq!(of(Link::Parent, "a"), [false, false]);
        assert_eq!(links(SEQ, None, None).count(), 0);
        assert!(links(SEQ, Some("c"), None).all(|link| Link::Own.all("c").contains(&link)));
    }
}
