//! Imports records that OpenHTF's JSON output wrote, and asks for the yield of each program.
//!
//! `cargo run -p stationdb-formats --example openhtf -- STORE RECORD...` opens or creates the store.
//! A record that was imported before is left out.

use std::path::Path;

use stationdb::prelude::*;
use stationdb::results::YieldsRequest;
use stationdb::{Control, ErrorKind, Identity, Result, Session, Store};
use stationdb_formats::{ImportResults as _, ResultFormat, ResultOptions};

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let Some(store) = arguments.next() else {
        eprintln!("openhtf STORE RECORD...: imports records of OpenHTF into a store");
        return Ok(());
    };
    let store = Store::open(Path::new(&store))?;
    let session = store.session(Identity::user("openhtf"));
    for record in arguments {
        import(&session, Path::new(&record))?;
    }
    let request = YieldsRequest::new().group_by(["PROGRAM_NAME"]);
    for group in session.yields(request, &Control::default())?.groups {
        let program = group.keys.into_iter().next().flatten().unwrap_or_default();
        let percent = group.first_pass_yield.map_or_else(
            || "no unit".to_owned(),
            |share| format!("{:.1} % at the first test", share * 100.0),
        );
        println!("{program}: {} good, {} bad, {percent}", group.good, group.bad);
    }
    drop(session);
    store.close()
}

fn import(session: &Session, path: &Path) -> Result<()> {
    let format = Some(ResultFormat::OpenHtf);
    let options = ResultOptions::new();
    match session.import_results_file(path, format, &options, &Control::default()) {
        Ok(report) => {
            println!(
                "{}: {} steps, {} measurements",
                path.display(),
                report.steps,
                report.measurements
            );
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::Conflict => {
            println!("{}: imported before", path.display());
            Ok(())
        }
        Err(error) => Err(error),
    }
}
