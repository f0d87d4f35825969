//! Running a query: candidates, test, order, page.

use std::collections::BinaryHeap;

use super::access_path::{AccessPath, choose};
use super::predicate::{Predicate, RecordRow, field_index};
use super::{OrderTerm, Page, Plan, Query};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::records::Space;
use crate::session::token::{self, Fingerprint};
use crate::session::view::{View, index_prefix, split_index_key};
use crate::value::id::RecordKey;
use crate::value::{Row, key};

/// A candidate that matched, ordered by its sort key.
struct Hit<R> {
    sort: Vec<u8>,
    record: R,
}

impl<R> PartialEq for Hit<R> {
    fn eq(&self, other: &Self) -> bool {
        self.sort == other.sort
    }
}

impl<R> Eq for Hit<R> {}

impl<R> PartialOrd for Hit<R> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R> Ord for Hit<R> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.sort.cmp(&other.sort)
    }
}

/// How records are ordered: fields in key order, then the record key.
struct Order {
    terms: Vec<(Option<usize>, bool)>,
    key_descending: bool,
}

impl Order {
    fn compile<R: Resource>(query: &Query<'_>) -> Result<Self> {
        let term = |term: &OrderTerm| {
            let field = if term.path == "id" { None } else { Some(field_index::<R>(term.path)?) };
            Ok((field, term.descending))
        };
        Ok(Self {
            terms: query.order.iter().map(term).collect::<Result<_>>()?,
            key_descending: query.ties_follow_direction && query.order.first().is_some_and(|term| term.descending),
        })
    }

    /// The bytes whose ascending order is the order of the query; no two records share them.
    fn sort_key<R: Resource>(&self, record: &R, record_key: RecordKey, predicate: &Predicate) -> Vec<u8> {
        let row = RecordRow { record, env: predicate.env };
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

fn invert(bytes: &mut [u8], start: usize) {
    bytes.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
}

fn fingerprint<R: Resource>(query: &Query<'_>) -> Fingerprint {
    let mut fingerprint = Fingerprint::new(R::KIND.name).with(query.filter.unwrap_or_default().trim().as_bytes());
    for value in query.substitutions {
        fingerprint = fingerprint.with(value.to_string().as_bytes());
    }
    for term in &query.order {
        fingerprint = fingerprint.with(term.path.as_bytes()).with(&[u8::from(term.descending)]);
    }
    for (path, values) in &query.restrict {
        fingerprint = fingerprint.with(path.as_bytes());
        for value in values {
            fingerprint = fingerprint.with(value.as_bytes());
        }
    }
    for id in query.ids.unwrap_or_default() {
        fingerprint = fingerprint.with(id.as_bytes());
    }
    fingerprint
}

impl View<'_> {
    /// The page that `query` asks for.
    ///
    /// # Errors
    /// `InvalidArgument` for a faulty filter, substitution or token.
    pub fn query<R: Resource>(&self, query: &Query<'_>) -> Result<Page<R>> {
        self.query_with_plan(query).map(|(page, _)| page)
    }

    /// How `query` will be answered, without running it.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn plan<R: Resource>(&self, query: &Query<'_>) -> Result<Plan> {
        let predicate = Predicate::compile::<R>(self, query)?;
        Ok(describe::<R>(query, &predicate, &choose::<R>(query, &predicate)))
    }

    /// The page that `query` asks for, and how it was answered.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn query_with_plan<R: Resource>(&self, query: &Query<'_>) -> Result<(Page<R>, Plan)> {
        let predicate = Predicate::compile::<R>(self, query)?;
        let order = Order::compile::<R>(query)?;
        let fingerprint = fingerprint::<R>(query);
        let token_key = &self.context().engine.token_key;
        let after = token::open(token_key, &fingerprint, query.continuation_token)?;
        let path = choose::<R>(query, &predicate);
        let mut plan = describe::<R>(query, &predicate, &path);
        let touched_before = self.records_touched();

