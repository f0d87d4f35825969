//! An ordered map whose versions share their nodes.
//!
//! A version is a root. An insertion copies the nodes on its path that another version shares, and
//! changes the others in place. Rows are never removed, so no node is ever empty or merged.

use std::sync::Arc;

/// Most rows of a leaf, and most children of a branch.
pub(super) const FAN: usize = 32;

/// A changed key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::records) struct Row {
    pub(in crate::records) key: Vec<u8>,
    /// `None` if the key was deleted.
    pub(in crate::records) value: Option<Vec<u8>>,
}

impl Row {
    /// Bytes of key and value.
    pub(super) fn len(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Vec::len)
    }
}

/// A node.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Rows in the order of their keys.
    Leaf(Vec<Arc<Row>>),
    /// Children in the order of their keys.
    Branch(Vec<Child>),
}

/// A child of a branch.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// A row whose key is at most every key of the node, and greater than every key of the child
    /// before. That of the first child may be greater than some of its keys.
    first: Arc<Row>,
    pub(super) node: Arc<Node>,
}

/// One version of the map.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    root: Option<Arc<Node>>,
}

/// The position of the child that may have a key.
pub(super) fn child_of(children: &[Child], key: &[u8]) -> usize {
    children.partition_point(|child| child.first.key.as_slice() <= key).saturating_sub(1)
}

impl Tree {
    pub(super) fn root(&self) -> Option<&Node> {
        self.root.as_deref()
    }

    /// The row of a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Row> {
        let mut node = self.root()?;
        loop {
            match node {
                Node::Leaf(rows) => {
                    let place = rows.binary_search_by(|row| row.key.as_slice().cmp(key)).ok()?;
                    return rows.get(place).map(|row| &**row);
                }
                Node::Branch(children) => node = &children.get(child_of(children, key))?.node,
            }
        }
    }

    /// Inserts a row; returns the row that it replaces.
    pub(super) fn insert(&mut self, row: Arc<Row>) -> Option<Arc<Row>> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::Leaf(vec![row])));
            return None;
        };
        let Inserted { replaced, split } = insert(Arc::make_mut(root), row);
        if let Some(split) = split
            && let Some(first) = first_row(root)
        {
            let node = std::mem::replace(root, Arc::new(Node::Leaf(Vec::new())));
            *root = Arc::new(Node::Branch(vec![Child { first, node }, split]));
        }
        replaced
    }
}

fn first_row(mut node: &Node) -> Option<Arc<Row>> {
    loop {
        match node {
            Node::Leaf(rows) => return rows.first().cloned(),
            Node::Branch(children) => node = &children.first()?.node,
        }
    }
}

struct Inserted {
    replaced: Option<Arc<Row>>,
    /// The upper part of the node, if it became too large.
    split: Option<Child>,
}

fn insert(node: &mut Node, row: Arc<Row>) -> Inserted {
    match node {
        Node::Leaf(rows) => {
            let place = match rows.binary_search_by(|held| held.key.cmp(&row.key)) {
                Ok(place) => {
                    let replaced = rows.get_mut(place).map(|held| std::mem::replace(held, row));
                    return Inserted { replaced, split: None };
                }
                Err(place) => place,
            };
            rows.insert(place, row);
            let split = split_off(rows, place).and_then(|upper| {
                let first = upper.first()?.clone();
                Some(Child { first, node: Arc::new(Node::Leaf(upper)) })
            });
            Inserted { replaced: None, split }
        }
        Node::Branch(children) => {
            let place = child_of(children, &row.key);
            let Some(child) = children.get_mut(place) else {
                return Inserted { replaced: None, split: None };
            };
            let Inserted { replaced, split } = insert(Arc::make_mut(&mut child.node), row);
            let split = split.and_then(|child| {
                children.insert(place + 1, child);
                let upper = split_off(children, place + 1)?;
                let first = upper.first()?.first.clone();
                Some(Child { first, node: Arc::new(Node::Branch(upper)) })
            });
            Inserted { replaced, split }
        }
    }
}

/// Splits a node that became too large by an insertion at `place`. Rows that come in the order of
/// their keys leave full nodes behind.
fn split_off<T>(items: &mut Vec<T>, place: usize) -> Option<Vec<T>> {
    if items.len() <= FAN {
        return None;
    }
    let at = if place + 1 == items.len() { items.len() - 1 } else { items.len() / 2 };
    Some(items.split_off(at))
}
