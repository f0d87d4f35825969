//! Tables: what is known of a table besides its rows, and the requests of the table service that concern it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{ApiError, Result};
use crate::model::products::requests::Operation;
use crate::model::resource::declare::{add_properties, add_text, field, index};
use crate::model::resource::{Field, Index, Resource, TextField};
use crate::model::tables::data::{Column, ColumnProjection};
use crate::value::id::{Kind, id_type};
use crate::value::val::Row;
use crate::value::wire::{record, wire_enum};
use crate::value::{FieldDecl, FieldType, IdForm, Patch, Service, Val, stored};

id_type!(
    /// The id of a table.
    TableId,
    IdForm::Hex24
);

record! {
    /// What is known of a table; members that a projection drops are `None`.
    pub struct TableMetadata {
        /// Id in the store.
        pub id: Option<TableId>,
        /// Display name; the id when none was given.
        pub name: Option<String>,
        /// Columns in order of creation.
        pub columns: Option<Vec<Column>>,
        /// Time of creation.
        #[serde(with = "crate::value::time::opt")]
        pub created_at: Option<DateTime<Utc>>,
        /// Time of the last modification of the metadata.
        #[serde(with = "crate::value::time::opt")]
        pub metadata_modified_at: Option<DateTime<Utc>>,
        /// Counts modifications of the metadata, from 1.
        pub metadata_revision: Option<i64>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// Number of rows.
        pub row_count: Option<i64>,
        /// Time of the last append of rows.
        #[serde(with = "crate::value::time::opt")]
        pub rows_modified_at: Option<DateTime<Utc>>,
        /// Whether rows can still be appended.
        pub supports_append: Option<bool>,
        /// Id of the associated test result.
        pub test_result_id: Option<String>,
        /// Id of the workspace.
        pub workspace: Option<String>,
        /// Number of columns; only where it was projected.
        pub column_count: Option<i64>,
        /// On the wire also `columns`: their projected members, where not all of them were asked for.
        #[serde(rename(serialize = "columns"), skip_deserializing)]
        pub projected_columns: Option<Vec<ColumnProjection>>,
    }

    /// What of a table changes with every append: kept beside its record, so that an append does not write that again.
    pub struct TableRowState {
        /// Number of rows.
        pub row_count: Option<i64>,
        /// Time of the last append of rows.
        #[serde(with = "crate::value::time::opt")]
        pub rows_modified_at: Option<DateTime<Utc>>,
        /// Whether rows can still be appended.
        pub supports_append: Option<bool>,
    }
}

static COLUMN_FIELDS: [FieldDecl; 1] = [FieldDecl::new("name", FieldType::String)];

impl Row for Column {
    fn val(&self, index: usize) -> Val<'_> {
        if index == 0 { Val::from(&self.name) } else { Val::Null }
    }
}

fn columns(table: &TableMetadata) -> Val<'_> {
    match &table.columns {
        Some(columns) => Val::Rows(columns.iter().map(|column| column as &dyn Row).collect()),
        None => Val::Null,
    }
}

static FIELDS: [Field<TableMetadata>; 14] = [
    field(FieldDecl::new("id", FieldType::String), |t, _| t.id.as_ref().into()),
    field(FieldDecl::new("name", FieldType::String), |t, _| t.name.as_ref().into()),
    field(FieldDecl::new("workspace", FieldType::String).alias(&["workspaceName"]), |t, _| t.workspace.as_ref().into()),
    field(FieldDecl::new("testResultId", FieldType::String), |t, _| t.test_result_id.as_ref().into()),
    field(FieldDecl::new("createdAt", FieldType::Time), |t, _| t.created_at.into()),
    field(FieldDecl::new("createdWithin", FieldType::Within), |t, _| t.created_at.into()),
    field(FieldDecl::new("metadataModifiedAt", FieldType::Time), |t, _| t.metadata_modified_at.into()),
    field(FieldDecl::new("metadataModifiedWithin", FieldType::Within), |t, _| t.metadata_modified_at.into()),
    field(FieldDecl::new("rowsModifiedAt", FieldType::Time), |t, _| t.rows_modified_at.into()),
    field(FieldDecl::new("rowsModifiedWithin", FieldType::Within), |t, _| t.rows_modified_at.into()),
    field(FieldDecl::new("rowCount", FieldType::Int), |t, _| t.row_count.into()),
    field(FieldDecl::new("supportsAppend", FieldType::Bool), |t, _| t.supports_append.into()),
    field(FieldDecl::new("properties", FieldType::Map), |t, _| t.properties.as_ref().into()),
    field(FieldDecl::new("columns", FieldType::Rows(&COLUMN_FIELDS)), |t, _| columns(t)),
];

