//! The order of a query, as sort keys.

use super::predicate::field_index;
use super::{OrderTerm, Query};
use crate::error::Result;
use crate::model::KindDecl;
use crate::value::id::RecordKey;
use crate::value::{Row, key};

/// The order of records: the fields of the order, then the record key.
pub(super) struct Order {
    terms: Vec<(Option<usize>, bool)>,
    pub(super) key_descending: bool,
}

impl Order {
    pub(super) fn compile(decl: &KindDecl, query: &Query<'_>) -> Result<Self> {
        let term = |term: &OrderTerm| {
            let field = if term.path == "id" { None } else { Some(field_index(decl, term.path)?) };
            Ok((field, term.descending))
        };
        Ok(Self {
            terms: query.order.iter().map(term).collect::<Result<_>>()?,
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
                Some(field) => key::push_val(&mut sort, &row.val(*field)),
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
