//! Lists of a request that the readers of files look at, with many entries.

use crate::limited_memory::{is_child, peak_mib};
use crate::prelude::*;

use super::dialects::session;

/// As many entries as the batches of every other request are tried with.
const BATCH: usize = 100_000;

#[test]
fn types_of_columns_that_a_file_lacks_are_refused() {
    if !is_child("bounds::types_of_columns_that_a_file_lacks_are_refused") {
        return;
    }
    let (_store, session) = session();
    let types = (0..BATCH).map(|at| (format!("00000000000000000{at}"), DataType::Int64));
    let request = ImportTableRequest::new().column_types(types);
    let error = session.import_csv(request, &mut &b"a\n1\n"[..], &Control::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    println!("peak {}", peak_mib());
}