static INDEXES: [Index<TableMetadata>; 4] = [
    index(1, &["name"]),
    index(2, &["testResultId"]),
    index(3, &["createdAt"]).since(2),
    index(4, &["metadataModifiedAt"]).since(2),
];

static TEXT: [TextField<TableMetadata>; 2] = [
    TextField { name: "name", weight: 3.0, get: |t, out| add_text(out, t.name.as_deref()) },
    TextField { name: "properties", weight: 1.0, get: |t, out| add_properties(out, t.properties.as_ref()) },
];

impl Resource for TableMetadata {
    const KIND: Kind = Kind { code: 9, name: "table", service: Service::TABLES, id: IdForm::Hex24 };

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn workspace(&self) -> &str {
        self.workspace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn fields() -> &'static [Field<Self>] {
        &FIELDS
    }

    fn indexes() -> &'static [Index<Self>] {
        &INDEXES
    }

    fn text() -> &'static [TextField<Self>] {
        &TEXT
    }

    const HAS_STATE: bool = true;

    fn state(&self) -> Result<Vec<u8>> {
        stored::to_bytes(&TableRowState {
            row_count: self.row_count,
            rows_modified_at: self.rows_modified_at,
            supports_append: self.supports_append,
        })
    }

    fn set_state(&mut self, state: stored::Payload<'_>) -> Result<()> {
        let state: TableRowState = stored::read(state)?;
        self.row_count = state.row_count;
        self.rows_modified_at = state.rows_modified_at;
        self.supports_append = state.supports_append;
        Ok(())
    }

    fn without_state(&self) -> Self {
        Self { row_count: None, rows_modified_at: None, supports_append: None, ..self.clone() }
    }
}

record! {
    /// A table to create.
    wire pub struct CreateTableRequest new(columns: Vec<Column>) {
        /// Columns; exactly one is the index.
        pub columns: Vec<Column>,
        /// Display name; the id of the table when absent or empty.
        pub name: Option<String>,
        /// Properties.
        pub properties: Option<BTreeMap<String, String>>,
        /// Id of the associated test result; none when absent or empty.
        pub test_result_id: Option<String>,
        /// Id of the workspace; the session's default when absent.
        pub workspace: Option<String>,
    }

    /// New column properties; a null value removes the key.
    wire pub struct ColumnMetadataPatch new(name: String) requires(name, properties) {
        /// Name of an existing column.
        pub name: String,
        /// What to merge into its properties.
        pub properties: BTreeMap<String, Option<String>>,
    }

    /// Changes of one table; absent members stay as they are.
    patch pub struct ModifyTableRequest new() {
        /// The revision that the table shall get: the current one plus 1.
        pub metadata_revision: Patch<i64>,
        /// New name; null resets it to the id.
        pub name: Patch<String>,
        /// New test result; null or empty removes it.
        pub test_result_id: Patch<String>,
        /// New workspace; null moves the table to the session's default.
        pub workspace: Patch<String>,
        /// Merged into the properties; a null value removes the key.
        pub properties: Patch<BTreeMap<String, Option<String>>>,
        /// Merged into the properties of columns.
        pub columns: Patch<Vec<ColumnMetadataPatch>>,
    }

    /// Changes of one table of a batch; absent and null members stay as they are.
    wire pub struct TableMetadataModification new(id: String) requires(id) {
        /// Id of the table.
        pub id: String,
        /// The revision that the table shall get: the current one plus 1.
        pub metadata_revision: Option<i64>,
        /// New name.
        pub name: Option<String>,
        /// New test result; empty removes it.
        pub test_result_id: Option<String>,
        /// New workspace.
        pub workspace: Option<String>,
        /// Merged into the properties, or with `replace` instead of them; a null value removes the key.
        pub properties: Option<BTreeMap<String, Option<String>>>,
    }

    /// Changes of several tables, each listed once.
    wire pub struct ModifyTablesRequest new(tables: Vec<TableMetadataModification>) requires(tables) {
        /// The changes.
        pub tables: Vec<TableMetadataModification>,
        /// Whether given properties replace the stored ones instead of being merged.
        pub replace: bool,
    }

