//! Tables: their metadata, and the requests of the table service about them.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::ApiError;
use crate::model::operation::Operation;
use crate::model::resource::Resource;
use crate::model::tables::data::{Column, ColumnProjection};
use crate::value::id::id_type;
use crate::value::wire::record;
use crate::value::{IdForm, Patch};

id_type!(
    /// The id of a table.
    TableId,
    IdForm::Hex24
);

/// The metadata of a table; members that a projection omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 9, name = "table", service(TABLES), id(Hex24), title(name))]
#[fields(id, name, workspace, test_result_id)]
#[fields(workspace_name(from(workspace), of(WorkspaceName)))]
#[fields(created_at, created_within(within(created_at)))]
#[fields(metadata_modified_at, metadata_modified_within(within(metadata_modified_at)))]
#[fields(rows_modified_at, rows_modified_within(within(rows_modified_at)))]
#[fields(row_count, supports_append, properties, columns)]
#[index(1, name)]
#[index(2, test_result_id)]
#[index(3, created_at)]
#[index(4, metadata_modified_at)]
#[text(name = 3.0, properties = 1.0)]
#[state(TableRowState(row_count, rows_modified_at, supports_append))]
#[order(TableOrderBy(
    created_at,
    metadata_modified_at,
    name,
    row_count = "NUMBER_OF_ROWS",
    rows_modified_at
))]
#[projection(TableProjection(
    "COLUMN_COUNT",
    "COLUMN_NAME",
    "COLUMN_DATA_TYPE",
    "COLUMN_COLUMN_TYPE"
))]
#[projection(TableProjection(
    "COLUMN_PROPERTIES",
    created_at,
    metadata_modified_at,
    metadata_revision,
    name
))]
#[projection(TableProjection(
    properties,
    row_count,
    rows_modified_at,
    supports_append,
    test_result_id,
    workspace
))]
#[projection(TableProjection(then(project_columns)))]
#[non_exhaustive]
pub struct TableMetadata {
    /// Id in the store.
    pub id: Option<TableId>,
    /// Display name; the id if none was given.
    pub name: Option<String>,
    /// Columns in order of creation.
    pub columns: Option<Vec<Column>>,
    /// Time of creation.
    pub created_at: Option<DateTime<Utc>>,
    /// Time of the last modification of the metadata.
    pub metadata_modified_at: Option<DateTime<Utc>>,
    /// Number of the metadata's revision, from 1.
    pub metadata_revision: Option<i64>,
    /// Properties.
    pub properties: Option<BTreeMap<String, String>>,
    /// Number of rows.
    pub row_count: Option<i64>,
    /// Time of the last append of rows.
    pub rows_modified_at: Option<DateTime<Utc>>,
    /// Whether rows can still be appended.
    pub supports_append: Option<bool>,
    /// Id of the associated test result.
    pub test_result_id: Option<String>,
    /// Id of the workspace.
    pub workspace: Option<String>,
    /// Number of columns; present only if the projection includes it.
    pub column_count: Option<i64>,
    /// Part of `columns` on the wire: the projected members of the columns, if the projection does
    /// not include all of them.
    #[serde(rename(serialize = "columns"), skip_deserializing)]
    pub projected_columns: Option<Vec<ColumnProjection>>,
}

record! {
    /// The members of a table that change with every append. They are stored in a row of their own,
    /// so that an append does not rewrite the record with all its columns.
    pub struct TableRowState {
        /// Number of rows.
        pub row_count: Option<i64>,
        /// Time of the last append of rows.
        pub rows_modified_at: Option<DateTime<Utc>>,
        /// Whether rows can still be appended.
        pub supports_append: Option<bool>,
    }
}

