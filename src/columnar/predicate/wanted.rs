//! The values that the tests of a column want, as ranges of keys of its value index.

use super::leaf::Leaf;
use super::row_test::RowTest;
use crate::columnar::segment::{KeyRange, common, disjoint};
use crate::filter::{Comparison, How};

/// What tests want of one column.
#[derive(Clone, Debug)]
pub(in crate::columnar) struct Wanted {
    /// Position of the column.
    pub column: usize,
    /// The wanted values, disjoint and in order.
    pub ranges: Vec<KeyRange>,
    /// Positions of the tests that ask for exactly these values together.
    pub tests: Vec<usize>,
}

/// The columns of which the tests want ranges of values, each once.
pub(in crate::columnar) fn wanted<'t>(tests: impl Iterator<Item = &'t RowTest>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    for (at, test) in tests.enumerate() {
        let (Some((column, _)), Some(ranges)) = (test.only_column(), test.key_ranges()) else {
            continue;
        };
        match all.iter_mut().find(|wanted| wanted.column == column) {
            Some(wanted) => {
                wanted.ranges = common(&wanted.ranges, &ranges);
                wanted.tests.push(at);
            }
            None => all.push(Wanted { column, ranges, tests: vec![at] }),
        }
    }
    all
}

impl Leaf {
    /// The keys of the values that pass; `None` if null passes, or if too many others may. The
    /// ranges may overlap and be in any order.
    pub(super) fn key_ranges(&self) -> Option<Vec<KeyRange>> {
        use Comparison as C;
        Some(match self {
            Self::Int(C::Eq, value) => vec![KeyRange::of_int(*value)],
            Self::Int(how @ (C::Lt | C::Le), value) => {
                vec![KeyRange::ints_to(*value, *how == C::Lt)]
            }
            Self::Int(how @ (C::Gt | C::Ge), value) => {
                vec![KeyRange::ints_from(*value, *how == C::Gt)]
            }
            Self::Ints(set, false) => set.iter().copied().map(KeyRange::of_int).collect(),
            Self::Order(C::Eq, text) => vec![KeyRange::of_text(text)],
            Self::Order(how @ (C::Lt | C::Le), text) => {
                vec![KeyRange::texts_to(text, *how == C::Lt)]
            }
            Self::Order(how @ (C::Gt | C::Ge), text) => {
                vec![KeyRange::texts_from(text, *how == C::Gt)]
            }
            Self::Texts(set, false) => set.iter().map(|text| KeyRange::of_text(text)).collect(),
            Self::Find(How::Starts, prefix) => vec![KeyRange::texts_with(prefix)],
            _ => return None,
        })
    }
}

impl RowTest {
    /// The keys of the values of its only column that pass, disjoint and in order; `None` if they
    /// are not known.
    fn key_ranges(&self) -> Option<Vec<KeyRange>> {
        let mut ranges = Vec::new();
        for leaf in self.alternatives()? {
            ranges.append(&mut leaf.key_ranges()?);
        }
        Some(disjoint(ranges))
    }
}
