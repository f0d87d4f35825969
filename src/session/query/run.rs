//! Running a query: candidates, test, order, page.

use std::collections::{BinaryHeap, HashSet};

use super::access_path::{AccessPath, Choice, Within, choose, usable};
use super::count::Count;
use super::order::{Order, invert};
use super::predicate::Predicate;
use super::scan::{OrderedScan, Scan};
use super::walk::{self, OrderedWalk, Walked};
use super::{OrderTerm, Page, Plan, Query, cells, position};
use crate::error::Result;
use crate::model::{Resource, members_of};
use crate::session::view::{RECORDS_BETWEEN_CHECKS, View};
use crate::session::{Visibility, token};
use crate::value::id::RecordKey;
use crate::value::stored::Members;

/// A candidate that matched, ordered by its sort key, which ends with its key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    sort: Vec<u8>,
    key: RecordKey,
    /// Place of its record among those of [`Top`].
    slot: usize,
}

impl View<'_> {
    /// The page that `query` asks for.
    ///
    /// # Errors
    /// `InvalidArgument` for a faulty filter, substitution or token.
    pub fn query<R: Resource>(&self, query: &Query<'_>) -> Result<Page<R>> {
        self.answer(query, false).map(|(page, _)| page)
    }

    /// How `query` will be answered, without running it.
    ///
    /// # Errors
    /// As [`View::query`].
    #[cfg(test)]
    pub fn plan<R: Resource>(&self, query: &Query<'_>) -> Result<Plan> {
        let predicate = Predicate::compile::<R>(self, query)?;
        Ok(describe::<R>(query, &predicate, &choose::<R>(self, query, &predicate)?))
    }

    /// The page that `query` asks for, and how it was answered.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn query_with_plan<R: Resource>(&self, query: &Query<'_>) -> Result<(Page<R>, Plan)> {
        self.answer(query, true)
    }

    /// Calls `f` with every match of `query` in key order, and holds a bounded number of them at a time; order, take and
    /// skip are ignored.
    ///
    /// # Errors
    /// As [`View::query`].
    pub fn for_each_match<R: Resource>(&self, query: &Query<'_>, mut f: impl FnMut(R)) -> Result<()> {
        const AT_ONCE: usize = if cfg!(test) { 64 } else { 4_096 };
        let mut token: Option<String> = None;
        loop {
            let part = Query { order: Vec::new(), take: AT_ONCE, skip: 0, return_count: false, ..query.clone() };
            let page = self.query::<R>(&Query { continuation_token: token.as_deref(), ..part })?;
            page.items.into_iter().for_each(&mut f);
            token = page.continuation_token;
            if token.is_none() {
                return Ok(());
            }
        }
    }

    /// The page, and the plan where it is wanted.
    fn answer<R: Resource>(&self, query: &Query<'_>, with_plan: bool) -> Result<(Page<R>, Plan)> {
        let predicate = Predicate::compile::<R>(self, query)?;
        let order = Order::compile::<R>(query)?;
        let fingerprint = position::fingerprint::<R>(query);
        let token_key = &self.context().engine.token_key;
        let after = token::open(token_key, &fingerprint, query.continuation_token)?
            .map(|position| position::read::<R>(self, &order, &predicate, &position))
            .transpose()?;
        let choice = choose::<R>(self, query, &predicate)?;
        let mut plan = if with_plan { describe::<R>(query, &predicate, &choice) } else { Plan::default() };
        let touched_before = self.records_touched();

        let mut entries = 0;
        let indexed_count = match cells::count::<R>(self, choice.count.as_ref(), &predicate)? {
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
        // Matches that come in order are passed over one by one; of others the first ones must be known.
        let passes = comes_in_order(query, &choice.path);
        let skip = if passes { 0 } else { query.skip };
        let wanted = skip.saturating_add(query.take);
        let mut top = Top {
            to_pass: query.skip - skip,
            // One more than wanted tells whether anything follows.
            keep: wanted.saturating_add(1),
            keeps_records: skip <= SKIPPED,
            count_all: query.return_count && indexed_count.is_none(),
            has_page: query.take > 0,
            order: &order,
            predicate: &predicate,
            after: after.as_deref(),
            heap: BinaryHeap::with_capacity(wanted.saturating_add(1).min(ROOM)),
            records: Vec::new(),
            wanted: Members::ALL,
            count: 0,
        };
        // A page of nothing needs no records when the count is known.
        if query.take > 0 || top.count_all {
            entries += candidates::<R>(self, query, &choice.path, &mut top)?;
        }
        let count = indexed_count.unwrap_or(top.count);
        let is_whole = top.is_whole();
        let mut hits = top.heap.into_sorted_vec();
        let token = match (wanted.checked_sub(1).and_then(|last| hits.get(last)), hits.get(wanted)) {
            (Some(last), Some(next)) if query.take > 0 => {
                let position = position::write::<R>(&last.sort, last.key, &next.sort);
                Some(token::seal(token_key, &fingerprint, &position)?)
            }
            _ => None,
        };
        hits.truncate(wanted);
        hits.drain(..skip.min(hits.len()));
        let items = if is_whole { in_order(&hits, top.records) } else { whole(self, &hits)? };
        plan.set_cost(&predicate.visibility, self.records_touched() - touched_before, entries);
        let page = Page { items, continuation_token: token, total_count: query.return_count.then_some(count) };
        Ok((page, plan))
    }
}

