//! Runs a query: reads candidates, tests them, orders them, and cuts the page.

use std::collections::HashSet;

use super::access_path::{AccessPath, Choice, choose};
use super::candidates::{Candidates, Hit, Top, TypedCandidates};
use super::kinds::secondary;
use super::offers::{Count, Set};
use super::order::{Order, invert};
use super::predicate::Predicate;
use super::scan::OrderedScan;
use super::walk::{self, OrderedWalk, WalkEnd};
use super::{OrderTerm, Plan, Query, cells, position};
use crate::error::Result;
use crate::model::answer::Page;
use crate::model::{KindDecl, Resource};
use crate::session::view::{RECORDS_BETWEEN_CHECKS, View};
use crate::session::{Visibility, token};
use crate::value::id::{Kind, RecordKey};
use crate::value::stored::Members;

impl View<'_> {
    /// The page of `query`.
    ///
    /// # Errors
    /// `InvalidArgument` for a faulty filter, substitution or token.
    pub(crate) fn query<R: Resource>(&self, query: &Query<'_>) -> Result<Page<R>> {
        self.answer(query, false).map(|(page, _)| page)
    }

    /// The plan of `query`, without running it.
    ///
    /// # Errors
    /// As [`View::query`].
    #[cfg(test)]
    pub(crate) fn plan<R: Resource>(&self, query: &Query<'_>) -> Result<Plan> {
        let predicate = Predicate::compile(self, KindDecl::of::<R>(), query)?;
        Ok(describe(query, &predicate, &choose(self, query, &predicate)?))
    }

    /// The page of `query`, and its plan.
    ///
    /// # Errors
    /// As [`View::query`].
    pub(crate) fn query_with_plan<R: Resource>(
        &self,
        query: &Query<'_>,
    ) -> Result<(Page<R>, Plan)> {
        self.answer(query, true)
    }

    /// Calls `f` with every match of `query` in key order, with a bounded number of matches in
    /// memory at a time. Order, take and skip are ignored.
    ///
    /// # Errors
    /// As [`View::query`].
    pub(crate) fn for_each_match<R: Resource>(
        &self,
        query: &Query<'_>,
        mut f: impl FnMut(R),
    ) -> Result<()> {
        const AT_ONCE: usize = if cfg!(test) { 64 } else { 4_096 };
        let mut token: Option<String> = None;
        loop {
            let part = Query {
                order: Vec::new(),
                take: AT_ONCE,
                skip: 0,
                return_count: false,
                ..query.clone()
            };
            let page = self.query::<R>(&Query { continuation_token: token.as_deref(), ..part })?;
            page.items.into_iter().for_each(&mut f);
            token = page.continuation_token;
            if token.is_none() {
                return Ok(());
            }
        }
    }

    /// The page, and the plan if `with_plan` is set.
    fn answer<R: Resource>(&self, query: &Query<'_>, with_plan: bool) -> Result<(Page<R>, Plan)> {
        let mut candidates = TypedCandidates::<R>::new(self);
        let PageHits { hits, are_whole, continuation_token, total_count, plan } =
            self.find(KindDecl::of::<R>(), query, with_plan, &mut candidates)?;
        let items = if are_whole {
            in_order(&hits, candidates.into_records())
        } else {
            whole(self, &hits)?
        };
        Ok((Page { items, continuation_token, total_count }, plan))
    }

    /// As [`Self::answer`], compiled once for all kinds.
    fn find(
        &self,
        decl: KindDecl,
        query: &Query<'_>,
        with_plan: bool,
        candidates: &mut dyn Candidates,
    ) -> Result<PageHits> {
        let predicate = Predicate::compile(self, decl, query)?;
        let kind = predicate.decl.kind;
        let order = Order::compile(&predicate.decl, query)?;
        let fingerprint = position::fingerprint(kind, query);
        let token_key = &self.context().engine.token_key;
        let after = token::open(token_key, &fingerprint, query.continuation_token)?
            .map(|position| position::read(candidates, &order, &predicate, &position))
            .transpose()?;
        let choice = choose(self, query, &predicate)?;
        let mut plan =
            if with_plan { describe(query, &predicate, &choice) } else { Plan::default() };
        let touched_before = self.records_touched();

        let mut entries = 0;
        let indexed_count = match cells::count(self, candidates, choice.count.as_ref(), &predicate)?
        {
            Some((found, read)) => {
                entries += read;
                Some(found)
            }
            None => {
                if predicate.visibility == Visibility::All {
                    plan.count = plan.count.take().map(|_| EVERY_MATCH.to_owned());
                }
                None
            }
        };
        // If matches come in the order of the query, skipped ones are only counted as they pass.
        // Otherwise the first `skip + take` matches must be kept to know which ones are skipped.
        let passes = comes_in_order(query, &choice.path);
        let skip = if passes { 0 } else { query.skip };
        let wanted = skip.saturating_add(query.take);
        // One match more than wanted shows whether another page follows.
        let mut top = Top {
            to_pass: query.skip - skip,
            keeps_records: skip <= SKIPPED,
            count_all: query.return_count && indexed_count.is_none(),
            has_page: query.take > 0,
            after: after.as_deref(),
            ..Top::new(&order, &predicate, wanted.saturating_add(1))
        };
        // An empty page whose count is known needs no records.
        if query.take > 0 || top.count_all {
            entries += offer_candidates(self, query, &choice.path, &mut top, candidates)?;
        }
        let count = indexed_count.unwrap_or(top.count);
        let are_whole = top.is_whole();
        let mut hits = top.heap.into_sorted_vec();
        let token = match (wanted.checked_sub(1).and_then(|last| hits.get(last)), hits.get(wanted))
        {
            (Some(last), Some(next)) if query.take > 0 => {
                let position = position::write(kind, &last.sort, last.key, &next.sort);
                Some(token::seal(token_key, &fingerprint, &position)?)
            }
            _ => None,
        };
        hits.truncate(wanted);
        hits.drain(..skip.min(hits.len()));
        plan.set_cost(&predicate.visibility, self.records_touched() - touched_before, entries);
        Ok(PageHits {
            hits,
            are_whole,
            continuation_token: token,
            total_count: query.return_count.then_some(count),
            plan,
        })
    }
}

