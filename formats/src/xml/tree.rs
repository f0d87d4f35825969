//! The tree of a document, in few allocations.

use std::ops::Range;

use stationdb::{Error, Place};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// An element. Its children are a chain of positions.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: u32,
    pub(super) attributes: Range<u32>,
    pub(super) text: Range<u32>,
    pub(super) first_child: u32,
    pub(super) next: u32,
    pub(super) line: u32,
}

/// An attribute: its name, and where its value is in the texts.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: u32,
    pub(super) value: Range<u32>,
}

/// A document that was read.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(super) nodes: Vec<Node>,
    pub(super) attributes: Vec<Attribute>,
    /// The texts of all elements and attributes.
    pub(super) texts: String,
    pub(super) names: Vec<String>,
    /// The namespace of the root; empty if it has none.
    pub(super) namespace: String,
}

impl Document {
    /// The outermost element.
    pub(crate) fn root(&self) -> Element<'_> {
        Element { document: self, at: 0 }
    }

    /// The namespace of the root; empty if it has none.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    fn text(&self, range: &Range<u32>) -> &str {
        self.texts.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    fn name(&self, at: u32) -> &str {
        self.names.get(at as usize).map_or("", String::as_str)
    }
}

/// An element of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'d> {
    document: &'d Document,
    at: u32,
}

impl<'d> Element<'d> {
    fn node(&self) -> Option<&'d Node> {
        self.document.nodes.get(self.at as usize)
    }

    /// The name without its prefix.
    pub(crate) fn name(&self) -> &'d str {
        self.node().map_or("", |node| self.document.name(node.name))
    }

    /// The line on which it begins, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.node().map_or(0, |node| node.line.into())
    }

    /// The text of the element itself. Between children, blanks are no text.
    pub(crate) fn text(&self) -> &'d str {
        self.node().map_or("", |node| self.document.text(&node.text))
    }

    /// The attributes in their order, by names without prefix.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&'d str, &'d str)> + use<'d> {
        let document = self.document;
        let range = self.node().map_or(0..0, |node| node.attributes.clone());
        let all = document.attributes.get(range.start as usize..range.end as usize);
        all.unwrap_or_default()
            .iter()
            .map(|one| (document.name(one.name), document.text(&one.value)))
    }

    /// An attribute that is there and not blank.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'d str> {
        let found = self.attributes().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).filter(|value| !value.trim().is_empty())
    }

    /// The elements inside of it, in their order.
    pub(crate) fn children(&self) -> impl Iterator<Item = Element<'d>> + use<'d> {
        let document = self.document;
        let first = self.node().map_or(NONE, |node| node.first_child);
        std::iter::successors(Some(first), |at| Some(document.nodes.get(*at as usize)?.next))
            .take_while(|at| *at != NONE)
            .map(move |at| Element { document, at })
    }

    /// The first child with this name.
    pub(crate) fn child(&self, name: &str) -> Option<Element<'d>> {
        self.children().find(|child| child.name() == name)
    }

    /// The first element that is reached by these names.
    pub(crate) fn below(&self, names: &[&str]) -> Option<Element<'d>> {
        names.iter().try_fold(*self, |element, name| element.child(name))
    }

    /// Whether both are the same element.
    pub(crate) fn is(&self, other: Element<'_>) -> bool {
        self.at == other.at
    }

    /// An error about the element.
    pub(crate) fn wrong(&self, error: Error) -> Error {
        error.at(Place::Line { line: self.line(), column: None })
    }
}