/// The records of hits, in their order.
fn in_order<R: Resource>(hits: &[Hit], mut records: Vec<R>) -> Vec<R> {
    let first = hits.first().map_or(0, |hit| hit.slot);
    // Candidates that came in order lie in order.
    if hits.iter().enumerate().all(|(at, hit)| hit.slot == first + at) {
        records.truncate(first + hits.len());
        records.drain(..first.min(records.len()));
        return records;
    }
    hits.iter().filter_map(|hit| records.get_mut(hit.slot).map(std::mem::take)).collect()
}

/// The records of hits of which only parts were read.
fn whole<R: Resource>(view: &View<'_>, hits: &[Hit]) -> Result<Vec<R>> {
    let mut records = Vec::with_capacity(hits.len());
    for hit in hits {
        records.push(view.again::<R>(hit.key, Members::ALL)?.ok_or_else(|| walk::missing::<R>(hit.key))?);
    }
    Ok(records)
}

/// Records of hits in front of the page that are held; of more the keys are, and the records of the page are read again.
const SKIPPED: usize = 1_024;

/// Hits that room is made for at once: lists of large records that grow are copied, and unsettle the allocator.
const ROOM: usize = 128;

/// The first matches behind the page's start, in order.
struct Top<'t, R> {
    /// Matches in front of the page that are still to come.
    to_pass: usize,
    keep: usize,
    /// Whether hits may have their records.
    keeps_records: bool,
    /// Whether every match is counted, so that nothing may be left unread.
    count_all: bool,
    /// Whether there is a page at all.
    has_page: bool,
    order: &'t Order,
    predicate: &'t Predicate,
    after: Option<&'t [u8]>,
    heap: BinaryHeap<Hit>,
    /// The records of the hits; none while only parts are read.
    records: Vec<R>,
    /// What is read of each candidate.
    wanted: Members,
    count: u64,
}

impl<R: Resource> Top<'_, R> {
    /// From now on candidates are read as far as test and order need it. It pays where most of them are not on the page,
    /// whose records are then read again.
    fn read_parts(&mut self) {
        self.wanted = members_of::<R>(self.predicate.reads().chain(self.order.reads()));
    }

    /// Whether the records of the hits are there.
    fn is_whole(&self) -> bool {
        self.keeps_records && self.wanted == Members::ALL
    }

    /// Forgets what was offered.
    fn clear(&mut self) {
        self.heap.clear();
        self.records.clear();
        self.count = 0;
    }

    /// Takes a candidate; whether more are of use when they come in order.
    fn offer(&mut self, key: RecordKey, record: R) -> Result<bool> {
        if !self.predicate.matches(key, &record)? {
            return Ok(true);
        }
        self.count += 1;
        if !self.has_page {
            return Ok(self.count_all);
        }
        let sort = self.order.sort_key(&record, key, self.predicate);
        if self.after.is_some_and(|after| sort.as_slice() <= after) {
            return Ok(true);
        }
        if self.to_pass > 0 {
            self.to_pass -= 1;
            return Ok(true);
        }
        let is_whole = self.is_whole();
        if self.heap.len() < self.keep {
            self.heap.push(Hit { sort, key, slot: self.records.len() });
            if is_whole {
                if self.records.is_empty() {
                    self.records.reserve(self.keep.min(ROOM));
                }
                self.records.push(record);
            }
        } else if let Some(mut worst) = self.heap.peek_mut()
            && sort < worst.sort
        {
            if let (true, Some(place)) = (is_whole, self.records.get_mut(worst.slot)) {
                *place = record;
            }
            *worst = Hit { sort, key, slot: worst.slot };
        }
        Ok(self.count_all || self.heap.len() < self.keep)
    }
}

/// How plans say that every match is counted.
const EVERY_MATCH: &str = "every match";

