//! The derives with which stationdb declares its records and resources.
//!
//! The code that they write names paths of that crate, so they are of no use outside it. What each
//! attribute means is in `docs/architecture.md` of stationdb, "Adding a resource type".

mod builder;
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
/// - `#[patch]`: as `#[wire]`, and null members are handed on to `Patch` members.
/// - `#[patch(Name = "documentation")]`, `#[patch(Name(member, …))]`: a struct with these members as
///   `Patch`, for updates of a record that has this one as a part; `#[request(…)]` as of
///   [`macro@Resource`].
/// - `#[new(member, …)]`: callers build it, by `Name::new(member, …)` and a method for each member.
///   A `Patch` has a second one, `clear_member()`, that sends null. The method of a map with
///   optional values adds to the entries that are there.
/// - `#[requires(member, …)]`: JSON without these members is refused.
/// - `#[also(otherName = "member", …)]`: JSON may call a member by a further name.
/// - `#[fields(member, …)]`: what filters see of an element of a list of these records.
/// - `#[since(2)]` on a member: it came with format 2, and is the default in older bytes.
/// - `#[serde(…)]` on a member is serde's. Times need none.
#[proc_macro_derive(Record, attributes(wire, patch, new, request, requires, also, fields, since, serde))]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// A kind of record that the store keeps: all of [`macro@Record`], and filters, indexes, orders,
/// projections, text search and requests from lists of its members.
///
/// A list names members; brackets hold the members of a member: `timeline(start, end)`. A long list
/// is several attributes. `docs/architecture.md` of stationdb, "Adding a resource type", has a whole one.
///
/// - `#[resource(kind = 1, name = "Product", service(PRODUCTS), id(Guid), title(name))]`; further:
///   `never_null(member, …)`, and `id_at(member)`, `workspace_at(member)` where the two are not
///   members of these names.
/// - `#[fields(member, …)]`: what filters know. In brackets behind one: `also("name")`, `equality`,
///   `hidden`, `within(time)`, `from(member)`, `get(method)`, `at(method)` for one that takes the
///   moment of reading, `of(type)` where the type does not follow, `or_empty` for a list.
///   `of(Object)` lets filters ask whether a member with fields of its own is null.
/// - `#[index(1, field, …)]`: a number, and the fields of the key; `unique(field, …)`,
///   `include(field, …)`, `since = 2`, `on(method)` for computed entries, `called(NAME)`. The number
///   is the constant `BY_FIELD`.
/// - `#[text(member = 2.0)]`: what full-text search reads, and its weight; `name(2.0, get(method))`,
///   `name(2.0, from(member))`.
/// - `#[order(Name(field, …))]`, `#[projection(Name(member, …))]`: enumerations for queries;
///   `member = "TEXT"` where the text is not that of the member, `"TEXT"` for what is no member,
///   `then(method)` for what the record's own code adds to a projection.
/// - `#[request(Name = "documentation")]`, `#[request(Name(member, …))]`: a struct with these
///   members; `member = "documentation"`, `member(Type, "documentation")`, `own` in the brackets for
///   one that is not copied to the record, `#[serde(…)]` for the request alone. `#[patch(…)]` is the
///   same with `Patch` members.
/// - `#[state(Part(member, …))]`: members that are kept in a small record beside this one.
#[proc_macro_derive(
    Resource,
    attributes(resource, fields, index, text, order, projection, request, patch, state, requires, also, since, serde)
)]
pub fn resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    resource::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

#[cfg(test)]
mod tests;