impl TableMetadata {
    /// Adds the id, which every response contains, and the members of the columns that the
    /// projection lists.
    fn project_columns(&self, kept: &mut Self, projection: &[TableProjection]) {
        use TableProjection as P;
        let has = |member| projection.contains(&member);
        let members = [P::ColumnName, P::ColumnDataType, P::ColumnColumnType, P::ColumnProperties];
        kept.id.clone_from(&self.id);
        if has(P::ColumnCount) {
            kept.column_count = self.columns.as_ref().map(|all| all.len() as i64);
        }
        if members.into_iter().all(has) {
            kept.columns.clone_from(&self.columns);
        } else if members.into_iter().any(has) {
            let project = |column: &Column| ColumnProjection {
                name: has(P::ColumnName).then(|| column.name.clone()),
                data_type: has(P::ColumnDataType).then_some(column.data_type),
                column_type: has(P::ColumnColumnType).then_some(column.column_type),
                properties: has(P::ColumnProperties).then(|| column.properties.clone()),
            };
            kept.projected_columns = Some(self.columns.iter().flatten().map(project).collect());
        }
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

    /// Changes of a column.
    wire pub struct ColumnMetadataPatch new(name: String) requires(name, properties) {
        /// Name of an existing column.
        pub name: String,
        /// Merged into its properties; a null value removes the key.
        pub properties: BTreeMap<String, Option<String>>,
        /// Whether it has an index of its values from now on; unchanged when absent. Maintenance
        /// makes the index of the rows that the table has. A member of this crate, unknown to the
        /// wire.
        pub indexed: Option<bool>,
    }

    /// Changes of one table; absent members keep their values.
    patch pub struct ModifyTableRequest new() {
        /// The new revision: the current one plus 1.
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

    /// Changes of one table of a batch; absent and null members keep their values.
    wire pub struct TableMetadataModification new(id: String) requires(id) {
        /// Id of the table.
        pub id: String,
        /// The new revision: the current one plus 1.
        pub metadata_revision: Option<i64>,
        /// New name.
        pub name: Option<String>,
        /// New test result; empty removes it.
        pub test_result_id: Option<String>,
        /// New workspace.
        pub workspace: Option<String>,
        /// Merged into the properties, or replacing them with `replace`; a null value removes the
        /// key.
        pub properties: Option<BTreeMap<String, Option<String>>>,
    }

    /// Changes of several tables, each listed once.
    wire pub struct ModifyTablesRequest new(tables: Vec<TableMetadataModification>)
    requires(tables) {
        /// The changes.
        pub tables: Vec<TableMetadataModification>,
        /// Whether given properties replace the stored ones instead of being merged.
        pub replace: bool,
    }

    /// The result of a batch of modifications of which some failed.
    batch pub struct ModifyTablesPartialSuccess {
        /// Ids of the modified tables.
        pub modified_table_ids: Vec<String>,
        /// The failed modifications as they were sent.
        pub failed_modifications: Vec<TableMetadataModification>,
        /// One inner error for each failed modification.
        pub error: ApiError,
    }

    /// The result of a batch of deletions of which some failed.
    batch pub struct DeleteTablesPartialSuccess {
        /// Ids of the deleted tables.
        pub deleted_table_ids: Vec<String>,
        /// Ids that could not be deleted.
        pub failed_table_ids: Vec<String>,
        /// One inner error for each failed id.
        pub error: ApiError,
    }
}

/// A null value for each key, which removes the property.
fn removals<K: Into<String>>(
    keys: impl IntoIterator<Item = K>,
) -> impl Iterator<Item = (String, Option<String>)> {
    keys.into_iter().map(|key| (key.into(), None))
}

impl ColumnMetadataPatch {
    /// Removes the properties with these keys.
    #[must_use]
    pub fn remove_properties(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.properties.extend(removals(keys));
        self
    }
}

impl ModifyTableRequest {
    /// Removes the properties with these keys.
    ///
    /// ```
    /// use stationdb::tables::ModifyTableRequest;
    ///
    /// let request = ModifyTableRequest::new().properties([("rig", "3")]).remove_properties(["operator"]).clear_name();
    /// assert_eq!(
    ///     stationdb::serde_json::to_string(&request)?,
    ///     r#"{"name":null,"properties":{"operator":null,"rig":"3"}}"#
    /// );
    /// # Ok::<(), stationdb::serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn remove_properties(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.properties.change(|properties| properties.extend(removals(keys)));
        self
    }
}

impl TableMetadataModification {
    /// Removes the properties with these keys.
    #[must_use]
    pub fn remove_properties(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.properties.get_or_insert_default().extend(removals(keys));
        self
    }
}

record! {
    /// A request for a list of tables.
    wire pub struct ListTablesRequest new() queries(TableMetadata) {
        /// Number of tables on a page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Only these ids.
        pub id: Option<Vec<String>>,
        /// Sort key; order of creation when absent.
        pub order_by: Option<TableOrderBy>,
        /// Whether the order is descending.
        pub order_by_descending: bool,
        /// Token of the previous page.
        pub continuation_token: Option<String>,
        /// Only tables in these workspaces.
        pub workspace: Option<Vec<String>>,
    }

    /// A query of tables.
    wire pub struct QueryTablesRequest new() queries(TableMetadata) {
        /// Filter expression; everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, …
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Number of tables on a page; 1000 when absent, at most 1000.
        pub take: Option<i64>,
        /// Token of the previous page.
        pub continuation_token: Option<String>,
        /// Sort key; order of creation when absent.
        pub order_by: Option<TableOrderBy>,
        /// Whether the order is descending.
        pub order_by_descending: bool,
        /// ISO-8601 date-time with zone that relative times refer to; now in UTC when absent.
        pub reference_time: Option<String>,
        /// Accepted and ignored.
        pub interactive: Option<bool>,
        /// Members to return; all when absent, only the id when empty.
        pub projection: Option<Vec<TableProjection>>,
    }

    /// A page of tables.
    page pub struct PagedTables {
        /// The tables.
        pub tables: Vec<TableMetadata>,
        /// The token of the next page; absent on the last one.
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

    /// The operations of the service, and their versions.
    answer pub struct TableApiInfo {
        /// The operations.
        pub operations: TableOperations,
    }
}