/// The sets of a path as text.
fn sets_text(sets: &[Vec<Scan>]) -> String {
    let set = |set: &Vec<Scan>| {
        let names: Vec<&str> = set.iter().map(|scan| scan.name.as_str()).collect();
        let spans: usize = set.iter().map(|scan| scan.spans.len()).sum();
        format!("index {}, {spans} ranges", names.join(" | index "))
    };
    sets.iter().map(set).collect::<Vec<_>>().join(" & ")
}

/// The terms of an order as text; `how` says where it comes from.
fn order_text(query: &Query<'_>, how: &str) -> String {
    let term = |term: &OrderTerm| format!("{}{}", term.path, if term.descending { " descending" } else { "" });
    let terms: Vec<String> = query.order.iter().map(term).collect();
    if terms.is_empty() { "by key".to_owned() } else { format!("{how}by {}", terms.join(", ")) }
}

/// The plan for a caller that sees a part of the records: nothing of it may depend on the others, so it is made of the
/// query alone.
fn describe_to_restricted<R: Resource>(query: &Query<'_>, predicate: &Predicate) -> Plan {
    let mut access = format!("visible records of {}", R::KIND.name);
    let usable = usable::<R>(&predicate.conditions);
    if !usable.is_empty() {
        access.push_str(&format!(", with the help of index {}", usable.join(" or index ")));
    }
    Plan {
        access,
        residual: predicate.describe::<R>(),
        order: order_text(query, ""),
        count: query.return_count.then(|| "visible matches".to_owned()),
        ..Plan::default()
    }
}

fn describe<R: Resource>(query: &Query<'_>, predicate: &Predicate, choice: &Choice) -> Plan {
    if predicate.visibility != Visibility::All {
        return describe_to_restricted::<R>(query, predicate);
    }
    let (access, order) = match &choice.path {
        AccessPath::Nothing => ("nothing".to_owned(), "by key "),
        AccessPath::Keys(keys) => (format!("{} ids", keys.len()), "top "),
        AccessPath::Sets(sets) => (sets_text(sets), "top "),
        AccessPath::Ordered { ordered, within } => {
            let mut access = format!("index {} in order", ordered.scan.name);
            if let Some(within) = within {
                access.push_str(" within ");
                access.push_str(&match within {
                    Within::Ranges(set) => sets_text(std::slice::from_ref(set)),
                    Within::Keys(keys) => format!("{} ids", keys.len()),
                });
            }
            (access, "from the index ")
        }
        AccessPath::All => (format!("all records of {}", R::KIND.name), "top "),
    };
    let order = order_text(query, order);
    let count = query.return_count.then(|| match &choice.count {
        Some(Count::Entries(sets)) => sets_text(sets),
        Some(Count::Columns(asks)) => format!("{} columns of the text index", asks.len()),
        None => EVERY_MATCH.to_owned(),
    });
    Plan { access, residual: predicate.describe::<R>(), order, count, ..Plan::default() }
}

/// Whether the order of a query is that of the record keys, and in which direction.
fn key_order(query: &Query<'_>) -> Option<bool> {
    match query.order.first() {
        None => Some(false),
        Some(term) if term.path == "id" => Some(term.descending),
        Some(_) => None,
    }
}

/// Whether the candidates of a path come in the order of the query, all of them.
fn comes_in_order(query: &Query<'_>, path: &AccessPath) -> bool {
    match path {
        AccessPath::Nothing => true,
        // A set that is looked for along the order may be read in another one.
        AccessPath::Ordered { within, .. } => within.is_none(),
        AccessPath::Keys(_) | AccessPath::Sets(_) | AccessPath::All => key_order(query).is_some(),
    }
}

/// Offers every candidate until no more are of use; the number of index entries read.
fn candidates<R: Resource>(view: &View<'_>, query: &Query<'_>, path: &AccessPath, top: &mut Top<'_, R>) -> Result<u64> {
    match path {
        AccessPath::Nothing => Ok(0),
        AccessPath::Keys(keys) => records_of(view, query, keys.clone(), top, false).map(|()| 0),
        AccessPath::Sets(sets) => {
            let (keys, entries) = walk::gather(view, R::KIND, sets, &top.predicate.visibility)?;
            records_of(view, query, keys, top, true)?;
            Ok(entries)
        }
        AccessPath::Ordered { ordered, within } => along(view, query, ordered, within.as_ref(), top),
        AccessPath::All => {
            let in_order = key_order(query);
            let after = after_key(query, top);
            let back = in_order == Some(true);
            if in_order.is_none() || top.count_all || top.predicate.filter.is_some() || !top.keeps_records {
                top.read_parts();
            }
            view.scan_records::<R>(after, back, top.wanted, |key, record| {
                #[cfg(test)]
                agrees(view, top, key, &record)?;
                Ok(top.offer(key, record)? || in_order.is_none())
            })?;
            Ok(0)
        }
    }
}

