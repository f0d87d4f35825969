//! Utilization history by range. The cost grows with the answer, not with the history.
//!
//! The span indexes contain the starts in order, for each class of span lengths. A query reads one
//! range of each class and merges the ranges by start, utilization identifier and asset, so it
//! stops as soon as a page is full. The direction applies to the start only: records with equal
//! starts come in ascending order of identifier and asset. For few assets, each asset has ranges of
//! its own. Otherwise the ranges are those of all assets, and entries of assets outside the asset
//! filter are skipped without reading their records.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Error, ErrorKind, Result};
use crate::filter::{self, Condition, FieldTest, Filter, Schema, Times};
use crate::model::assets::utilization::class_ranges;
use crate::model::{
    Asset, AssetUtilizationHistoryItem, AssetUtilizationHistoryResponse,
    QueryAssetUtilizationHistoryRequest, RecordRow, Resource, Utilization,
};
use crate::services::assets::query::vendor_names;
use crate::session::token::{self, Fingerprint};
use crate::session::{IndexEntries, Plan, Query, View};
use crate::value::id::RecordKey;
use crate::value::{Val, Work, key, limits, time};

const DEFAULT_TAKE: i64 = 1000;
const DEFAULT_DAYS: i64 = 90;

/// The time range of a query. The first page fixes it, and the token carries it to the next pages.
#[derive(Clone, Copy)]
struct Range {
    from: DateTime<Utc>,
    to: DateTime<Utc>,
}

pub(in crate::services) fn query(
    view: &View<'_>,
    request: &QueryAssetUtilizationHistoryRequest,
) -> Result<(AssetUtilizationHistoryResponse, Plan)> {
    let take = usize::try_from(request.take.unwrap_or(DEFAULT_TAKE))
        .map_err(|_| Error::invalid("take is negative").at_member("take"))?;
    let descending = request.order_by.is_some() && request.order_by_descending.unwrap_or_default();
    let token_key = &view.context().engine.token_key;
    let open = |descending: bool| {
        let fingerprint = fingerprint(request, descending);
        let position = token::open(token_key, &fingerprint, request.continuation_token.as_deref())?;
        Ok::<_, Error>((descending, fingerprint, position))
    };
    // The direction is part of the token's fingerprint: a request without an order continues in the
    // direction of the first page.
    let (descending, fingerprint, position) = match open(descending) {
        Err(_) if request.order_by.is_none() => open(true)?,
        opened => opened?,
    };
    let (range, after) = match position {
        Some(position) => read_position(&position)?,
        None => (first_range(request, view.now())?, Vec::new()),
    };
    let condition = record_filter(view, request.utilization_filter.as_deref())?;
    let assets = assets(view, request.asset_filter.as_deref())?;
    let mut plan = describe(request, assets.as_ref(), descending);

    let mut walk = Walk::new(view, range, assets, descending, &after)?;
    let mut items = Vec::new();
    let mut last = Vec::new();
    let mut has_more = false;
    while let Some((sort, record_key)) = walk.next()? {
        view.context().check_deadline()?;
        let Some(record) = view.by_key::<Utilization>(record_key)? else { continue };
        let env = view.env();
        let is_match = record.meets(range.from, range.to, view.now())
            && match &condition {
                None => true,
                Some(filter) => fulfils(view, filter, &RecordRow { record: &record, env })?,
            };
        if !is_match {
            continue;
        }
        if items.len() == take {
            has_more = true;
            break;
        }
        items.push(AssetUtilizationHistoryItem::from(record));
        last = sort;
    }
    let continuation_token = if has_more && take > 0 {
        Some(token::seal(token_key, &fingerprint, &write_position(range, &last))?)
    } else {
        None
    };
    plan.set_cost(
        &view.visibility(Utilization::KIND),
        view.records_touched(),
        walk.entries_touched,
    );
    Ok((AssetUtilizationHistoryResponse { asset_utilizations: items, continuation_token }, plan))
}

