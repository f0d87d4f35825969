//! The values of one measurement in a store, and the figures of them.
//!
//! Sealed rows are selected by the name of the measurement, and only the columns that a figure
//! needs are read. Steps are decoded only for a filter of steps, and for the order of steps in
//! results with values of several steps.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::capability::capability as capability_of;
use super::control_chart::{ChartForm, control_chart as chart_of};
use super::gage::GageValues;
use super::histogram::{WantedBins, histogram as histogram_of};
use super::limits::Limits;
use super::selected::{Participants, check_memory, id_of};
use super::series::{Measured, Place, Series, Values};
use super::tree::{Node, parents, step_order};
use crate::arrow::array::{Array as _, Int64Array, StringArray};
use crate::columnar::{MergedScan, Predicates};
use crate::error::{Error, Result};
use crate::filter::{Shape, check_substitutions};
use crate::model::TestResult;
use crate::model::results::StatusType;
use crate::model::results::figure_requests::{
    CapabilityRequest, ControlChartRequest, GageRequest, HistogramRequest, SeriesSelection,
};
use crate::model::results::figures::{
    Capability, ChartPoint, ChartType, ControlChart, GageStudy, Histogram, WithinMethod,
};
use crate::model::steps::rows::StepColumn;
use crate::model::steps::stored::{StoredStep, generated_id, is_additional, result_key};
use crate::model::tables::store_table::STEPS;
use crate::services::queries::take_or;
use crate::services::results::steps::{
    Arrays, ChunkTest, Selection, StepFilter, Workspaces, damaged, each_step, equals, members,
    number_of, text,
};
use crate::session::View;
use crate::session::tables::{all_chunks, sealed};
use crate::session::token::{self, Fingerprint};
use crate::value::limits::RESULTS_TAKE;
use crate::value::stored;
use crate::value::{Control, IdForm, RecordKey, time};

const DEFAULT_TAKE: usize = 1000;
/// Values between two checks of the memory.
const BETWEEN_CHECKS: usize = 4096;

/// The step of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct StepPlace {
    /// The place in the step order of the result; 0 where the order is not needed.
    rank: u32,
    /// The id that a caller chose, as its number from 1; 0 for a generated one.
    id: u32,
    /// The number of the step in its result.
    seq: u64,
}

/// What a figure needs in addition to the values.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    /// Whose values they are.
    results: bool,
    order: bool,
    limits: bool,
    ids: bool,
}

/// Texts by their numbers.
#[derive(Debug, Default)]
struct Ids {
    numbers: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    bytes: usize,
}

impl Ids {
    fn number(&mut self, id: Option<&str>) -> u32 {
        let Some(id) = id else { return 0 };
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let text: Arc<str> = id.into();
        self.bytes += text.len() + 64;
        self.texts.push(text.clone());
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.numbers.insert(text, number);
        number
    }

    fn text(&self, number: u32) -> Option<&str> {
        self.texts.get((number as usize).checked_sub(1)?).map(|text| &**text)
    }
}

/// Takes the measurements of a store.
struct Reader<'v, 's, 'r> {
    view: &'v View<'s>,
    selection: &'r SeriesSelection<'r>,
    needs: Needs,
    control: Control,
    participants: Participants,
    series: Series<StepPlace>,
    ids: Ids,
    count: usize,
    /// The texts of the limits before, and the limits.
    limits: (Option<String>, Option<String>, Option<String>, Limits),
}

