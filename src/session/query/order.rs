//! The order of a query, as sort keys.

use super::predicate::field_index;
use super::{EntryOrder, OrderTerm, Query};
use crate::error::Result;
use crate::filter::number_of;
use crate::model::KindDecl;
use crate::value::id::RecordKey;
use crate::value::{Pairs, Row, Val, key};

/// The order of records: the fields of the order, then the record key.
pub(super) struct Order<'q> {
    terms: Vec<(Option<usize>, bool)>,
    entry: Option<EntryOrder<'q>>,
    pub(super) key_descending: bool,
}

impl EntryOrder<'_> {
    /// The value by which a map is ordered. Numbers are doubles, whose encodings are of one order.
    fn value<'a>(&self, pairs: Pairs<'a>) -> Val<'a> {
        let text = pairs.get(self.key).flatten();
        if self.as_number { text.and_then(number_of).into() } else { text.into() }
    }
}

impl<'q> Order<'q> {
    pub(super) fn compile(decl: &KindDecl, query: &Query<'q>) -> Result<Self> {
        let term = |term: &OrderTerm| {
            let field = if term.path == "id" { None } else { Some(field_index(decl, term.path)?) };
            Ok((field, term.descending))
        };
        Ok(Self {
            terms: query.order.iter().map(term).collect::<Result<_>>()?,
            entry: query.entry,
            key_descending: query.ties_follow_direction
                && query.order.first().is_some_and(|term| term.descending),
        })
    }

    /// The positions of the fields that the order uses.
    pub(super) fn reads(&self) -> impl Iterator<Item = usize> {
        self.terms.iter().filter_map(|(field, _)| *field)
    }

    /// A sort key: its byte order is the order of the query. It ends with the record key, so it is
    /// unique.
    pub(super) fn sort_key(&self, row: &dyn Row, record_key: RecordKey) -> Vec<u8> {
        let mut sort = Vec::new();
        for (field, descending) in &self.terms {
            let start = sort.len();
            match field {
                Some(field) => {
                    let value = match (row.val(*field), &self.entry) {
                        (Val::Map(pairs), Some(entry)) => entry.value(pairs),
                        (value, _) => value,
                    };
                    key::push_val(&mut sort, &value);
                }
                None => sort.extend_from_slice(record_key.as_bytes()),
            }
            if *descending {
                invert(&mut sort, start);
            }
        }
        let start = sort.len();
        sort.extend_from_slice(record_key.as_bytes());
        if self.key_descending {
            invert(&mut sort, start);
        }
        sort
    }
}

pub(super) fn invert(bytes: &mut [u8], start: usize) {
    bytes.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
}