/// Whether a record matches the filter, within the work that is allowed for one record.
fn fulfils(view: &View<'_>, filter: &Filter, row: &RecordRow<'_>) -> Result<bool> {
    let check = || view.context().check_deadline();
    let work = Work::new(&check);
    let is_match = filter.matches_with(row, &|_| false, &work);
    work.finish().map_err(|error| match error.kind() {
        ErrorKind::LimitExceeded => error.at_member("utilizationFilter"),
        _ => error,
    })?;
    Ok(is_match)
}

fn fingerprint(request: &QueryAssetUtilizationHistoryRequest, descending: bool) -> Fingerprint {
    let text =
        |text: &Option<String>| text.as_deref().unwrap_or_default().trim().as_bytes().to_vec();
    let moment = |moment: Option<DateTime<Utc>>| {
        moment.map(|moment| moment.timestamp_millis().to_be_bytes().to_vec()).unwrap_or_default()
    };
    Fingerprint::new("asset utilization history")
        .with(&text(&request.utilization_filter))
        .with(&text(&request.asset_filter))
        .with(&moment(request.start_time))
        .with(&moment(request.end_time))
        .with(&[u8::from(descending)])
}

fn first_range(request: &QueryAssetUtilizationHistoryRequest, now: DateTime<Utc>) -> Result<Range> {
    let from = request.start_time.unwrap_or_else(|| now - TimeDelta::days(DEFAULT_DAYS));
    let to = request.end_time.unwrap_or(now);
    if from > to {
        return Err(Error::invalid(format!(
            "the range starts at {}, after its end at {}",
            time::format(from),
            time::format(to)
        ))
        .at_member("startTime"));
    }
    Ok(Range { from, to })
}

fn write_position(range: Range, last: &[u8]) -> Vec<u8> {
    let mut position = Vec::new();
    key::push_i64(&mut position, range.from.timestamp_millis());
    key::push_i64(&mut position, range.to.timestamp_millis());
    position.extend_from_slice(last);
    position
}

fn read_position(position: &[u8]) -> Result<(Range, Vec<u8>)> {
    let read = || {
        let (from_ms, rest) = key::split_i64(position)?;
        let (to_ms, last) = key::split_i64(rest)?;
        Some((
            Range { from: time::from_millis(from_ms), to: time::from_millis(to_ms) },
            last.to_vec(),
        ))
    };
    read().ok_or_else(|| {
        Error::invalid("the continuation token is malformed").at_member("continuationToken")
    })
}

fn compile<R: Resource>(
    view: &View<'_>,
    text: Option<&str>,
    member: &str,
) -> Result<Option<Filter>> {
    let renames = vendor_names(view.context().settings());
    let renames = if R::KIND == Asset::KIND { renames.as_slice() } else { &[] };
    let schema =
        Schema { fields: R::fields(), renames, accept_brackets: true, ..Schema::default() };
    filter::compile(text, &[], &schema, &Times::new(view.now(), None))
        .map_err(|error| error.context(member))
}

fn record_filter(view: &View<'_>, text: Option<&str>) -> Result<Option<Filter>> {
    compile::<Utilization>(view, text, "utilizationFilter")
}

/// The ids of the assets that match the asset filter; `None` without a filter.
fn assets(view: &View<'_>, text: Option<&str>) -> Result<Option<BTreeSet<String>>> {
    let Some(compiled) = compile::<Asset>(view, text, "assetFilter")? else { return Ok(None) };
    let ids = named_ids(&compiled);
    let query = Query {
        filter: text,
        no_substitutions: true,
        bracket_lists: true,
        ids: ids.as_deref(),
        renames: vendor_names(view.context().settings()),
        ..Query::default()
    };
    let mut found = BTreeSet::new();
    view.for_each_match::<Asset>(&query, |asset| {
        found.insert(asset.id().to_owned());
    })?;
    Ok(Some(found))
}