/// A page without its records.
struct PageHits {
    /// The matches of the page, in order.
    hits: Vec<Hit>,
    /// Whether their whole records were read.
    are_whole: bool,
    continuation_token: Option<String>,
    total_count: Option<u64>,
    plan: Plan,
}

/// Takes the records of the hits out of `records`, in the order of the hits.
fn in_order<R: Resource>(hits: &[Hit], mut records: Vec<R>) -> Vec<R> {
    let first = hits.first().map_or(0, |hit| hit.slot);
    // Candidates that came in order have consecutive slots.
    if hits.iter().enumerate().all(|(at, hit)| hit.slot == first + at) {
        records.truncate(first + hits.len());
        records.drain(..first.min(records.len()));
        return records;
    }
    hits.iter().filter_map(|hit| records.get_mut(hit.slot).map(std::mem::take)).collect()
}

/// Reads the whole records of hits of which only parts were read.
fn whole<R: Resource>(view: &View<'_>, hits: &[Hit]) -> Result<Vec<R>> {
    let mut records = Vec::with_capacity(hits.len());
    for hit in hits {
        records.push(
            view.again::<R>(hit.key, Members::ALL)?
                .ok_or_else(|| walk::missing(R::KIND, hit.key))?,
        );
    }
    Ok(records)
}

/// Most skipped matches whose records are kept in memory. For larger skips only the keys are kept,
/// and the records of the page are read again.
const SKIPPED: usize = 1_024;

/// The text in plans for a count of every match.
const EVERY_MATCH: &str = "every match";

/// The sets of an access path as text.
fn sets_text(sets: &[Set]) -> String {
    let set = |set: &Set| match set {
        Set::Keys(keys) => format!("{} ids", keys.len()),
        Set::Ranges(scans) => {
            let names: Vec<&str> = scans.iter().map(|scan| scan.name.as_str()).collect();
            let spans: usize = scans.iter().map(|scan| scan.spans.len()).sum();
            format!("index {}, {spans} ranges", names.join(" | index "))
        }
    };
    sets.iter().map(set).collect::<Vec<_>>().join(" & ")
}

