//! Scans of records, steps and measurements as rows.

use stationdb::by_name::Services;
use stationdb::results::{ScanMeasurementsRequest, ScanStepsRequest};
use stationdb::scans::{RecordStream, ScanRecordsRequest};
use stationdb::{Control, Result};

use crate::failure::Outcome;
use crate::json;
use crate::memory::{In, Out};
use crate::registry::{self, Object};
use crate::rows::Rows;

/// What a scan of records finds, as rows.
fn scan(
    caller: u64,
    control: u64,
    rows: Out<u64>,
    work: impl FnOnce(&dyn Services, &Control) -> Result<RecordStream>,
) -> Outcome<()> {
    let caller = registry::caller(caller)?;
    let watch = registry::optional_control(control)?;
    let begun = caller.begin(watch.as_deref())?;
    let stream = work(begun.services(), &begun.control)?;
    let control = begun.control.clone();
    let found = Rows::new(&caller.open, stream.schema(), Box::new(stream), control);
    rows.set(registry::put(Object::Rows(found))?);
    Ok(())
}

export! {
    fn sdb_scan_records(
        caller: u64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let asked: ScanRecordsRequest =
            json::request("scan_records", request.text("request", request_length)?)?;
        scan(caller, control, rows, |services, control| services.scan_records(asked, control))
    }

    fn sdb_scan_steps(
        caller: u64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let asked: ScanStepsRequest =
            json::request("scan_steps", request.text("request", request_length)?)?;
        scan(caller, control, rows, |services, control| services.scan_steps(asked, control))
    }

    fn sdb_scan_measurements(
        caller: u64,
        request: In<u8>,
        request_length: i64,
        control: u64,
        rows: Out<u64>,
    ) {
        rows.begin("rows", 0)?;
        let asked: ScanMeasurementsRequest =
            json::request("scan_measurements", request.text("request", request_length)?)?;
        scan(caller, control, rows, |services, control| {
            services.scan_measurements(asked, control)
        })
    }
}
