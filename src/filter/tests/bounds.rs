//! Each bound of a filter: one below, at, and one above.

use super::*;
use crate::error::ErrorKind;
use crate::value::limits::holds_at;

#[test]
fn every_bound_of_a_filter_holds() {
    let refused = ErrorKind::InvalidArgument;
    holds_at(limits::FILTER_BYTES, refused, |bytes| work_item(&format!("{}true", " ".repeat(bytes - 4)), &[]));
    holds_at(limits::FILTER_DEPTH, refused, |depth| {
        work_item(&format!("{}true{}", "(".repeat(depth), ")".repeat(depth)), &[])
    });
    // Each operand is a node, and the chain of them is one.
    holds_at(limits::FILTER_NODES, refused, |nodes| work_item(&vec!["true"; nodes - 1].join("|"), &[]));
    holds_at(limits::FILTER_LIST, refused, |elements| {
        work_item(&format!("name in ({})", vec!["\"a\""; elements].join(",")), &[])
    });
    holds_at(limits::FILTER_SUBSTITUTIONS, refused, |values| work_item("name = @0", &vec![json!("a"); values]));
}