        let wanted = query.skip.saturating_add(query.take);
        // One more than wanted tells whether anything follows.
        let keep = wanted.saturating_add(1);
        let in_order = matches!(path, AccessPath::Ordered { .. });
        let mut heap: BinaryHeap<Hit<R>> = BinaryHeap::new();
        let mut count = 0u64;
        candidates::<R>(self, &path, |record_key, record| {
            if !predicate.matches(&record) {
                return Ok(true);
            }
            count += 1;
            let sort = order.sort_key(&record, record_key, &predicate);
            if after.as_ref().is_some_and(|after| sort <= *after) {
                return Ok(true);
            }
            if heap.len() < keep {
                heap.push(Hit { sort, record });
            } else if heap.peek().is_some_and(|worst| sort < worst.sort) {
                heap.pop();
                heap.push(Hit { sort, record });
            }
            Ok(query.return_count || !in_order || heap.len() < keep)
        })?;

        let mut hits = heap.into_sorted_vec();
        let more = hits.len() > wanted;
        hits.truncate(wanted);
        let token = match hits.last() {
            Some(last) if more && query.take > 0 => Some(token::seal(token_key, &fingerprint, &last.sort)?),
            _ => None,
        };
        plan.records_touched = Some(self.records_touched() - touched_before);
        let page = Page {
            items: hits.into_iter().skip(query.skip).map(|hit| hit.record).collect(),
            continuation_token: token,
            total_count: query.return_count.then_some(count),
        };
        Ok((page, plan))
    }
}

fn describe<R: Resource>(query: &Query<'_>, predicate: &Predicate, path: &AccessPath) -> Plan {
    let (access, order) = match path {
        AccessPath::Keys(keys) => (format!("{} ids", keys.len()), "by key"),
        AccessPath::Prefixes { name, prefixes, .. } => (format!("index {name}, {} values", prefixes.len()), "top"),
        AccessPath::Ordered { name, .. } => (format!("index {name} in order"), "from the index"),
        AccessPath::All => (format!("all records of {}", R::KIND.name), "top"),
    };
    let order = match query.order.as_slice() {
        [] => "by key".to_owned(),
        terms => {
            let terms: Vec<String> = terms
                .iter()
                .map(|term| format!("{}{}", term.path, if term.descending { " descending" } else { "" }))
                .collect();
            format!("{order} by {}", terms.join(", "))
        }
    };
    Plan { access, residual: predicate.describe::<R>(), order, ..Plan::default() }
}

/// Calls `f` with every candidate until it answers false.
fn candidates<R: Resource>(
    view: &View<'_>,
    path: &AccessPath,
    mut f: impl FnMut(RecordKey, R) -> Result<bool>,
) -> Result<()> {
    let missing = |key: RecordKey| {
        Error::corrupt(format!("records.redb: an index names a {} that does not exist", R::KIND.name))
            .with_resource(R::KIND.name, key.to_id(R::KIND.id))
    };
    match path {
        AccessPath::Keys(keys) => {
            for &key in keys {
                if let Some(record) = view.any_by_key::<R>(key)? {
                    if !f(key, record)? {
                        return Ok(());
                    }
                }
            }
        }
        AccessPath::Prefixes { index, prefixes, .. } => {
            for prefix in prefixes {
                for key in view.index_keys::<R>(*index, prefix)? {
                    let record = view.any_by_key::<R>(key)?.ok_or_else(|| missing(key))?;
                    if !f(key, record)? {
                        return Ok(());
                    }
                }
            }
        }
        AccessPath::Ordered { index, descending, .. } => {
            let mut cursor = view.cursor(Space::Index, &index_prefix(R::KIND, *index, &[]))?;
            while let Some(key) =
                cursor.visit(*descending, |bytes, _| split_index_key(R::KIND, bytes).map(|(_, key)| key))?
            {
                let Some(key) = key else { continue };
                let record = view.any_by_key::<R>(key)?.ok_or_else(|| missing(key))?;
                if !f(key, record)? {
                    return Ok(());
                }
            }
        }
        AccessPath::All => {
            view.for_each::<R>(|record| match record.key() {
                Some(key) => f(key, record),
                None => Ok(true),
            })?;
        }
    }
    Ok(())
}
