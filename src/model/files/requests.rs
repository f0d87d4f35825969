//! Requests and responses of the file service.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::model::files::file::{
    FileLinqMetadata, FileLinqQueryOrderBy, FileMetadata, FileQueryOrderBy, FileRecord, Link,
};
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// How a total count relates to the number of matches.
    wire pub enum TotalCountRelation {
        /// No further file matches.
        Equal = "eq",
        /// More files match.
        AtLeast = "gte",
    }
}

wire_enum! {
    /// The comparison of a part of a structured query.
    wire pub enum FileQueryOperation {
        /// Equal, or one of.
        Equal = "EQUAL",
        /// Not equal, or none of.
        NotEqual = "NOT_EQUAL",
        /// Greater.
        GreaterThan = "GREATER_THAN",
        /// Greater or equal.
        GreaterThanOrEqual = "GREATER_THAN_OR_EQUAL",
        /// Less.
        LessThan = "LESS_THAN",
        /// Less or equal.
        LessThanOrEqual = "LESS_THAN_OR_EQUAL",
        /// The property contains the value.
        Contains = "CONTAINS",
        /// The property does not contain the value.
        NotContains = "NOT_CONTAINS",
    }
}

record! {
    /// Whether an operation is available, and its version.
    wire pub struct FileOperation {
        /// Whether it is available.
        pub available: bool,
        /// Version.
        pub version: i32,
    }

    /// The operations of the file service.
    answer pub struct FileOperations {
        /// The operations by name.
        pub operations: BTreeMap<String, FileOperation>,
    }

    /// A request for a list of files.
    wire pub struct GetFilesRequest new() queries(FileRecord) also("id" = "ids") {
        /// Number of files to skip.
        pub skip: Option<i64>,
        /// Maximum number of files on the page; 0 or absent means 1,000.
        pub take: Option<i64>,
        /// The sort key; default is the upload time.
        pub order_by: Option<FileQueryOrderBy>,
        /// Whether the order is descending.
        pub order_by_descending: Option<bool>,
        /// Only these ids; empty means all files.
        pub ids: Vec<String>,
    }

    /// A page of files.
    answer pub struct FileQueryResponse also("links" = "_links", "fieldLinks" = "_links") {
        /// Links of the listing.
        #[serde(rename = "_links")]
        pub links: BTreeMap<String, Link>,
        /// The page.
        pub available_files: Vec<FileMetadata>,
        /// Number of all matches, independent of the page.
        pub total_count: u64,
    }

    /// The members of an upload besides the content.
    wire pub struct UploadFileRequest new() {
        /// Properties of the file; `Name` is its display name.
        pub metadata: BTreeMap<String, String>,
        /// Id: 24 hexadecimal digits that no file has; generated when absent.
        pub id: Option<String>,
        /// Name of the file, used if the metadata has no `Name`.
        pub name: Option<String>,
        /// Workspace; the session's default when absent.
        pub workspace: Option<String>,
    }

    /// A change of a file's metadata.
    wire pub struct UpdateMetadataRequest new() requires(replace_existing, properties) {
        /// Whether the properties replace the stored ones; otherwise they are merged key by key.
        pub replace_existing: bool,
        /// New values; `Name` renames the file.
        pub properties: BTreeMap<String, String>,
        /// The revision that the file must have.
        pub expected_revision: Option<i32>,
        /// New workspace of the file.
        pub workspace: Option<String>,
    }

    /// A query with a filter expression.
    wire pub struct FileLinqQueryRequest new() queries(FileRecord) {
        /// Filter expression; absent or empty matches every file.
        pub filter: Option<String>,
        /// The sort key; default is the time of the last change.
        pub order_by: Option<FileLinqQueryOrderBy>,
        /// Whether the order is descending; default true.
        pub order_by_descending: Option<bool>,
        /// Number of files to skip.
        pub skip: Option<i64>,
        /// Maximum number of files on the page; default 1,000.
        pub take: Option<i64>,
        /// Whether `total_count` counts all matches, independent of the page. An extension for Rust
        /// callers that JSON does not have.
        #[serde(skip)]
        pub exact_total_count: bool,
    }

    /// Number of matches in a page.
    wire pub struct FileTotalCount {
        /// Whether more files match after the page; `eq` with `exact_total_count`.
        pub relation: TotalCountRelation,
        /// Number of files on the page; with `exact_total_count` the number of all matches.
        pub value: u64,
    }

    /// A page of files that match an expression.
    answer pub struct FileLinqQueryResponse {
        /// The page.
        pub available_files: Vec<FileLinqMetadata>,
        /// Number of files on the page, and whether more match.
        pub total_count: FileTotalCount,
    }