/// The values of a request, and the chosen ids of their steps.
fn values(
    view: &View<'_>,
    selection: &SeriesSelection<'_>,
    needs: Needs,
    control: &Control,
) -> Result<(Values<StepPlace>, Ids)> {
    let has_limits = selection.low_limit.is_some() || selection.high_limit.is_some();
    let series = Series::of_request(selection)?;
    let filter = selection.step_filter.filter(|filter| !filter.trim().is_empty());
    let substitutions = selection.step_substitutions.unwrap_or_default();
    check_substitutions(substitutions).map_err(|error| error.at_member("stepSubstitutions"))?;
    let filter = StepFilter::new(view, filter, substitutions)
        .map_err(|error| error.at_member("stepFilter"))?;
    let needs = Needs { limits: needs.limits && !has_limits, ..needs };
    let mut reader = Reader {
        view,
        selection,
        needs,
        control: view.context().control(control),
        participants: if needs.results {
            Participants::ordered(view, &selection.results, selection.pass, control)?
        } else {
            Participants::unordered(view, &selection.results, selection.pass, control)?
        },
        series: series.keeping(needs.results, needs.limits),
        ids: Ids::default(),
        count: 0,
        limits: Default::default(),
    };
    if !reader.participants.is_empty() {
        if filter.is_empty() {
            reader.read_sealed()?;
            reader.read_chunks()?;
        } else {
            reader.read_filtered(&filter)?;
        }
        if needs.order {
            reader.order_steps()?;
        }
    }
    let Reader { series, ids, .. } = reader;
    Ok((series.finish()?, ids))
}

/// The number of the text of a limit; NaN, which is no limit, for a text that is no number.
fn limit_of(text: &str) -> f64 {
    number_of(text).unwrap_or(f64::NAN)
}

/// The columns that tell whose a measurement is.
struct Places<'b> {
    result: &'b Int64Array,
    result_rest: &'b Int64Array,
    seq: &'b Int64Array,
    position: &'b Int64Array,
}

impl<'b> Places<'b> {
    fn of(arrays: &Arrays<'b>) -> Result<Self> {
        Ok(Self {
            result: arrays.ints(StepColumn::Result)?,
            result_rest: arrays.ints(StepColumn::ResultRest)?,
            seq: arrays.ints(StepColumn::Seq)?,
            position: arrays.ints(StepColumn::Position)?,
        })
    }

    /// The result of a row, and the number of its step.
    fn step(&self, row: usize) -> Result<(RecordKey, u64)> {
        let key = result_key(self.result.value(row), self.result_rest.value(row));
        Ok((key.ok_or_else(damaged)?, self.seq.value(row).cast_unsigned()))
    }
}