/// The key behind which candidates in key order are of use; `None` when all are.
fn after_key<R: Resource>(query: &Query<'_>, top: &Top<'_, R>) -> Option<RecordKey> {
    let descending = key_order(query)?;
    let after = top.after.filter(|_| !top.count_all)?;
    key_of::<R>(after, descending && !query.order.is_empty())
}

/// The record key in a sort key of the order by id.
fn key_of<R: Resource>(sort: &[u8], descending: bool) -> Option<RecordKey> {
    let mut bytes = sort.get(..R::KIND.id.key_len())?.to_vec();
    if descending {
        invert(&mut bytes, 0);
    }
    RecordKey::from_bytes(R::KIND.id, &bytes)
}

/// Offers the records with these keys; keys are ascending.
fn records_of<R: Resource>(
    view: &View<'_>,
    query: &Query<'_>,
    mut keys: Vec<RecordKey>,
    top: &mut Top<'_, R>,
    must_exist: bool,
) -> Result<()> {
    let in_order = key_order(query);
    if let Some(after) = after_key(query, top) {
        // What was on the pages before is not read again.
        let behind = |key: &RecordKey| if in_order == Some(true) { *key < after } else { *key > after };
        keys.retain(behind);
    }
    if in_order == Some(true) {
        keys.reverse();
    }
    if !top.keeps_records || keys.len() > top.keep && (in_order.is_none() || top.count_all) {
        top.read_parts();
    }
    for (number, key) in (1..).zip(keys) {
        if number % RECORDS_BETWEEN_CHECKS == 0 {
            view.context().check_deadline()?;
        }
        match view.part_by_key::<R>(key, top.wanted)? {
            Some(record) => {
                #[cfg(test)]
                agrees(view, top, key, &record)?;
                if !top.offer(key, record)? && in_order.is_some() {
                    break;
                }
            }
            None if must_exist => return Err(walk::missing::<R>(key)),
            None => {}
        }
    }
    Ok(())
}

/// Every test of a query also looks whether a part of a record gives the answers of the whole.
#[cfg(test)]
fn agrees<R: Resource>(view: &View<'_>, top: &Top<'_, R>, key: RecordKey, part: &R) -> Result<()> {
    let whole = view.again::<R>(key, Members::ALL)?.unwrap_or_default();
    // What takes too long fails in the query itself.
    if let (Ok(of_part), Ok(of_whole)) = (top.predicate.matches(key, part), top.predicate.matches(key, &whole)) {
        assert_eq!(of_part, of_whole, "{part:?} of {whole:?}");
    }
    let sort = |record: &R| top.order.sort_key(record, key, top.predicate);
    assert_eq!(sort(part), sort(&whole), "{part:?} of {whole:?}");
    Ok(())
}

/// Walks along an ordered index. When a set is to be found along it and lies too far apart, its records are read
/// instead: what was offered before is offered again, so it is forgotten first.
fn along<R: Resource>(
    view: &View<'_>,
    query: &Query<'_>,
    ordered: &OrderedScan,
    within: Option<&Within>,
    top: &mut Top<'_, R>,
) -> Result<u64> {
    /// Entries to walk for each record of the set before its records are read.
    const PATIENCE: u64 = 8;
    let visibility = &top.predicate.visibility;
    let (gathered, mut entries) = match within {
        Some(Within::Ranges(set)) => {
            let (keys, entries) = walk::gather(view, R::KIND, std::slice::from_ref(set), visibility)?;
            (Some(keys), entries)
        }
        Some(Within::Keys(keys)) => (Some(keys.clone()), 0),
        None => (None, 0),
    };
    let lookup: Option<HashSet<RecordKey>> = gathered.as_ref().map(|keys| keys.iter().copied().collect());
    let ordered_walk = OrderedWalk {
        ordered,
        key_descending: top.order.key_descending,
        // A count is of all matches, those of the pages before as well.
        after: top.after.filter(|_| !top.count_all),
        within: lookup.as_ref(),
        visibility,
        budget: gathered.as_ref().map_or(u64::MAX, |keys| (keys.len() as u64).saturating_mul(PATIENCE)),
    };
    let (walked, read) = ordered_walk.run::<R>(view, |key, record| top.offer(key, record))?;
    entries += read;
    if let (Walked::OutOfBudget, Some(keys)) = (walked, gathered) {
        top.clear();
        records_of(view, query, keys, top, matches!(within, Some(Within::Ranges(_))))?;
    }
    Ok(entries)
}