/// The only ids that can match, if the filter names them.
fn named_ids(filter: &Filter) -> Option<Vec<String>> {
    let id = Asset::fields().iter().position(|field| field.path == "id")?;
    let text = |value: &filter::Constant| match value.val() {
        Val::Str(text) => Some(text.into_owned()),
        _ => None,
    };
    filter.conjuncts().iter().find_map(|condition| match condition {
        Condition::Field(field, FieldTest::Eq(value)) if *field == id => {
            Some(text(value).into_iter().collect())
        }
        Condition::Field(field, FieldTest::In(values)) if *field == id => {
            Some(values.iter().filter_map(text).collect())
        }
        _ => None,
    })
}

fn describe(
    request: &QueryAssetUtilizationHistoryRequest,
    assets: Option<&BTreeSet<String>>,
    descending: bool,
) -> Plan {
    let access = match assets {
        Some(assets) if assets.len() <= limits::UTILIZATION_LOOKUPS => {
            format!("index asset, span length, start of {} assets", assets.len())
        }
        Some(assets) => format!("index span length, start; {} assets", assets.len()),
        None => "index span length, start".to_owned(),
    };
    let filters = [&request.utilization_filter, &request.asset_filter];
    let residual: Vec<&str> =
        filters.into_iter().flatten().map(|text| text.trim()).filter(|t| !t.is_empty()).collect();
    Plan {
        access,
        residual: (!residual.is_empty()).then(|| residual.join(" and ")),
        order: format!(
            "by start{}, merged from the index",
            if descending { " descending" } else { "" }
        ),
        ..Plan::default()
    }
}

/// One index range of one class, for one asset or for all.
struct Run<'a> {
    entries: IndexEntries<'a>,
    /// Length of the part of an entry before the start.
    skip: usize,
    /// The asset, if the entries do not contain it.
    asset: Option<String>,
    /// Entries that were read but not returned yet, in the order of the query.
    ready: VecDeque<Entry>,
    /// When reading backwards, the entry read after those in `ready`. It has another start, and
    /// ends their group.
    ahead: Option<Entry>,
}

/// The sort key and the key of a record.
type Entry = (Vec<u8>, RecordKey);

/// Start, utilization identifier and asset as bytes whose ascending order is the order of the
/// query. The function is its own inverse.
fn sort_key(mut entry: Vec<u8>, descending: bool) -> Vec<u8> {
    if descending {
        // Inverts the eight bytes of the start, after its type byte.
        entry.iter_mut().skip(1).take(8).for_each(|byte| *byte = !*byte);
    }
    entry
}

/// The merged ranges, in the order of the query.
struct Walk<'a> {
    runs: Vec<Run<'a>>,
    /// The next entry of each run that is not exhausted, by sort key.
    heads: BTreeMap<(Vec<u8>, Reverse<usize>), RecordKey>,
    /// Entries of assets outside this set are skipped.
    only: Option<BTreeSet<String>>,
    descending: bool,
    after: Vec<u8>,
    entries_touched: u64,
}

