//! The steps of one result as a tree: parents, and step order.

use std::collections::HashMap;

use crate::model::steps::stored::StoredStep;
use crate::value::RecordKey;

/// What the order of a step depends on.
#[derive(Debug)]
pub(super) struct Node {
    id: String,
    parent_id: Option<String>,
    pub started_at_ms: i64,
    pub seq: u64,
}

impl Node {
    pub(super) fn new(result: RecordKey, step: &StoredStep) -> Self {
        Self {
            id: step.id(result),
            parent_id: step.parent_id.clone(),
            started_at_ms: step.started_at_ms,
            seq: step.seq,
        }
    }

    /// Whether it names a parent.
    pub(super) fn has_parent(&self) -> bool {
        self.parent_id.is_some()
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        2 * size_of::<Self>() + 2 * self.id.len() + self.parent_id.as_ref().map_or(0, String::len)
    }
}

/// The place of the parent of each step; none at the top, and where the parent is not there.
pub(super) fn parents(nodes: &[Node]) -> Vec<Option<usize>> {
    let places: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(at, node)| (node.id.as_str(), at)).collect();
    let parent = |node: &Node| places.get(node.parent_id.as_deref()?).copied();
    nodes.iter().map(parent).collect()
}

/// The places of the steps in step order: depth first, siblings by start and creation.
pub(super) fn step_order(nodes: &[Node], parents: &[Option<usize>]) -> Vec<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut open = Vec::new();
    for (at, parent) in parents.iter().enumerate() {
        match parent.and_then(|parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(at),
            None => open.push(at),
        }
    }
    let key = |at: &usize| nodes.get(*at).map(|node| (node.started_at_ms, node.seq));
    let last_first = |places: &mut Vec<usize>| {
        places.sort_unstable_by_key(|at| std::cmp::Reverse(key(at)));
    };
    last_first(&mut open);
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(at) = open.pop() {
        order.push(at);
        if let Some(mut below) = children.get_mut(at).map(std::mem::take) {
            last_first(&mut below);
            open.extend(below);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_come_by_start_and_creation_and_children_after_their_parent() {
        let node = |id: &str, parent: Option<&str>, started_at_ms, seq| Node {
            id: id.to_owned(),
            parent_id: parent.map(str::to_owned),
            started_at_ms,
            seq,
        };
        let nodes = [
            node("b", None, 5, 0),
            node("a", None, 1, 1),
            node("a2", Some("a"), 9, 2),
            node("a1", Some("a"), 9, 3),
            node("c", Some("gone"), 5, 4),
            node("b1", Some("b"), 0, 5),
        ];
        let parents = parents(&nodes);
        assert_eq!(parents, [None, None, Some(1), Some(1), None, Some(0)]);
        assert_eq!(step_order(&nodes, &parents), [1, 2, 3, 0, 5, 4]);
    }
}
