//! The members that the records of a kind have, for the columns that someone names.

use stationdb::Error;
use stationdb::serde_json::json;

/// Reads a record of a kind from JSON; the error if it is none.
pub type RecordReader = fn(&[u8]) -> Option<Error>;

/// What stands before the names of all members in the error about one that is unknown.
const KNOWN: &str = "the known members are ";
/// The name of no member, and like none.
const NONE: &str = "?";

/// The members of the object that these names lead to; `None` where any name may be one, as in
/// properties, and where no object is.
fn members(reader: RecordReader, path: &[&str]) -> Option<Vec<String>> {
    let inside = path.iter().rev().fold(json!({NONE: null}), |value, name| json!({*name: value}));
    let error = reader(inside.to_string().as_bytes())?;
    let (_, names) = error.message().split_once(KNOWN)?;
    Some(names.split(", ").map(str::to_owned).collect())
}

/// The names that a column may have in the place of its first unknown one; `None` if the records
/// have the column. `limit.max` is a member of the member `limit`.
pub fn instead_of(reader: RecordReader, column: &str) -> Option<Vec<String>> {
    let (mut path, mut rest) = (Vec::new(), column);
    loop {
        let known = members(reader, &path)?;
        if known.iter().any(|name| name == rest) {
            return None;
        }
        let head = rest.split_once('.').filter(|(head, _)| known.iter().any(|name| name == head));
        let Some((head, tail)) = head else {
            let before: String = path.iter().map(|name| format!("{name}.")).collect();
            return Some(known.iter().map(|name| format!("{before}{name}")).collect());
        };
        path.push(head);
        rest = tail;
    }
}
