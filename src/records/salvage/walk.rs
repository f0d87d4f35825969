//! A walk over a tree: the leaves whose checksums hold from the root down, and the ranges of keys
//! between them that are lost.

use std::collections::BTreeMap;

use super::source::PageSource;
use crate::error::Result;
use crate::records::pages::{BRANCH, Child, LEAF, Node, Widths};
use crate::value::Control;

/// Keys that a damaged page hides: those after `after`, up to `upto`; `None` is the end of the
/// table.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub(super) after: Option<Vec<u8>>,
    pub(super) upto: Option<Vec<u8>>,
    /// The page, as its parent has it; `None` where the parent is lost as well.
    pub(super) page: Option<Child>,
}

impl Gap {
    /// A whole table.
    pub(super) fn everything() -> Self {
        Self { after: None, upto: None, page: None }
    }

    /// Whether a key of the table lies in it.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| key > after) && self.upto.as_deref().is_none_or(|upto| key <= upto)
    }
}

/// What a walk found of a tree.
#[derive(Default)]
pub(super) struct Walked {
    /// Leaves in order of their keys.
    pub(super) leaves: Vec<Child>,
    pub(super) gaps: Vec<Gap>,
}

/// The pages that the trees of a commit name and that are whole: start to end.
pub(super) type Visited = BTreeMap<u64, u64>;

/// Walks a tree. Each page that is whole goes to `visited`; one that is there already is none of
/// this tree.
pub(super) fn walk(
    source: &PageSource<'_>,
    root: Option<Child>,
    widths: Widths,
    visited: &mut Visited,
    control: &Control,
) -> Result<Walked> {
    let mut walked = Walked::default();
    let mut waiting: Vec<Gap> = root.map(|root| Gap { page: Some(root), ..Gap::everything() }).into_iter().collect();
    while let Some(at) = waiting.pop() {
        control.check()?;
        let Some(child) = at.page else { continue };
        let place = source.place(child).filter(|place| !visited.contains_key(&place.start));
        let page = place.clone().and_then(|_| source.page(child, widths));
        let (Some(place), Some(page)) = (place, page) else {
            walked.gaps.push(at);
            continue;
        };
        visited.insert(place.start, place.end);
        let node = Node { bytes: &page, widths };
        match node.kind() {
            Some(LEAF) => walked.leaves.push(child),
            Some(BRANCH) => {
                let bound = |n: u64| node.separator(n).map(<[u8]>::to_vec);
                let children: Vec<Gap> = (0u64..)
                    .zip(node.children())
                    .map(|(n, child)| Gap {
                        after: n.checked_sub(1).and_then(bound).or_else(|| at.after.clone()),
                        upto: bound(n).or_else(|| at.upto.clone()),
                        page: Some(child),
                    })
                    .collect();
                waiting.extend(children.into_iter().rev());
            }
            _ => walked.gaps.push(at),
        }
    }
    Ok(walked)
}
