//! Reports of a stationdb store: each is one HTML file that opens in a browser, without a network.
//!
//! | Function | Page |
//! |---|---|
//! | [`plot_html`] | columns of a table, with the extremes of every interval |
//! | [`run_html`] | a test result with its steps, measurements, files and tables |
//! | [`product_html`] | yield, failures, and the measurements of a product |
//! | [`store_html`] | what is in a store, whether it is sound, and how it grew |
//!
//! The text that these functions return is the whole file: the scripts, the style and the numbers
//! are in it, and its content security policy forbids every request.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! use stationdb::prelude::*;
//! use stationdb::tables::{
//!     AppendTableDataRequest, Column, ColumnType, CreateTableRequest, DataFrame, DataType,
//! };
//! use stationdb::{Identity, Store};
//! use stationdb_report::{PlotOptions, plot_html};
//!
//! let store = Store::open(dir.path())?;
//! let session = store.session(Identity::user("ada"));
//! let columns = [
//!     Column::new("t", DataType::Int32).column_type(ColumnType::Index),
//!     Column::new("volts", DataType::Float64),
//! ];
//! let table = session.create_table(CreateTableRequest::new(columns).name("Loop"))?;
//! let row = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
//! let rows = DataFrame::new().data([row(["0", "3.29"]), row(["1", "3.31"])]);
//! session.append_table_data(&table, AppendTableDataRequest::new().frame(rows))?;
//!
//! let page = plot_html(&session, &table, &PlotOptions::new())?;
//! assert!(page.starts_with("<!DOCTYPE html>"));
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bars;
mod encode;
mod health;
mod html;
mod limits_of_product;
mod line_picture;
mod markup;
mod number;
mod page;
mod plot;
mod plot_options;
mod product;
mod product_options;
mod pyramid;
mod read;
mod run;
mod run_options;
mod status;
mod steps;
mod store;
mod waveform;
mod x_axis;

pub use number::grouped;
pub use plot::{OPENED_BYTES, PlotPage, full_bytes, plot_html, plot_page};
pub use plot_options::{Limits, PlotOptions};
pub use product::product_html;
pub use product_options::ProductOptions;
pub use run::{full_run_bytes, run_html};
pub use run_options::RunOptions;
pub use store::store_html;
