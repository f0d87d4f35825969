//! The steps of a test result as a tree, with their measurements against limits.

use std::collections::{BTreeMap, BTreeSet};

use stationdb::prelude::*;
use stationdb::results::{NamedValue, QueryStepsRequest, Step, TestResultId};
use stationdb::{Error, ErrorKind, Result, Session};

use crate::html::{escaped, isolated, isolated_some, table};
use crate::number::{exact_or_none, grouped};
use crate::status::{badge, has_failed, parameter_badge, parameter_has_failed};

/// Steps that a page without a bound has: some hundred megabytes of the file.
const STEPS_FULL_MAX: usize = 1 << 18;
/// Steps that are held for a page with a bound, more than it has room for; and as many that failed
/// after these, and steps above them.
const STEPS_HELD: usize = 20_000;
/// Bytes of the texts of these steps: a step may have very many.
const BYTES_HELD: usize = 64 << 20;
const STEPS_OF_PAGE: i64 = 1_000;

/// The part of a page about steps, of about `bytes` of HTML at most; without a bound it has every step.
pub(crate) fn section(
    session: &Session,
    id: &TestResultId,
    bytes: Option<usize>,
) -> Result<String> {
    let bounds = match bytes {
        Some(_) => Bounds { held: STEPS_HELD, bytes: BYTES_HELD, most: usize::MAX },
        None => Bounds { held: STEPS_FULL_MAX, bytes: usize::MAX, most: STEPS_FULL_MAX },
    };
    Ok(of_steps(&steps_of(session, id, bounds)?, bytes))
}

/// How many steps are held, until they have so many bytes, and above how many the page is refused.
#[derive(Clone, Copy)]
struct Bounds {
    held: usize,
    bytes: usize,
    most: usize,
}

/// Steps in the order in which they began, and what is known of all.
struct Found {
    steps: Vec<Step>,
    total: usize,
    failed: usize,
}

/// Reads the steps of a result: the first ones, then those that failed, with the steps above them.
fn steps_of(session: &Session, id: &TestResultId, bounds: Bounds) -> Result<Found> {
    let mut found = Found { steps: Vec::new(), total: 0, failed: 0 };
    let mut bytes = 0;
    let mut token = None;
    loop {
        let mut request = QueryStepsRequest::new()
            .filter("resultId == @0")
            .substitutions([id.as_str()])
            .take(STEPS_OF_PAGE);
        request.continuation_token = token;
        let answer = session.query_steps(request)?;
        for step in answer.steps {
            let has_failed = has_failed(step.status.as_ref());
            let times = if has_failed { 2 } else { 1 };
            found.total += 1;
            found.failed += usize::from(has_failed);
            if found.steps.len() < bounds.held.saturating_mul(times)
                && bytes < bounds.bytes.saturating_mul(times)
            {
                bytes += bytes_of(&step);
                found.steps.push(step);
            }
        }
        if found.total > bounds.most {
            return Err(Error::limit(format!(
                "writing every step: the result has more than {} steps; do not ask for every one",
                grouped(bounds.most as u64)
            )));
        }
        token = answer.continuation_token;
        if token.is_none() {
            break;
        }
    }
    if found.steps.len() < found.total {
        add_those_above(session, id, &mut found.steps, bounds)?;
    }
    found.steps.sort_by_key(|step| step.started_at);
    Ok(found)
}

/// Bytes of a step and of its texts, about.
fn bytes_of(step: &Step) -> usize {
    const MEMBER_BYTES: usize = 64;
    let data = step.data.as_ref();
    let text = data.and_then(|data| data.text.as_ref()).map_or(0, String::len);
    let parameters = data.into_iter().flat_map(|data| data.parameters.iter().flatten());
    let members = parameters.flatten().map(|(key, text)| key.len() + text.len() + MEMBER_BYTES);
    let named = step.inputs.iter().chain(&step.outputs).flatten();
    let named = named.map(|value| match value.value.as_str() {
        Some(text) => value.name.len() + text.len() + MEMBER_BYTES,
        None => value.name.len() + value.value.to_string().len() + MEMBER_BYTES,
    });
    size_of::<Step>() + text + members.sum::<usize>() + named.sum::<usize>()
}

