//! The derives for the declarations of stationdb's records and resources.
//!
//! The generated code refers to paths of that crate, so the derives are of no use outside it. The
//! meaning of each attribute is described in `docs/architecture.md` of stationdb, "Adding a
//! resource type".

mod answers;
mod builder;
mod form;
mod lists;
mod member;
mod node;
mod record;
mod requests;
mod resource;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives the wire form and the stored form of a plain struct.
///
/// - `#[wire]`: for requests and responses; there is no stored form.
/// - `#[patch]`: as `#[wire]`; null members are passed to `Patch` members.
/// - `#[patch(Name = "documentation")]`, `#[patch(Name(member, …))]`: generates a struct with these
///   members as `Patch`, for updates of a record that contains this one; `#[request(…)]` as for
///   [`macro@Resource`].
/// - `#[new(member, …)]`: generates `Name::new(member, …)` and a setter for each member. An
///   `Option` has a second setter, `maybe_member(option)`, and a `Patch` has `clear_member()`,
///   which sends null. The setter of a map with optional values adds to the entries that are
///   there.
/// - `#[requires(member, …)]`: JSON without these members is refused.
/// - `#[also(otherName = "member", …)]`: an additional name of a member in JSON.
/// - `#[fields(member, …)]`: the fields that filters see of an element of a list of these records.
/// - `#[answer()]`: the struct answers a call, with status 200; with `created` in the brackets 201.
///   `batch`: it answers a batch, so its members are what succeeded, what failed, and the error; it
///   is made of the outcome of the batch. `page`: it is made of a page of the records in its list.
/// - `#[queries(Record)]`: the struct is a query for records of this type. These members have their
///   meaning by their names: `filter`, `substitutions`, `order_by`, `descending`, `take`,
///   `continuation_token`, `return_count`, `projection`.
/// - `#[since(2)]` on a member: it was added in format 2, and has its default in older bytes.
/// - `#[serde(…)]` on a member is passed to serde. Times need none.
#[proc_macro_derive(
    Record,
    attributes(wire, patch, new, request, requires, also, fields, since, serde, answer, queries)
)]
pub fn record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives a kind of record that the store keeps: all of [`macro@Record`], and filters, indexes,
/// orders, projections, text search and requests from lists of its members.
///
/// A list names members; brackets contain the members of a member: `timeline(start, end)`. A long
/// list can be split into several attributes. `docs/architecture.md` of stationdb, "Adding a
/// resource type", has a complete example.
///
/// - `#[resource(kind = 1, name = "Product", service(PRODUCTS), id(Guid), title(name))]`. Optional:
///   `never_null(member, …)`; `id_at(member)` and `workspace_at(member)` if these two are not
///   members of these names.
/// - `#[fields(member, …)]`: the fields that filters can use. Options in brackets after a field:
///   `also("name")`, `equality`, `hidden`, `within(time)`, `from(member)`, `get(method)`,
///   `at(method)` for a method that takes the time of the read, `of(type)` if the type cannot be
///   inferred, `or_empty` for a list. `of(Object)` lets filters test whether a member with fields
///   of its own is null.
/// - `#[index(1, field, …)]`: a number, and the fields of the key; `unique(field, …)`,
///   `include(field, …)`, `since = 2`, `on(method)` for computed entries, `called(NAME)`. The
///   constant `BY_FIELD` has the number.
/// - `#[text(member = 2.0)]`: a member that full-text search indexes, and its weight; `name(2.0,
///   get(method))`, `name(2.0, from(member))`.
/// - `#[order(Name(field, …))]`, `#[projection(Name(member, …))]`: enumerations for queries;
///   `member = "TEXT"` if the text differs from the name of the member, `"TEXT"` for a value that
///   is not a member, `then(method)` for a method of the record that completes the projection.
/// - `#[request(Name = "documentation")]`, `#[request(Name(member, …))]`: generates a struct with
///   these members; `member = "documentation"`, `member(Type, "documentation")`, `own` in the
///   brackets for a member that is not copied to the record, `#[serde(…)]` for the request alone.
///   `#[patch(…)]` does the same with `Patch` members.
/// - `#[state(Part(member, …))]`: members that are stored in a small separate record.
#[proc_macro_derive(
    Resource,
    attributes(
        resource, fields, index, text, order, projection, request, patch, state, requires, also,
        since, serde
    )
)]
pub fn resource(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    resource::derive(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

#[cfg(test)]
mod tests;
