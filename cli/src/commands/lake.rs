//! `sql --lake`: statements over a lake that stations publish, without a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use stationdb::Error;
use stationdb_sql::lake_with;

use super::sql::{ask, options};
use crate::args::LakeFlags;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;

/// What every root of a lake has.
const LOG: &str = "batches/_delta_log";

/// Answers one statement over the complete batches of this moment.
pub fn sql_of_lake(
    interrupt: &Interrupt,
    output: Output,
    over: &LakeFlags,
    statement: &str,
) -> Outcome {
    let directory = over.lake.as_deref().unwrap_or(Path::new("."));
    let named = over.root.as_deref().unwrap_or_default();
    let mut root = ObjectPath::parse(named).map_err(|error| {
        Failure::usage(format!("--root {named}: {error}; name a directory below the lake's"))
    })?;
    // As a layout writes a name with other letters than those of a path.
    let encoded = ObjectPath::from(named);
    if !is_lake(&place_of(directory, &root)) && is_lake(&place_of(directory, &encoded)) {
        root = encoded;
    }
    check_exists(directory, &root)?;
    let objects = LocalFileSystem::new_with_prefix(directory).map_err(|error| {
        let attempt = format!("opening the lake in {}", directory.display());
        Failure::of(&Error::io(attempt, std::io::Error::other(error)))
    })?;
    let context = async move { lake_with(Arc::new(objects), &root, &options()).await };
    ask(interrupt, output, context, statement)
}

fn place_of(directory: &Path, root: &ObjectPath) -> PathBuf {
    root.parts().fold(directory.to_owned(), |at, part| at.join(part.as_ref()))
}

fn is_lake(place: &Path) -> bool {
    place.join(LOG).is_dir()
}

/// A root without a lake would be one without stations; a statement over it must say so.
fn check_exists(directory: &Path, root: &ObjectPath) -> Outcome {
    let place = place_of(directory, root);
    if is_lake(&place) {
        return Ok(());
    }
    let name = directory.to_string_lossy();
    let advice = if name.contains("://") {
        "the shell reads lakes in directories; `stationdb-cluster` and programs read those \
                 in an object store"
            .to_owned()
    } else {
        match roots(directory) {
            roots if roots.is_empty() => "name the directory that publishers write to".to_owned(),
            roots => format!("--root names one of {}", roots.join(", ")),
        }
    };
    Err(Failure::new(Code::NoStore, format!("there is no lake in {}; {advice}", place.display())))
}

/// The lakes right below a directory.
fn roots(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let lakes = entries.filter(|entry| is_lake(&entry.path()));
    let mut names: Vec<String> =
        lakes.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
