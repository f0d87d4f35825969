//! The derives with which stationdb declares its records and resources.
//!
//! The code that they write names paths of that crate, so they are of no use outside it. What each
//! attribute means is in `docs/architecture.md` of stationdb, "Adding a resource type".

mod lists;
mod node;
mod record;
mod requests;
mod resource;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// The wire form and the stored form of a plain struct.
///
/// - `#[wire]`: requests and answers; no stored form.
/// - `#[patch]`: as `#[wire]`, and null members are handed on to [`Patch`] members.
/// - `#[requires(member, …)]`: JSON without these members is refused.
/// - `#[also(otherName = "member", …)]`: JSON may call a member by a further name.
/// - `#[fields(member, …)]`: what filters see of an element of a list of these records.
/// - `#[since(2)]` on a member: it came with format 2, and is the default in older bytes.
/// - `#[serde(…)]` on a member is serde's. Times need none.
#[proc_macro_derive(Record, attributes(wire, patch, requires, also, fields, since, serde))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// A kind of record that the store keeps: all of [`macro@Record`], and filters, indexes, orders,
/// projections, text search and requests from lists of its members.
#[proc_macro_derive(
    Resource,
    attributes(resource, fields, index, text, order, projection, request, patch, state, requires, also, since, serde)
)]
pub fn resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    resource::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}
