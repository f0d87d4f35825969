//! `ls`, `show` and `search`.

use std::io::{self, Write as _};

use stationdb::search::SearchRequest;
use stationdb::serde_json::{Value, json};

use super::paths::JOINT;
use super::tree;
use crate::args::Ls;
use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::kinds::{self, RecordsQuery};
use crate::output::{Output, printable};
use crate::pager::paged;

pub fn ls(desk: &Desk, output: Output, ls: &Ls) -> Outcome {
    let kind = kinds::kind(&ls.kind)?;
    if ls.product.is_some() && kind.name != "specifications" {
        return Err(Failure::usage("--product is for specifications"));
    }
    let ask = RecordsQuery {
        filter: ls.filter.clone(),
        order: ls.order.clone(),
        descending: ls.desc,
        take: ls.take,
        product: ls.product.clone(),
    };
    let session = desk.session();
    let is_chosen = !ls.columns.is_empty();
    kind.check_columns(&ls.columns)?;
    let columns = if is_chosen {
        ls.columns.clone()
    } else {
        kind.columns.iter().map(|&name| name.to_owned()).collect()
    };
    // A wrong filter is told before the pager starts.
    let mut records = kind.list(&session, &ask)?.map(|record| record.map_err(Failure::from));
    let first = records.next().transpose()?;
    if let (None, Some(hint)) = (&first, ls.filter.as_deref().and_then(of_shown_path)) {
        let _ = writeln!(io::stderr(), "stationdb: nothing matches; {hint}");
    }
    let mut records = watched(&desk.interrupt, first.map(Ok).into_iter().chain(records));
    paged(output, &desk.interrupt, |out| output.records(out, &columns, is_chosen, &mut records))
}

/// What to do about a filter of a path as figures show it. Names may have such signs, so the filter
/// is no wrong one.
fn of_shown_path(filter: &str) -> Option<String> {
    let is_path = filter.to_lowercase().contains("path") && filter.contains(JOINT);
    is_path.then(|| {
        let joined = filter.replace(JOINT, "\\n");
        format!("the names of a path have \\n between them in a filter: {}", printable(&joined))
    })
}

/// The records until Ctrl-C is pressed.
pub fn watched<'r>(
    interrupt: &'r Interrupt,
    records: impl Iterator<Item = Outcome<Value>> + 'r,
) -> impl Iterator<Item = Outcome<Value>> + 'r {
    interrupt.watch();
    records.map(move |record| {
        interrupt.check()?;
        record
    })
}

pub fn show(desk: &Desk, output: Output, id: &str, kind: Option<&str>) -> Outcome {
    let session = desk.session();
    let record = match kinds::find(&session, id, kind) {
        Ok((kind, record)) if kind.name == "results" => {
            return tree::show(desk, output, &session, record);
        }
        Ok((_, record)) => record,
        Err(failure) if failure.code == Code::NotFound && kind.is_none() => {
            // The name of a table, perhaps.
            match kinds::metadata(&session, id) {
                Ok(table) => stationdb::serde_json::to_value(table).unwrap_or_default(),
                Err(error) => match Failure::from(error) {
                    Failure { code: Code::NotFound, .. } => return Err(failure),
                    other => return Err(other),
                },
            }
        }
        Err(failure) => return Err(failure),
    };
    paged(output, &desk.interrupt, |out| output.object(out, &record))
}

pub fn search(
    desk: &Desk,
    output: Output,
    words: &[String],
    wanted: &[String],
    take: usize,
) -> Outcome {
    let session = desk.session();
    let mut request = SearchRequest::new().text(words.join(" "));
    for name in wanted {
        request.kinds.push(kinds::kind(name)?.event.to_owned());
    }
    request.take = Some(i64::try_from(take.min(1000)).unwrap_or(1000));
    let columns = ["kind", "id", "name", "workspace", "score"].map(str::to_owned);
    let mut hits = session.hits(request).take(take).map(|hit| {
        let hit = hit.map_err(Failure::from)?;
        Ok(json!({
            "kind": hit.kind, "id": hit.id, "name": hit.name, "workspace": hit.workspace,
            "score": (hit.score * 1000.0).round() / 1000.0,
        }))
    });
    let first = hits.next().transpose()?;
    let mut hits = watched(&desk.interrupt, first.map(Ok).into_iter().chain(hits));
    paged(output, &desk.interrupt, |out| output.records(out, &columns, false, &mut hits))
}