impl Reader<'_, '_, '_> {
    /// The limits of texts, which are mostly those of the value before.
    fn limits_of(
        &mut self,
        comparison: Option<&str>,
        low: Option<&str>,
        high: Option<&str>,
    ) -> Limits {
        if !self.needs.limits {
            return Limits::default();
        }
        let (known, known_low, known_high, limits) = &self.limits;
        let is_same = known.as_deref() == comparison
            && known_low.as_deref() == low
            && known_high.as_deref() == high;
        if is_same {
            return *limits;
        }
        let limits = Limits::of_comparison(comparison, low.map(limit_of), high.map(limit_of));
        let owned = |text: Option<&str>| text.map(str::to_owned);
        self.limits = (owned(comparison), owned(low), owned(high), limits);
        limits
    }

    /// The tests of the steps that the request names.
    fn step_tests(&self) -> Vec<Shape> {
        let path = self.selection.path.map(|path| equals(StepColumn::Path, path));
        let name = self.selection.step_name.map(|name| equals(StepColumn::Name, name));
        path.into_iter().chain(name).collect()
    }

    fn add(&mut self, measured: &Measured<'_, StepPlace>) -> Result<()> {
        self.series.add(measured)?;
        self.count += 1;
        if self.count.is_multiple_of(BETWEEN_CHECKS) {
            self.control.check()?;
            let bytes = self.series.bytes() + self.participants.bytes() + self.ids.bytes;
            check_memory(self.view, bytes, "the values of the measurement")?;
        }
        Ok(())
    }

    /// Reads the columns of sealed rows.
    fn read_sealed(&mut self) -> Result<()> {
        use StepColumn as Of;
        let Some(table) = sealed(self.view, &STEPS)? else { return Ok(()) };
        let mut shapes = vec![equals(Of::Measurement, self.selection.name)];
        shapes.extend(self.step_tests());
        let predicates = Predicates::default().with_filter(&table.schema, Shape::All(shapes))?;
        let mut columns = vec![Of::Value, Of::ValueText, Of::Units, Of::StatusType, Of::Extra];
        // Where all values count, a figure that needs no order takes them as they come.
        let reads_results = matches!(self.participants, Participants::Of(_));
        if reads_results {
            columns.extend([Of::Result, Of::ResultRest, Of::Seq, Of::Position]);
        }
        if !self.selection.takes_any_path() {
            columns.push(Of::Path);
        }
        if self.needs.limits {
            columns.extend([Of::LowLimit, Of::HighLimit, Of::Comparison]);
        }
        if self.needs.ids {
            columns.push(Of::StepId);
        }
        let places = columns.iter().map(|column| *column as usize).collect();
        let control = self.control.clone();
        let scan = MergedScan::new(table, Arc::new(predicates), places, None, control)?;
        // All rows are wanted.
        let mut scan = scan.expecting(usize::MAX);
        while let Some(chunk) = scan.next_chunk()? {
            let arrays = Arrays::new(chunk.batch.columns(), &columns);
            let places = reads_results.then(|| Places::of(&arrays)).transpose()?;
            let value = arrays.numbers(Of::Value)?;
            let texts = |column| {
                let some = |texts: &&StringArray| texts.null_count() < texts.len();
                arrays.texts(column).map(|texts| texts.filter(some))
            };
            let [value_text, units, status, extra, path, low, high, comparison, id] = [
                texts(Of::ValueText)?,
                texts(Of::Units)?,
                texts(Of::StatusType)?,
                texts(Of::Extra)?,
                texts(Of::Path)?,
                texts(Of::LowLimit)?,
                texts(Of::HighLimit)?,
                texts(Of::Comparison)?,
                texts(Of::StepId)?,
            ];
            for row in 0..chunk.batch.num_rows() {
                let number = (!value.is_null(row)).then(|| value.value(row));
                if number.is_none() && text(value_text, row).is_none() {
                    continue;
                }
                if text(extra, row).is_some_and(is_additional) {
                    continue;
                }
                let mut at = Place::default();
                if let Some(places) = &places {
                    let (key, seq) = places.step(row)?;
                    let Some(started_at_ms) = self.participants.start_of(key) else { continue };
                    at = Place {
                        started_at_ms,
                        result_id: id_of(key),
                        step: StepPlace { seq, ..StepPlace::default() },
                        position: u32::try_from(places.position.value(row))
                            .map_err(|_| damaged())?,
                    };
                }
                let limits = self.limits_of(text(comparison, row), text(low, row), text(high, row));
                if self.needs.ids {
                    at.step.id = self.ids.number(text(id, row));
                }
                self.add(&Measured {
                    value: number,
                    units: text(units, row),
                    path: text(path, row).unwrap_or_default(),
                    limits,
                    is_skipped: text(status, row) == Some(StatusType::Skipped.as_str()),
                    at,
                })?;
            }
        }
        Ok(())
    }

    /// Reads the steps that are not sealed yet.
    fn read_chunks(&mut self) -> Result<()> {
        let needed = members(&["seq", "stepId", "name", "statusType", "data", "path"]);
        let test = ChunkTest::new(&self.step_tests()).with_measurement(self.selection.name);
        let mut step = StoredStep::default();
        for chunk in all_chunks(self.view, &STEPS, None)? {
            self.control.check()?;
            let (result, chunk) = chunk?;
            if self.participants.start_of(result).is_none() {
                continue;
            }
            test.each(&chunk, &mut |_, stored| {
                stored::fill(&mut step, stored, needed)?;
                self.add_step(result, &step)?;
                Ok(true)
            })?;
        }
        Ok(())
    }

    /// Reads the steps that match a filter.
    fn read_filtered(&mut self, filter: &StepFilter) -> Result<()> {
        let (mut shapes, _) = filter.shapes();
        shapes.extend(self.step_tests());
        let view = self.view;
        let mut workspaces = Workspaces::new(view);
        let control = self.control.clone();
        each_step(view, &Selection::All, shapes, None, &control, &mut |result, step| {
            self.control.check()?;
            if self.participants.start_of(result).is_none() {
                return Ok(true);
            }
            let workspace = workspaces.read_by(filter, result)?;
            if filter
                .matches(view, result, workspace, &step)
                .map_err(|error| error.at_member("stepFilter"))?
            {
                self.add_step(result, &step)?;
            }
            Ok(true)
        })
    }

    /// Adds the measurements of a step.
    fn add_step(&mut self, result: RecordKey, step: &StoredStep) -> Result<()> {
        let is_other = |wanted: Option<&str>, text: &str| wanted.is_some_and(|one| one != text);
        if is_other(self.selection.path, &step.path)
            || is_other(self.selection.step_name, &step.name)
        {
            return Ok(());
        }
        let Some(started_at_ms) = self.participants.start_of(result) else { return Ok(()) };
        let is_skipped = step.status_type.as_deref() == Some(StatusType::Skipped.as_str());
        for (position, parameter) in (0..).zip(step.parameters()) {
            let is_named = parameter.name.as_deref() == Some(self.selection.name);
            if !is_named || !parameter.is_measurement() {
                continue;
            }
            let limits = self.limits_of(
                parameter.comparison.as_deref(),
                parameter.low_limit.as_deref(),
                parameter.high_limit.as_deref(),
            );
            let id = if self.needs.ids { self.ids.number(step.step_id.as_deref()) } else { 0 };
            self.add(&Measured {
                value: parameter.value,
                units: parameter.units.as_deref(),
                path: &step.path,
                limits,
                is_skipped,
                at: Place {
                    started_at_ms,
                    result_id: id_of(result),
                    step: StepPlace { rank: 0, id, seq: step.seq },
                    position,
                },
            })?;
        }
        Ok(())
    }

    /// Puts the values of results with several steps in step order.
    fn order_steps(&mut self) -> Result<()> {
        let mut results: BTreeSet<RecordKey> = BTreeSet::new();
        let mut last: Option<Place<StepPlace>> = None;
        for at in self.series.sorted_places() {
            if let Some(last) = last
                && last.result_id == at.result_id
                && last.step.seq != at.step.seq
            {
                results.extend(RecordKey::from_bytes(IdForm::Guid, &at.result_id));
            }
            last = Some(at);
        }
        if results.is_empty() {
            return Ok(());
        }
        let mut ranks: HashMap<([u8; 16], u64), u32> = HashMap::new();
        let mut open: Option<(RecordKey, Vec<Node>)> = None;
        let mut bytes = 0;
        let (view, control) = (self.view, self.control.clone());
        let mut end = |open: Option<(RecordKey, Vec<Node>)>| {
            let Some((result, nodes)) = open else { return };
            let order = step_order(&nodes, &parents(&nodes));
            for (rank, at) in (0..).zip(order) {
                if let Some(node) = nodes.get(at) {
                    ranks.insert((id_of(result), node.seq), rank);
                }
            }
        };
        each_step(
            view,
            &Selection::Of(results),
            Vec::new(),
            None,
            &control,
            &mut |result, step| {
                control.check()?;
                if open.as_ref().is_none_or(|(known, _)| *known != result) {
                    end(open.replace((result, Vec::new())));
                }
                if let Some((_, nodes)) = &mut open {
                    let node = Node::new(result, &step);
                    bytes += node.bytes();
                    check_memory(view, bytes, "the steps of the results")?;
                    nodes.push(node);
                }
                Ok(true)
            },
        )?;
        end(open);
        self.series.place_steps(|at| {
            if let Some(rank) = ranks.get(&(at.result_id, at.step.seq)) {
                at.step.rank = *rank;
            }
        });
        Ok(())
    }
}

