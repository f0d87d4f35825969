//! `changes`.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use stationdb::serde_json::{Value, to_value};
use stationdb::{ChangeEvent, ErrorKind, Identity, Position, Result, Session, Store};

use super::list::watched;
use crate::desk::Desk;
use crate::failure::Outcome;
use crate::output::{Output, OutputFormat, cell, csv_cell, failed};
use crate::pager::paged;

const COLUMNS: [&str; 7] = ["sequence", "time", "who", "what", "kind", "id", "name"];
/// How often a follower looks whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(200);
/// How often a follower of a store that another process has looks into it again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub fn changes(
    desk: &Desk,
    output: Output,
    since: Option<u64>,
    take: Option<usize>,
    is_following: bool,
) -> Outcome {
    let session = desk.session();
    let from = match since {
        Some(since) => Position(since),
        None => oldest(&session)?,
    };
    let mut stream = session.changes(from);
    let most = take.unwrap_or(usize::MAX);
    if is_following {
        let mut out = io::stdout().lock();
        let (mut seen, mut looked) = (0, Instant::now());
        desk.interrupt.watch();
        while seen < most {
            desk.interrupt.check()?;
            if let Some(event) = stream.next(GLANCE)? {
                writeln!(out, "{}", line(output, &event)).map_err(failed)?;
                out.flush().map_err(failed)?;
                seen += 1;
            } else if desk.is_view && looked.elapsed() > LOOK_AGAIN {
                // A view stays at its commit: the next one goes on where this one ends.
                let at = stream.position();
                let view = Store::look(&desk.dir)?;
                stream = view.session(Identity::user(&desk.user)).changes(at);
                looked = Instant::now();
            }
        }
        return Ok(());
    }
    let events = std::iter::from_fn(|| stream.poll().transpose());
    let events = events.take(most).map(|event| Ok(json(&event?)));
    let columns = COLUMNS.map(str::to_owned);
    let mut events = watched(&desk.interrupt, events);
    paged(output, &desk.interrupt, |out| output.records(out, &columns, false, &mut events))
}

fn json(event: &ChangeEvent) -> Value {
    to_value(event).unwrap_or_default()
}

/// One event while following: there is no end to align columns for, and no end of a JSON array.
fn line(output: Output, event: &ChangeEvent) -> String {
    let event = json(event);
    let cells = COLUMNS.map(|name| event.get(name).unwrap_or(&Value::Null));
    match output.form {
        OutputFormat::Table => crate::output::printable(&cells.map(cell).join("  ")),
        OutputFormat::Csv => cells.map(csv_cell).join(","),
        OutputFormat::Json | OutputFormat::JsonLines => event.to_string(),
    }
}

/// The first position that the log still reaches back to. Its oldest commits may be gone.
fn oldest(session: &Session) -> Result<Position> {
    let reaches = |position: u64| match session.changes(Position(position)).poll() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(false),
        Err(error) => Err(error),
    };
    if reaches(Position::START.0)? {
        return Ok(Position::START);
    }
    let (mut gone, mut there) = (Position::START.0, session.position().0);
    while there - gone > 1 {
        let middle = gone + (there - gone) / 2;
        if reaches(middle)? { there = middle } else { gone = middle }
    }
    Ok(Position(there))
}