/// Adds the steps above those that failed, as far as the bounds go once more.
fn add_those_above(
    session: &Session,
    id: &TestResultId,
    steps: &mut Vec<Step>,
    bounds: Bounds,
) -> Result<()> {
    let held: BTreeSet<&str> = steps.iter().filter_map(|step| step.step_id.as_deref()).collect();
    let failed = steps.iter().filter(|step| has_failed(step.status.as_ref()));
    let mut missing = BTreeSet::new();
    for above in failed.flat_map(|step| step.path_ids.iter().flatten()) {
        if !held.contains(above.as_str()) && missing.len() < bounds.held {
            missing.insert(above.clone());
        }
    }
    let mut bytes = 0;
    for above in missing {
        if bytes >= bounds.bytes {
            break;
        }
        match session.get_step(id, &above) {
            Ok(step) => {
                bytes += bytes_of(&step);
                steps.push(step);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A step in its tree.
struct Node<'s> {
    step: &'s Step,
    /// The place of the step above among the nodes; that one is earlier.
    above: Option<usize>,
    has_steps: bool,
    has_failed: bool,
    /// Whether it or a step below it failed.
    has_failed_below: bool,
}

/// The steps, each one behind the one above.
fn tree(steps: &[Step]) -> Vec<Node<'_>> {
    let ids: BTreeSet<&str> = steps.iter().filter_map(|step| step.step_id.as_deref()).collect();
    let mut children: BTreeMap<Option<&str>, Vec<&Step>> = BTreeMap::new();
    for step in steps {
        // A step whose parent is not there begins a tree of its own.
        let parent = step.parent_id.as_deref().filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(step);
    }
    let mut nodes: Vec<Node<'_>> = Vec::with_capacity(steps.len());
    let first = children.remove(&None).unwrap_or_default();
    let mut next: Vec<(&Step, Option<usize>)> =
        first.into_iter().rev().map(|step| (step, None)).collect();
    while let Some((step, above)) = next.pop() {
        let at = nodes.len();
        let below = step.step_id.as_deref().and_then(|id| children.remove(&Some(id)));
        let below = below.unwrap_or_default();
        let has_failed = has_failed(step.status.as_ref());
        let has_steps = !below.is_empty();
        nodes.push(Node { step, above, has_steps, has_failed, has_failed_below: has_failed });
        next.extend(below.into_iter().rev().map(|step| (step, Some(at))));
    }
    for at in (0..nodes.len()).rev() {
        if let (true, Some(above)) = (nodes[at].has_failed_below, nodes[at].above) {
            nodes[above].has_failed_below = true;
        }
    }
    nodes
}

/// The HTML of each node that the page has, as far as `bytes` go: those that failed first, each with
/// the ones above it. One that takes more than half of what is left is cut to that, and none is added
/// when a sixteenth is left.
fn chosen(nodes: &[Node<'_>], bytes: usize) -> Vec<Option<String>> {
    let mut chosen = vec![None; nodes.len()];
    let failed = (0..nodes.len()).filter(|&at| nodes[at].has_failed);
    let mut left = bytes;
    for at in failed.chain(0..nodes.len()) {
        if left <= bytes / 16 {
            break;
        }
        let mut way = Some(at).filter(|&at| chosen[at].is_none());
        while let Some(at) = way {
            let whole = begin(&nodes[at], usize::MAX);
            let html = if whole.len() <= left / 2 { whole } else { begin(&nodes[at], left / 2) };
            left = left.saturating_sub(html.len() + END.len());
            chosen[at] = Some(html);
            way = nodes[at].above.filter(|&above| chosen[above].is_none());
        }
    }
    chosen
}

/// The tree of the steps, as far as `bytes` of HTML go.
fn of_steps(found: &Found, bytes: Option<usize>) -> String {
    let mut out = String::from("<section><h2>Steps</h2>\n");
    if found.total == 0 {
        return out + "<p>There are no steps.</p></section>\n";
    }
    let nodes = tree(&found.steps);
    let mut chosen = bytes.map(|bytes| chosen(&nodes, bytes));
    let (mut shown, mut shown_failed) = (0, 0);
    let mut open: Vec<usize> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let html = match &mut chosen {
            Some(chosen) => chosen[at].take(),
            None => Some(begin(node, usize::MAX)),
        };
        let Some(html) = html else { continue };
        while open.last().is_some_and(|&last| Some(last) != node.above) {
            open.pop();
            out.push_str(END);
        }
        open.push(at);
        out.push_str(&html);
        shown += 1;
        shown_failed += usize::from(node.has_failed);
    }
    out.extend(open.iter().map(|_| END));
    if shown < found.total {
        out.push_str(&left_out(found, shown, shown_failed));
    }
    out + "</section>\n"
}

/// How many steps the page does not have.
fn left_out(found: &Found, shown: usize, shown_failed: usize) -> String {
    let failed = of_these_failed(found.failed.saturating_sub(shown_failed));
    let whole = if found.total <= STEPS_FULL_MAX {
        " <code>report run --full</code> writes them all."
    } else {
        ""
    };
    format!(
        "<p class=\"text\">{} of {} steps are not in this page, so that it stays short. \
         {failed}{whole}</p>\n",
        grouped(found.total.saturating_sub(shown) as u64),
        grouped(found.total as u64)
    )
}

/// How many of what the page does not have failed.
fn of_these_failed(count: usize) -> String {
    match count {
        0 => "None of these failed.".to_owned(),
        1 => "One of these failed.".to_owned(),
        count => format!("{} of these failed.", grouped(count as u64)),
    }
}

const END: &str = "</details>\n";

/// A step up to those below it, with what it says in about `room` bytes. One whose steps all passed is
/// folded by the script, so that paper and browsers without scripts have all of it.
fn begin(node: &Node<'_>, room: usize) -> String {
    let step = node.step;
    let folded = if node.has_steps && !node.has_failed_below { " data-folded" } else { "" };
    let kind = isolated_some(step.step_type.as_deref());
    let time = step.total_time_in_seconds.filter(|seconds| *seconds > 0.0);
    let time = time.map_or_else(String::new, |s| format!(" {} s", exact_or_none(Some(s))));
    format!(
        "<details class=\"step\" open{folded}><summary>{} {} <span class=\"note\">{kind}{time}\
         </span></summary>\n{}",
        badge(step.status.as_ref()),
        isolated_some(step.name.as_deref()),
        of_step(step, room)
    )
}

/// What a step says: its text, its measurements, and what went in and came out.
fn of_step(step: &Step, mut room: usize) -> String {
    let mut out = String::new();
    let data = step.data.as_ref();
    if let Some(text) = data.and_then(|data| data.text.as_deref()).filter(|text| !text.is_empty()) {
        let text = isolated(text);
        if text.len() <= room {
            room -= text.len();
            out.push_str(&format!("<p class=\"text\">{text}</p>"));
        } else {
            out.push_str("<p class=\"text\">The text of the step is not in this page.</p>");
        }
    }
    let parameters = data.and_then(|data| data.parameters.as_deref()).unwrap_or_default();
    let head =
        ["Measurement", "Value", "Unit", "Low", "High", "Compared", "Status", "Place", "Other"];
    let is_failed = |parameter: &BTreeMap<String, String>| {
        parameter_has_failed(parameter.get("status").map(String::as_str))
    };
    let (row, title) = (measurement_row, "Measurements");
    out.push_str(&table_in(&mut room, title, &head, parameters, row, is_failed));
    for (name, values) in [("Inputs", &step.inputs), ("Outputs", &step.outputs)] {
        let values = values.as_deref().unwrap_or_default();
        let row =
            |value: &NamedValue| vec![isolated(&value.name), isolated(&value.value.to_string())];
        out.push_str(&table_in(&mut room, name, &["Name", "Value"], values, row, |_| false));
    }
    out
}

/// A table of items in their order, as many as there is room for: those that failed, and then the first
/// others. Nothing if there is no item.
fn table_in<T>(
    room: &mut usize,
    caption: &str,
    head: &[&str],
    items: &[T],
    row: impl Fn(&T) -> Vec<String>,
    is_failed: impl Fn(&T) -> bool,
) -> String {
    const CELL_BYTES: usize = "<td></td>".len();
    let (failed, others): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|&at| is_failed(&items[at]));
    let mut rows = BTreeMap::new();
    for &at in failed.iter().chain(&others) {
        let row = row(&items[at]);
        let bytes: usize = row.iter().map(|cell| cell.len() + CELL_BYTES).sum();
        if bytes > *room {
            break;
        }
        *room -= bytes;
        rows.insert(at, row);
    }
    let left = items.len() - rows.len();
    let left_failed = failed.iter().filter(|at| !rows.contains_key(at)).count();
    let rows: Vec<Vec<String>> = rows.into_values().collect();
    let mut out = String::new();
    if !rows.is_empty() {
        out.push_str(&table(caption, head, &rows));
    }
    if left > 0 {
        *room = 0;
        let failed = match left_failed {
            0 => String::new(),
            count => format!(" {}", of_these_failed(count)),
        };
        out.push_str(&format!(
            "<p class=\"text\">{caption}: {} of {} are not in this page, so that it stays short.\
             {failed} <code>report run --full</code> writes them all.</p>",
            grouped(left as u64),
            grouped(items.len() as u64)
        ));
    }
    out
}

fn measurement_row(parameter: &BTreeMap<String, String>) -> Vec<String> {
    const SHOWN: [&str; 7] =
        ["name", "measurement", "units", "lowLimit", "highLimit", "comparisonType", "status"];
    let text = |key: &str| parameter.get(key).map(String::as_str);
    let mut row: Vec<String> = SHOWN[..6].iter().map(|key| isolated_some(text(key))).collect();
    row.push(parameter_badge(text("status")));
    let number = |key: &str| text(key)?.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    let limits = number("lowLimit").zip(number("highLimit"));
    row.push(gauge(number("measurement"), limits, text("comparisonType")));
    let others = parameter.iter().filter(|(key, _)| !SHOWN.contains(&key.as_str()));
    let others = others.map(|(key, value)| format!("{} = {}", isolated(key), isolated(value)));
    row.push(others.collect::<Vec<_>>().join("<br>"));
    row
}

/// Where a value is between its limits. Nothing for a comparison that does not ask for a value
/// between two limits.
fn gauge(value: Option<f64>, limits: Option<(f64, f64)>, comparison: Option<&str>) -> String {
    let (Some(value), Some((low, high))) = (value, limits) else { return String::new() };
    let (is_low_inside, is_high_inside) = match comparison.unwrap_or_default() {
        "GTLT" => (false, false),
        "GTLE" => (false, true),
        "GELT" => (true, false),
        "GE" | "GT" | "LE" | "LT" | "EQ" | "NE" | "LTGT" | "LEGE" | "LEGT" | "LTGE" | "LOG" => {
            return String::new();
        }
        _ => (true, true),
    };
    if low >= high {
        return String::new();
    }
    // The limits are at a quarter and at three quarters of the width; halves keep spans finite.
    let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    let at = (30.0 + part * 60.0).clamp(3.0, 117.0);
    let is_inside = (value > low || is_low_inside && value == low)
        && (value < high || is_high_inside && value == high);
    let class = if is_inside { "good" } else { "bad" };
    let text = format!("{:.1} % of the way from the low to the high limit", part * 100.0);
    format!(
        "<svg class=\"gauge\" viewBox=\"0 0 120 14\" width=\"120\" height=\"14\" role=\"img\" \
         aria-label=\"{}\"><path class=\"grid\" d=\"M0 7H120\"/>\
         <path class=\"limit\" d=\"M30 1V13M90 1V13\"/><circle class=\"{class}\" cx=\"{at:.1}\" \
         cy=\"7\" r=\"3\"/></svg>",
        escaped(&text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    use stationdb::results::{CreateResultRequest, CreateStepRequest, StatusType};
    use stationdb::{Identity, Store};

    /// A page holds the first steps, those that failed, and the ones above these.
    #[test]
    fn what_failed_is_held_beside_the_first_steps() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path()).unwrap();
        let session = store.session(Identity::user("ada"));
        let request = CreateResultRequest::new().program_name("p").status(StatusType::Failed);
        let made = session.create_results(vec![request]).unwrap().into_result().unwrap();
        let id = made.results[0].id.clone().unwrap();
        let step = |name: &str, parent: Option<&str>, status: StatusType| {
            let mut step = CreateStepRequest::new().step_id(name).name(name).status(status);
            step.result_id = Some(id.to_string());
            step.parent_id = parent.map(str::to_owned);
            step
        };
        let steps = vec![
            step("a", None, StatusType::Passed),
            step("b", None, StatusType::Passed),
            step("c", None, StatusType::Passed),
            step("d", Some("c"), StatusType::Passed),
            step("e", Some("d"), StatusType::Failed),
            step("f", Some("d"), StatusType::Passed),
            step("g", None, StatusType::Errored),
        ];
        session.create_steps(steps, false).unwrap().require_all().unwrap();
        let bounded = |held, bytes, most| steps_of(&session, &id, Bounds { held, bytes, most });
        let found = |held, most| bounded(held, usize::MAX, most);
        let names = |found: &Found| {
            let names = found.steps.iter().map(|step| step.name.clone().unwrap());
            names.collect::<BTreeSet<_>>().into_iter().collect::<String>()
        };
        for (held, expected) in [(2, "abcdeg"), (3, "abcdeg"), (7, "abcdefg")] {
            let found = found(held, usize::MAX).unwrap();
            assert_eq!((found.total, found.failed), (7, 2));
            assert_eq!(names(&found), expected, "{held}");
        }
        // The first step fills the bytes; those that failed have as many once more.
        let one = bytes_of(&found(7, usize::MAX).unwrap().steps[0]);
        for (bytes, expected) in [(one, "ace"), (3 * one, "abcdeg"), (usize::MAX, "abcdefg")] {
            let found = bounded(7, bytes, usize::MAX).unwrap();
            assert_eq!((found.total, names(&found).as_str()), (7, expected), "{bytes}");
        }
        assert!(found(7, 7).is_ok());
        let error = found(6, 6).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
        assert!(error.message().contains("more than 6 steps"), "{error}");
    }

    #[test]
    fn a_gauge_is_good_where_the_comparison_is() {
        let class = |value: f64, comparison: Option<&str>| {
            let drawn = gauge(Some(value), Some((1.0, 2.0)), comparison);
            ["good", "bad"].into_iter().find(|class| drawn.contains(&format!("\"{class}\"")))
        };
        for (comparison, low, high) in [
            (None, "good", "good"),
            (Some("GELE"), "good", "good"),
            (Some("EQT"), "good", "good"),
            (Some("GTLT"), "bad", "bad"),
            (Some("GTLE"), "bad", "good"),
            (Some("GELT"), "good", "bad"),
        ] {
            assert_eq!(class(1.0, comparison), Some(low), "{comparison:?}");
            assert_eq!(class(2.0, comparison), Some(high), "{comparison:?}");
            assert_eq!(class(1.5, comparison), Some("good"), "{comparison:?}");
            // So near that the drawn place is that of the limit.
            assert_eq!(class(2.0_f64.next_up(), comparison), Some("bad"), "{comparison:?}");
            assert_eq!(class(1.0_f64.next_down(), comparison), Some("bad"), "{comparison:?}");
        }
        for outside in ["LTGT", "LEGE", "LOG", "EQ", "GE"] {
            assert_eq!(class(1.5, Some(outside)), None, "{outside}");
        }
        assert_eq!(gauge(Some(1.0), Some((2.0, 2.0)), None), "");
        assert_eq!(gauge(Some(1.0), None, None), "");
    }
}