/// The terms of an order as text; `how` says where the order comes from.
fn order_text(query: &Query<'_>, how: &str) -> String {
    let term = |term: &OrderTerm| {
        let entry = query.entry.map(|entry| format!(".{}", entry.key)).unwrap_or_default();
        format!("{}{entry}{}", term.path, if term.descending { " descending" } else { "" })
    };
    let terms: Vec<String> = query.order.iter().map(term).collect();
    if terms.is_empty() { "by key".to_owned() } else { format!("{how}by {}", terms.join(", ")) }
}

/// The plan for a caller that sees only a part of the records. It depends on the query alone, since
/// nothing in it may depend on the other records.
fn describe_to_restricted(query: &Query<'_>, predicate: &Predicate) -> Plan {
    let mut access = format!("visible records of {}", predicate.decl.kind.name);
    let offers = secondary(&predicate.decl, &predicate.conditions);
    let scans = offers.iter().flat_map(|offer| offer.set.scans());
    let mut usable: Vec<&str> = scans.map(|scan| scan.name.as_str()).collect();
    usable.sort_unstable();
    usable.dedup();
    if !usable.is_empty() {
        access.push_str(&format!(", with the help of index {}", usable.join(" or index ")));
    }
    Plan {
        access,
        residual: predicate.describe(),
        order: order_text(query, ""),
        count: query.return_count.then(|| "visible matches".to_owned()),
        ..Plan::default()
    }
}

fn describe(query: &Query<'_>, predicate: &Predicate, choice: &Choice) -> Plan {
    if predicate.visibility != Visibility::All {
        return describe_to_restricted(query, predicate);
    }
    let (access, order) = match &choice.path {
        AccessPath::Nothing => ("nothing".to_owned(), "by key "),
        AccessPath::Sets(sets) => (sets_text(sets), "top "),
        AccessPath::Ordered { ordered, within } => {
            let mut access = format!("index {} in order", ordered.scan.name);
            if let Some(within) = within {
                access.push_str(" within ");
                access.push_str(&sets_text(std::slice::from_ref(within)));
            }
            (access, "from the index ")
        }
        AccessPath::All => (format!("all records of {}", predicate.decl.kind.name), "top "),
    };
    let order = order_text(query, order);
    let count = query.return_count.then(|| match &choice.count {
        Some(Count::Entries(sets)) => sets_text(sets),
        Some(Count::Columns(asks)) => format!("{} columns of the text index", asks.len()),
        None => EVERY_MATCH.to_owned(),
    });
    Plan { access, residual: predicate.describe(), order, count, ..Plan::default() }
}

/// Whether the query is ordered by record key: `Some(descending)` if it is.
fn key_order(query: &Query<'_>) -> Option<bool> {
    match query.order.first() {
        None => Some(false),
        Some(term) if term.path == "id" => Some(term.descending),
        Some(_) => None,
    }
}

/// Whether all candidates of an access path come in the order of the query.
fn comes_in_order(query: &Query<'_>, path: &AccessPath) -> bool {
    match path {
        AccessPath::Nothing => true,
        // With a set, `along` may give up the order and read the records of the set instead.
        AccessPath::Ordered { within, .. } => within.is_none(),
        AccessPath::Sets(_) | AccessPath::All => key_order(query).is_some(),
    }
}

/// Offers candidates until no more can matter. Returns the number of index entries read.
fn offer_candidates(
    view: &View<'_>,
    query: &Query<'_>,
    path: &AccessPath,
    top: &mut Top<'_>,
    candidates: &mut dyn Candidates,
) -> Result<u64> {
    match path {
        AccessPath::Nothing => Ok(0),
        AccessPath::Sets(sets) => {
            let (keys, entries) =
                walk::gather(view, top.predicate.decl.kind, sets, &top.predicate.visibility)?;
            records_of(view, query, keys, top, candidates, must_exist(sets))?;
            Ok(entries)
        }
        AccessPath::Ordered { ordered, within } => {
            along(view, query, ordered, within.as_slice(), top, candidates)
        }
        AccessPath::All => {
            let in_order = key_order(query);
            let after = after_key(query, top);
            let back = in_order == Some(true);
            if in_order.is_none()
                || top.count_all
                || top.predicate.filter.is_some()
                || !top.keeps_records
            {
                top.read_parts(candidates);
            }
            candidates.offer_all(top, after, back, in_order.is_none())?;
            Ok(0)
        }
    }
}