    /// A search by words and wildcards.
    wire pub struct SearchFilesRequest new() {
        /// Search expression such as `name:("*.tdms") AND size:[0 TO 1000]`; absent or empty
        /// matches every file.
        pub filter: Option<String>,
        /// The sort key; default is the time of the last change.
        pub order_by: Option<FileLinqQueryOrderBy>,
        /// Whether the order is descending; default true.
        pub order_by_descending: Option<bool>,
        /// Number of files to skip.
        pub skip: Option<i64>,
        /// Maximum number of files on the page; default 1,000.
        pub take: Option<i64>,
        /// Whether `total_count` counts all matches, independent of the page. An extension for Rust
        /// callers that JSON does not have.
        #[serde(skip)]
        pub exact_total_count: bool,
    }

    /// One of these ids, or none of them.
    wire pub struct IdsQuery new(operation: FileQueryOperation, ids: Vec<String>)
    requires(operation, ids) {
        /// `EQUAL` or `NOT_EQUAL`.
        pub operation: FileQueryOperation,
        /// The ids.
        pub ids: Vec<String>,
    }

    /// A comparison with a text.
    wire pub struct StringQuery new(operation: FileQueryOperation, value: String)
    requires(operation, value) {
        /// `EQUAL` or `NOT_EQUAL`.
        pub operation: FileQueryOperation,
        /// The text.
        pub value: String,
    }

    /// A comparison with a number.
    wire pub struct SizeQuery new(operation: FileQueryOperation, value: i64)
    requires(operation, value) {
        /// How to compare.
        pub operation: FileQueryOperation,
        /// The number of bytes.
        pub value: i64,
    }

    /// A comparison with a time.
    wire pub struct CreatedQuery new(operation: FileQueryOperation, value: DateTime<Utc>)
    requires(operation, value) {
        /// How to compare.
        pub operation: FileQueryOperation,
        /// The time.
        pub value: DateTime<Utc>,
    }

    /// A comparison of one property.
    wire pub struct PropertyQuery new(key: String, operation: FileQueryOperation, value: String)
    requires(key, operation, value) {
        /// Key of the property.
        pub key: String,
        /// `EQUAL`, `NOT_EQUAL`, `CONTAINS` or `NOT_CONTAINS`.
        pub operation: FileQueryOperation,
        /// The value.
        pub value: String,
    }

    /// A structured query: a file must match every part that is present.
    wire pub struct QueryFilesRequest new() {
        /// Ids.
        pub ids_query: Option<IdsQuery>,
        /// One id.
        pub id_query: Option<StringQuery>,
        /// Extension of the name.
        pub extension_query: Option<StringQuery>,
        /// A comparison of the length.
        pub size_min_query: Option<SizeQuery>,
        /// Another comparison of the length.
        pub size_max_query: Option<SizeQuery>,
        /// Upload time.
        pub created_query: Option<CreatedQuery>,
        /// Properties.
        pub properties_query: Vec<PropertyQuery>,
        /// Number of files to skip.
        pub skip: Option<i64>,
        /// Maximum number of files on the page; 0 or absent means 1,000, which is also the maximum.
        pub take: Option<i64>,
        /// Only this workspace.
        pub workspace: Option<String>,
    }

    /// One chunk that has arrived.
    wire pub struct UploadedChunk {
        /// Index of the chunk, from 1.
        pub index: u32,
        /// Length in bytes.
        pub size: u64,
        /// Whether it was sent as the last one.
        pub close: bool,
    }

    /// An unfinished upload session, from which a caller can resume the upload.
    answer pub struct UploadSessionState also("sessionId" = "id") {
        /// Id of the session.
        pub id: String,
        /// Time of the start.
        pub created_at: DateTime<Utc>,
        /// Workspace of the future file.
        pub workspace: String,
        /// The chunks that have arrived, by index.
        pub chunks: Vec<UploadedChunk>,
        /// When the store deletes the session unless another chunk arrives; absent if sessions
        /// never expire.
        pub expires_at: Option<DateTime<Utc>>,
    }

    /// An upload session that was started.
    created pub struct UploadSession also("sessionId" = "id") {
        /// Id of the session.
        pub id: String,
        /// Time of the start.
        pub created_at: DateTime<Utc>,
    }
}

#[cfg(test)]
mod tests {
    use super::QueryFilesRequest;
    use crate::value::query::from_query_and_json;

    #[test]
    fn a_query_string_needs_no_body() {
        for nothing in ["", " ", "\r\n\t"] {
            let page: QueryFilesRequest =
                from_query_and_json("take=1", nothing.as_bytes()).unwrap();
            assert_eq!(page.take, Some(1), "{nothing:?}");
        }
    }

    #[test]
    fn a_body_that_is_no_object_is_told_in_terms_of_json() {
        for (body, found) in
            [("null", "null"), ("[]", "an array"), ("7", "the integer 7"), ("true", "true")]
        {
            let read = from_query_and_json::<QueryFilesRequest>("take=1", body.as_bytes());
            assert_eq!(
                read.unwrap_err().message(),
                format!("the request cannot be read: expected an object, found {found}")
            );
        }
    }
}
