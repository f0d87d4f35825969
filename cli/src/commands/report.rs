//! `report`: pages of a test result, of a product and of the store.

use stationdb::serde_json::json;
use stationdb_report::{
    ProductOptions, RunOptions, full_run_bytes, product_html, run_html, store_html,
};

use super::page::{has_extension, save};
use crate::args::{Report, Subject};
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::progress::Bar;

pub fn report(desk: &Desk, output: Output, asked: &Report) -> Outcome {
    if !has_extension(&asked.output, "html") {
        let path = asked.output.display();
        return Err(Failure::usage(format!("{path}: pages are written as .html")));
    }
    if asked.full && asked.subject != Subject::Run {
        return Err(Failure::usage("--full is for the page of a test result"));
    }
    let of_product =
        asked.filter.is_some() || asked.time_zone.is_some() || asked.measurements.is_some();
    if of_product && asked.subject != Subject::Product {
        return Err(Failure::usage("--filter, --time-zone and --measurements are for products"));
    }
    if let (Subject::Store, Some(id)) = (asked.subject, &asked.id) {
        return Err(Failure::usage(format!("the page of the store takes no id; leave out {id:?}")));
    }
    let (bar, control) = Bar::new(desk.interrupt.control(), "reading", None);
    let session = desk.session().with_control(&control);
    let id =
        |what: &str| asked.id.as_deref().ok_or_else(|| Failure::usage(format!("name the {what}")));
    let page = match asked.subject {
        Subject::Run => {
            let options = RunOptions::new().full(asked.full);
            let id = id("test result by its id")?.into();
            if asked.full {
                super::page::say_size(full_run_bytes(&session, &id)?);
            }
            run_html(&session, &id, &options)?
        }
        Subject::Product => {
            let mut options = ProductOptions::new();
            if let Some(filter) = &asked.filter {
                options = options.filter(filter);
            }
            if let Some(zone) = &asked.time_zone {
                options = options.time_zone(zone);
            }
            if let Some(count) = asked.measurements {
                options = options.measurements_max(count);
            }
            product_html(&session, id("product by its part number")?, &options)?
        }
        Subject::Store => {
            let name = desk.dir.file_name().unwrap_or(desk.dir.as_os_str()).to_string_lossy();
            store_html(&desk.store, &desk.session(), &name, &control)?
        }
    };
    drop(bar);
    desk.interrupt.check()?;
    save(&asked.output, &page)?;
    let name = asked.output.display().to_string();
    let message = format!("wrote {name}, which any browser opens");
    output.report(&message, &json!({"file": name, "bytes": page.len()}))
}
