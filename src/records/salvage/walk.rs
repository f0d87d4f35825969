//! Walks a tree from its root. Returns the leaves that a chain of matching checksums leads to, and
//! the ranges of keys between them that are lost.

use std::collections::BTreeMap;

use super::source::PageSource;
use crate::error::Result;
use crate::records::file::pages::{BRANCH, Child, LEAF, Node, Widths};
use crate::value::Control;

/// Keys hidden by a damaged page: those after `after`, up to `upto` (included). `None` means the
/// start or the end of the table.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub(super) after: Option<Vec<u8>>,
    pub(super) upto: Option<Vec<u8>>,
    /// The page, as its parent references it; `None` if the parent is lost too.
    pub(super) page: Option<Child>,
}

impl Gap {
    /// The gap that covers a whole table.
    pub(super) fn everything() -> Self {
        Self { after: None, upto: None, page: None }
    }

    /// Whether a key of the table lies in the gap.
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        self.after.as_deref().is_none_or(|after| key > after)
            && self.upto.as_deref().is_none_or(|upto| key <= upto)
    }
}

/// The result of walking a tree.
#[derive(Default)]
pub(super) struct TreeWalk {
    /// Leaves in the order of their keys.
    pub(super) leaves: Vec<Child>,
    pub(super) gaps: Vec<Gap>,
}

/// The undamaged pages that the trees of a commit reference: start to end.
pub(super) type PageRanges = BTreeMap<u64, u64>;

/// Walks a tree and adds each undamaged page to `visited`.
///
/// A page that is in `visited` already counts as damaged: every page has one parent, so a second
/// reference is wrong. This also ends the walk on a cycle. The children of a branch are pushed in
/// reverse, so that the leaves come in the order of their keys. Each child carries the key range
/// that its parent gives it; if the child is damaged, this range is the gap.
pub(super) fn walk(
    source: &PageSource<'_>,
    root: Option<Child>,
    widths: Widths,
    visited: &mut PageRanges,
    control: &Control,
) -> Result<TreeWalk> {
    let mut walked = TreeWalk::default();
    let mut waiting: Vec<Gap> =
        root.map(|root| Gap { page: Some(root), ..Gap::everything() }).into_iter().collect();
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