/// The capability of the values of a request.
///
/// # Errors
/// `InvalidArgument` for a faulty request, and for values of several units or paths;
/// `LimitExceeded` for values of too much memory; those of the control.
pub(in crate::services::results) fn capability(
    view: &View<'_>,
    request: &CapabilityRequest,
    control: &Control,
) -> Result<Capability> {
    let method = request.within_method.unwrap_or(WithinMethod::MovingRange);
    super::capability::CapabilityValues::new(method, request.subgroup_size)?;
    let needs = Needs { results: true, order: true, limits: true, ids: false };
    let (values, _) = values(view, &request.series(), needs, control)?;
    capability_of(&values, method, request.subgroup_size)
}

/// The histogram of the values of a request.
///
/// # Errors
/// As [`capability`].
pub(in crate::services::results) fn histogram(
    view: &View<'_>,
    request: &HistogramRequest,
    control: &Control,
) -> Result<Histogram> {
    let wanted = WantedBins::new(request.bins, request.lower, request.upper)?;
    let (values, _) = values(view, &request.series(), Needs::default(), control)?;
    Ok(histogram_of(&values, &wanted))
}

/// A page of the control chart of the values of a request.
///
/// # Errors
/// As [`capability`], and `InvalidArgument` for a token of another chart.
pub(in crate::services::results) fn control_chart(
    view: &View<'_>,
    request: &ControlChartRequest,
    control: &Control,
) -> Result<ControlChart> {
    let form =
        ChartForm::new(request.chart.unwrap_or(ChartType::Individuals), request.subgroup_size)?;
    super::control_chart::ChartLimits::new(form, request.baseline_count)?;
    let take = take_or(DEFAULT_TAKE, request.take);
    if take > RESULTS_TAKE {
        return Err(Error::limit(format!(
            "a page has at most {RESULTS_TAKE} points; take fewer, and go on with the token"
        ))
        .at_member("take"));
    }
    let bound = ControlChartRequest { take: None, continuation_token: None, ..request.clone() };
    let bound = serde_json::to_vec(&bound).unwrap_or_default();
    let fingerprint = Fingerprint::new("control chart").with(&bound);
    let token_key = view.context().engine.token_key;
    let malformed =
        || Error::invalid("the continuation token is malformed").at_member("continuationToken");
    let first = match token::open(&token_key, &fingerprint, request.continuation_token.as_deref())?
    {
        None => 0,
        Some(bytes) => {
            let bytes = <[u8; 8]>::try_from(&*bytes).map_err(|_| malformed())?;
            usize::try_from(u64::from_be_bytes(bytes)).map_err(|_| malformed())?
        }
    };
    let needs = Needs { results: true, order: true, limits: false, ids: true };
    let (values, ids) = values(view, &request.series(), needs, control)?;
    let (mut chart, mut points) =
        chart_of(&values, form, request.baseline_count, first, take.saturating_add(1))?;
    if points.len() > take {
        points.truncate(take);
        if take > 0 {
            let next = (first.saturating_add(take) as u64).to_be_bytes();
            chart.continuation_token = Some(token::seal(&token_key, &fingerprint, &next)?);
        }
    }
    let point = |figures: super::control_chart::PointFigures| {
        let at = values.places.get(form.first_value(figures.index))?;
        let result = RecordKey::from_bytes(IdForm::Guid, &at.result_id)?;
        let chosen = ids.text(at.step.id).map(str::to_owned);
        Some(ChartPoint {
            index: figures.index as i64,
            value: figures.value,
            range: figures.range,
            started_at: time::from_millis(at.started_at_ms),
            result_id: result.to_id(IdForm::Guid),
            step_id: chosen.unwrap_or_else(|| generated_id(result, at.step.seq)),
            rules: figures.rules,
            range_rules: figures.range_rules,
        })
    };
    chart.points = points.into_iter().filter_map(point).collect();
    Ok(chart)
}

/// The gage study of the values of a request.
///
/// # Errors
/// As [`capability`], and `InvalidArgument` for a study that is not crossed and balanced.
pub(in crate::services::results) fn gage(
    view: &View<'_>,
    request: &GageRequest,
    control: &Control,
) -> Result<GageStudy> {
    let (values, _) =
        values(view, &request.series(), Needs { results: true, ..Needs::default() }, control)?;
    let control = view.context().control(control);
    let mut study = GageValues::default();
    let mut last: Option<([u8; 16], TestResult)> = None;
    for (at, number) in values.places.iter().zip(values.numbers()) {
        let id = at.result_id;
        if last.as_ref().is_none_or(|(known, _)| *known != id) {
            control.check()?;
            let key = RecordKey::from_bytes(IdForm::Guid, &id).ok_or_else(damaged)?;
            last = Some((id, view.any_by_key::<TestResult>(key)?.ok_or_else(damaged)?));
        }
        let Some((_, result)) = &last else { continue };
        study.add(result.serial_number.as_deref(), result.operator.as_deref(), number)?;
    }
    Ok(GageStudy { not_numbers: values.not_numbers, skipped: values.skipped, ..study.finish()? })
}
