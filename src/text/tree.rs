//! The tree of a text query, and its text form.

use std::fmt;

/// A text query: it selects documents, and its words determine the score.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// Every document.
    All,
    /// One condition.
    Leaf(Leaf),
    /// The documents that the inner query does not match; adds nothing to the score.
    Not(Box<Node>),
    /// The documents that all of these match.
    And(Vec<Node>),
    /// The documents that at least one of these matches.
    Or(Vec<Node>),
}

/// One condition of a text query.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Leaf {
    /// These words, side by side in one field.
    Text {
        /// The field to search: name and position in the shape; `None` for any.
        field: Option<(String, usize)>,
        /// One word or more.
        words: Vec<String>,
        /// Whether the last word is a prefix.
        prefix: bool,
    },
    /// Documents of a kind: its name without spaces, and its code.
    Kind(String, u8),
    /// Documents of a workspace.
    Workspace(String),
}

impl fmt::Display for Node {
    /// Text that parses to the same tree.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Leaf(leaf) => fmt::Display::fmt(leaf, f),
            Self::Not(inner) => {
                f.write_str("NOT ")?;
                inner.group(f)
            }
            Self::And(parts) => join(f, parts, " AND "),
            Self::Or(parts) => join(f, parts, " OR "),
        }
    }
}

impl Node {
    fn group(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(_) | Self::Or(_) => write!(f, "({self})"),
            _ => fmt::Display::fmt(self, f),
        }
    }

    /// Calls `visit` for every condition that adds to the score: those that are not under a `Not`.
    pub(crate) fn each_positive<'n>(&'n self, visit: &mut impl FnMut(&'n Leaf)) {
        match self {
            Self::All | Self::Not(_) => {}
            Self::Leaf(leaf) => visit(leaf),
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.each_positive(visit));
            }
        }
    }
}

fn join(f: &mut fmt::Formatter<'_>, parts: &[Node], between: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(between)?;
        }
        part.group(f)?;
    }
    Ok(())
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { field, words, prefix } => {
                if let Some((name, _)) = field {
                    write!(f, "{name}:")?;
                }
                match words.as_slice() {
                    [word] => f.write_str(word)?,
                    words => write!(f, "\"{}\"", words.join(" "))?,
                }
                f.write_str(if *prefix { "*" } else { "" })
            }
            Self::Kind(name, _) => write!(f, "kind:{name}"),
            Self::Workspace(id) => {
                write!(f, "workspace:\"{}\"", id.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
    }
}