impl<'a> Walk<'a> {
    fn new(
        view: &View<'a>,
        range: Range,
        assets: Option<BTreeSet<String>>,
        descending: bool,
        after: &[u8],
    ) -> Result<Self> {
        let mut walk = Self {
            runs: Vec::new(),
            heads: BTreeMap::new(),
            only: None,
            descending,
            after: after.to_vec(),
            entries_touched: 0,
        };
        // A later page starts where the previous one ended. Entries with that same start are read
        // again, and those up to `after` are skipped.
        let (mut from_ms, mut to_ms) = (i64::MIN, i64::MAX);
        let entry = sort_key(after.to_vec(), descending);
        if let Some((start_ms, _)) = key::split_i64(&entry) {
            if descending { to_ms = start_ms } else { from_ms = start_ms }
        }
        let (each, index) = match assets {
            Some(assets) if assets.len() <= limits::UTILIZATION_LOOKUPS => {
                (assets.into_iter().map(Some).collect(), Utilization::BY_ASSET_SPAN)
            }
            other => {
                walk.only = other;
                (vec![None], Utilization::BY_SPAN)
            }
        };
        for asset in each {
            for class in class_ranges(range.from, range.to, view.now()) {
                let mut prefix = Vec::new();
                asset.iter().for_each(|asset: &String| key::push_str(&mut prefix, asset));
                key::push_i64(&mut prefix, i64::from(class.class));
                let bound = |start_ms: i64| {
                    let mut bytes = prefix.clone();
                    key::push_i64(&mut bytes, start_ms);
                    bytes
                };
                let from = bound(class.start_from_ms.max(from_ms));
                let to = bound(class.start_to_ms.min(to_ms).saturating_add(1));
                if from < to {
                    let entries = view.index_entries(Utilization::KIND, index, &from, &to)?;
                    let (ready, ahead) = (VecDeque::new(), None);
                    walk.runs.push(Run {
                        entries,
                        skip: prefix.len(),
                        asset: asset.clone(),
                        ready,
                        ahead,
                    });
                    walk.advance(walk.runs.len() - 1)?;
                }
            }
        }
        Ok(walk)
    }

    /// Moves the next entry of a run to the heads.
    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(run) = self.runs.get_mut(number) else { return Ok(()) };
        if run.ready.is_empty() {
            self.entries_touched += run.read(self.descending, &self.after, self.only.as_ref())?;
        }
        if let Some((sort, record_key)) = run.ready.pop_front() {
            self.heads.insert((sort, Reverse(number)), record_key);
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Entry>> {
        let Some(((sort, Reverse(number)), record_key)) = self.heads.pop_first() else {
            return Ok(None);
        };
        self.advance(number)?;
        Ok(Some((sort, record_key)))
    }
}

impl Run<'_> {
    /// Reads the next entries and returns how many were read. Forward, one entry is enough.
    ///
    /// Backwards, the entries of one start are read in descending order of identifier and asset,
    /// but the query needs them ascending. So this reads all entries with that start and reverses
    /// them in `ready`; the first entry with another start goes to `ahead`. Without the complete
    /// group, a page could end inside of it and the next page would repeat or lose records.
    fn read(
        &mut self,
        descending: bool,
        after: &[u8],
        only: Option<&BTreeSet<String>>,
    ) -> Result<u64> {
        let mut entries_read = 0;
        self.ready.extend(self.ahead.take());
        if !descending && !self.ready.is_empty() {
            return Ok(entries_read);
        }
        let skip = self.skip;
        while let Some((entry, record_key)) = self
            .entries
            .visit(descending, |entry, key, _| (entry.get(skip..).map(<[u8]>::to_vec), key))?
        {
            entries_read += 1;
            let Some(mut entry) = entry else { continue };
            match &self.asset {
                Some(asset) => key::push_str(&mut entry, asset),
                None if only.is_some_and(|only| !names_one_of(&entry, only)) => continue,
                None => {}
            }
            let sort = sort_key(entry, descending);
            if !after.is_empty() && sort.as_slice() <= after {
                continue;
            }
            let start = |sort: &[u8]| key::split_i64(sort).map(|(start_ms, _)| start_ms);
            match self.ready.front() {
                None => self.ready.push_back((sort, record_key)),
                Some((first, _)) if start(first) == start(&sort) => {
                    self.ready.push_front((sort, record_key));
                }
                Some(_) => {
                    self.ahead = Some((sort, record_key));
                    break;
                }
            }
            if !descending {
                break;
            }
        }
        Ok(entries_read)
    }
}

/// Whether the asset at the end of a sort key is in `assets`.
fn names_one_of(sort: &[u8], assets: &BTreeSet<String>) -> bool {
    let asset = || {
        let (_, rest) = key::split_i64(sort)?;
        let (_, rest) = key::split_str(rest)?;
        key::split_str(rest).map(|(asset, _)| asset)
    };
    asset().is_some_and(|asset| assets.contains(&asset))
}