    /// What became of a batch of modifications of which some failed.
    wire pub struct ModifyTablesPartialSuccess {
        /// Ids of the modified tables.
        pub modified_table_ids: Vec<String>,
        /// The failed modifications as they came.
        pub failed_modifications: Vec<TableMetadataModification>,
        /// One inner error for each failed modification.
        pub error: ApiError,
    }

    /// What became of a batch of deletions of which some failed.
    wire pub struct DeleteTablesPartialSuccess {
        /// Ids of the deleted tables.
        pub deleted_table_ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed_table_ids: Vec<String>,
        /// One inner error for each failed id.
        pub error: ApiError,
    }
}

wire_enum! {
    /// What tables are sorted by.
    pub enum TableOrderBy {
        /// Time of creation.
        CreatedAt = "CREATED_AT",
        /// Time of the last modification of the metadata.
        MetadataModifiedAt = "METADATA_MODIFIED_AT",
        /// Name.
        Name = "NAME",
        /// Number of rows.
        NumberOfRows = "NUMBER_OF_ROWS",
        /// Time of the last append of rows.
        RowsModifiedAt = "ROWS_MODIFIED_AT",
    }
}

wire_enum! {
    /// A member of table metadata that an answer may be restricted to.
    pub enum TableProjection {
        /// Number of columns.
        ColumnCount = "COLUMN_COUNT",
        /// Names of columns.
        ColumnName = "COLUMN_NAME",
        /// Types of columns.
        ColumnDataType = "COLUMN_DATA_TYPE",
        /// Column types of columns.
        ColumnColumnType = "COLUMN_COLUMN_TYPE",
        /// Properties of columns.
        ColumnProperties = "COLUMN_PROPERTIES",
        /// `createdAt`.
        CreatedAt = "CREATED_AT",
        /// `metadataModifiedAt`.
        MetadataModifiedAt = "METADATA_MODIFIED_AT",
        /// `metadataRevision`.
        MetadataRevision = "METADATA_REVISION",
        /// `name`.
        Name = "NAME",
        /// `properties`.
        Properties = "PROPERTIES",
        /// `rowCount`.
        RowCount = "ROW_COUNT",
        /// `rowsModifiedAt`.
        RowsModifiedAt = "ROWS_MODIFIED_AT",
        /// `supportsAppend`.
        SupportsAppend = "SUPPORTS_APPEND",
        /// `testResultId`.
        TestResultId = "TEST_RESULT_ID",
        /// `workspace`.
        Workspace = "WORKSPACE",
    }
}

record! {
    /// Which tables to list.
    wire pub struct ListTablesRequest new() {
        /// Tables of a page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Only these ids.
        pub id: Option<Vec<String>>,
        /// Sort key; order of creation when absent.
        pub order_by: Option<TableOrderBy>,
        /// Largest first.
        pub order_by_descending: bool,
        /// Token of the page before.
        pub continuation_token: Option<String>,
        /// Only tables in these workspaces.
        pub workspace: Option<Vec<String>>,
    }

    /// Which tables to find.
    wire pub struct QueryTablesRequest new() {
        /// Filter expression; everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, …
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Tables of a page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Token of the page before.
        pub continuation_token: Option<String>,
        /// Sort key; order of creation when absent.
        pub order_by: Option<TableOrderBy>,
        /// Largest first.
        pub order_by_descending: bool,
        /// ISO-8601 date-time with zone that relative times refer to; now in UTC when absent.
        pub reference_time: Option<String>,
        /// Accepted and ignored.
        pub interactive: Option<bool>,
        /// Members to answer with; all when absent, the id alone when empty.
        pub projection: Option<Vec<TableProjection>>,
    }

    /// A page of tables.
    wire pub struct PagedTables {
        /// The tables.
        pub tables: Vec<TableMetadata>,
        /// Where the next page starts.
        pub continuation_token: Option<String>,
    }

    /// The operations of the table service.
    wire pub struct TableOperations {
        /// Create tables.
        pub create_tables: Operation,
        /// Delete tables.
        pub delete_tables: Operation,
        /// Modify metadata.
        pub modify_metadata: Operation,
        /// List and query tables.
        pub list_tables: Operation,
        /// Read rows.
        pub read_data: Operation,
        /// Append rows.
        pub write_data: Operation,
    }

    /// Which operations there are, and in which versions.
    wire pub struct TableApiInfo {
        /// The operations.
        pub operations: TableOperations,
    }
}
