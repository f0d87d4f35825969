//! A walk over a range of one version of a tree, in one direction.

use std::sync::Arc;

use super::tree::{Child, Node, Row, Tree, child_of};

/// A walk; it stands at a row.
pub(in crate::records) struct Walk<'a> {
    /// The branches above the leaf, with the position of the child that is walked.
    branches: Vec<(&'a [Child], usize)>,
    leaf: &'a [Arc<Row>],
    at: usize,
    /// The end of the range: excluded forwards, included backwards.
    end: Option<Vec<u8>>,
    back: bool,
}

impl<'a> Walk<'a> {
    /// Begins at the first row of the range, or at the last one backwards; `None` if the range has
    /// no row.
    pub(super) fn begin(
        tree: &'a Tree,
        from: &[u8],
        to: Option<&[u8]>,
        back: bool,
    ) -> Option<Self> {
        let end = if back { Some(from) } else { to };
        let mut walk =
            Self { branches: Vec::new(), leaf: &[], at: 0, end: end.map(<[u8]>::to_vec), back };
        let root = tree.root()?;
        let is_there = match (back, to) {
            (false, _) => {
                walk.descend(root, |children| child_of(children, from));
                walk.at = walk.leaf.partition_point(|row| row.key.as_slice() < from);
                walk.at < walk.leaf.len() || walk.climb()
            }
            (true, None) => {
                walk.descend(root, |children| children.len().saturating_sub(1));
                walk.at = walk.leaf.len().saturating_sub(1);
                !walk.leaf.is_empty()
            }
            (true, Some(to)) => {
                walk.descend(root, |children| child_of(children, to));
                let below = walk.leaf.partition_point(|row| row.key.as_slice() < to);
                walk.at = below.saturating_sub(1);
                below > 0 || walk.climb()
            }
        };
        (is_there && walk.is_inside()).then_some(walk)
    }

    /// The row that the walk stands at.
    pub(in crate::records) fn row(&self) -> Option<&'a Row> {
        self.leaf.get(self.at).map(|row| &**row)
    }

    /// Goes to the next row; returns whether the range has one.
    pub(in crate::records) fn advance(&mut self) -> bool {
        let next = if self.back { self.at.checked_sub(1) } else { Some(self.at + 1) };
        let is_there = match next.filter(|next| *next < self.leaf.len()) {
            Some(next) => {
                self.at = next;
                true
            }
            None => self.climb(),
        };
        is_there && self.is_inside()
    }

    fn is_inside(&self) -> bool {
        let (Some(row), end) = (self.row(), self.end.as_deref()) else { return false };
        end.is_none_or(
            |end| {
                if self.back { row.key.as_slice() >= end } else { row.key.as_slice() < end }
            },
        )
    }

    /// Goes down from a node, to the child that `choose` selects in each branch.
    fn descend(&mut self, mut node: &'a Node, choose: impl Fn(&[Child]) -> usize) {
        loop {
            match node {
                Node::Leaf(rows) => {
                    self.leaf = rows;
                    return;
                }
                Node::Branch(children) => {
                    let place = choose(children);
                    let Some(child) = children.get(place) else { return };
                    self.branches.push((children, place));
                    node = &child.node;
                }
            }
        }
    }

    /// Goes to the leaf after this one, and to its first row in the direction of the walk.
    fn climb(&mut self) -> bool {
        while let Some((children, place)) = self.branches.pop() {
            let next = if self.back { place.checked_sub(1) } else { Some(place + 1) };
            let Some((next, child)) = next.and_then(|next| Some((next, children.get(next)?)))
            else {
                continue;
            };
            self.branches.push((children, next));
            if self.back {
                self.descend(&child.node, |children| children.len().saturating_sub(1));
                self.at = self.leaf.len().saturating_sub(1);
            } else {
                self.descend(&child.node, |_| 0);
                self.at = 0;
            }
            return true;
        }
        false
    }
}