/// The key after which candidates in key order can matter; `None` if all can.
fn after_key(query: &Query<'_>, top: &Top<'_>) -> Option<RecordKey> {
    let descending = key_order(query)?;
    let after = top.after.filter(|_| !top.count_all)?;
    key_of(top.predicate.decl.kind, after, descending && !query.order.is_empty())
}

/// The record key at the start of a sort key of the order by id.
fn key_of(kind: Kind, sort: &[u8], descending: bool) -> Option<RecordKey> {
    let mut bytes = sort.get(..kind.id.key_len())?.to_vec();
    if descending {
        invert(&mut bytes, 0);
    }
    RecordKey::from_bytes(kind.id, &bytes)
}

/// Offers the records with these keys, which must be ascending.
fn records_of(
    view: &View<'_>,
    query: &Query<'_>,
    mut keys: Vec<RecordKey>,
    top: &mut Top<'_>,
    candidates: &mut dyn Candidates,
    must_exist: bool,
) -> Result<()> {
    let in_order = key_order(query);
    if let Some(after) = after_key(query, top) {
        // Records of earlier pages are not read again.
        let behind =
            |key: &RecordKey| if in_order == Some(true) { *key < after } else { *key > after };
        keys.retain(behind);
    }
    if in_order == Some(true) {
        keys.reverse();
    }
    if !top.keeps_records || keys.len() > top.keep && (in_order.is_none() || top.count_all) {
        top.read_parts(candidates);
    }
    for (number, key) in (1..).zip(keys) {
        if number % RECORDS_BETWEEN_CHECKS == 0 {
            view.context().check_deadline()?;
        }
        match candidates.offer(top, key)? {
            Some(false) if in_order.is_some() => break,
            None if must_exist => return Err(walk::missing(top.predicate.decl.kind, key)),
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// Whether the records of these sets must exist: those that entries of an index name.
fn must_exist(sets: &[Set]) -> bool {
    !sets.iter().any(Set::is_keys)
}

/// Reads an ordered index and offers its records. With a set, only records of the set are offered.
/// If they are too far apart in the index, the walk runs out of its budget, and the records of the
/// set are read instead. They include those that were offered already, so `top` is cleared first.
fn along(
    view: &View<'_>,
    query: &Query<'_>,
    ordered: &OrderedScan,
    within: &[Set],
    top: &mut Top<'_>,
    candidates: &mut dyn Candidates,
) -> Result<u64> {
    /// Number of index entries to read for each record of the set before giving up.
    const PATIENCE: u64 = 8;
    let (kind, visibility) = (top.predicate.decl.kind, &top.predicate.visibility);
    let (keys, mut entries) = walk::gather(view, kind, within, visibility)?;
    let lookup: Option<HashSet<RecordKey>> =
        (!within.is_empty()).then(|| keys.iter().copied().collect());
    let ordered_walk = OrderedWalk {
        ordered,
        key_descending: top.order.key_descending,
        // A count covers all matches, those of earlier pages too.
        after: top.after.filter(|_| !top.count_all),
        within: lookup.as_ref(),
        visibility,
        budget: lookup
            .as_ref()
            .map_or(u64::MAX, |keys| (keys.len() as u64).saturating_mul(PATIENCE)),
    };
    let (walked, read) = ordered_walk.run(view, kind, &mut |key| {
        candidates.offer(top, key)?.ok_or_else(|| walk::missing(kind, key))
    })?;
    entries += read;
    if walked == WalkEnd::OutOfBudget {
        top.clear();
        candidates.clear();
        records_of(view, query, keys, top, candidates, must_exist(within))?;
    }
    Ok(entries)
}
