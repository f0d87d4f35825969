//! Paths: what occurs among the steps of one program and part number.

use std::collections::BTreeMap;

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// Fields that a query of paths can be ordered by.
    wire pub enum PathOrderBy {
        /// `id`.
        Id = "ID",
        /// `programName`.
        ProgramName = "PROGRAM_NAME",
        /// `partNumber`.
        PartNumber = "PART_NUMBER",
        /// `path`.
        Path = "PATH",
    }
}

wire_enum! {
    /// Members that a query of paths can be restricted to.
    wire pub enum PathProjection {
        /// `id`.
        Id = "ID",
        /// `programName`.
        ProgramName = "PROGRAM_NAME",
        /// `partNumber`.
        PartNumber = "PART_NUMBER",
        /// `path`.
        Path = "PATH",
        /// `pathNames`.
        PathNames = "PATH_NAMES",
        /// `inputs`.
        Inputs = "INPUTS",
        /// `outputs`.
        Outputs = "OUTPUTS",
        /// `measurements`.
        Measurements = "MEASUREMENTS",
    }
}

wire_enum! {
    /// The type of the values of an input or output.
    wire pub enum PathValueType {
        /// Values of several types.
        Mixed = "MIXED",
        /// Nulls alone.
        Null = "NULL",
        /// Booleans.
        Boolean = "BOOLEAN",
        /// Numbers.
        Number = "NUMBER",
        /// Texts.
        String = "STRING",
        /// Arrays.
        Array = "ARRAY",
        /// Objects.
        Object = "OBJECT",
    }
}

record! {
    /// The values of an input or output on a path.
    wire pub struct PathValue new() {
        /// Their type.
        pub r#type: Option<PathValueType>,
        /// The least one, of numbers.
        pub min: Option<f64>,
        /// The greatest one, of numbers.
        pub max: Option<f64>,
    }

    /// A measurement on a path.
    wire pub struct PathMeasurement new() {
        /// Unit of the newest one.
        pub units: Option<String>,
        /// Low limit of the newest one.
        pub low_limit: Option<String>,
        /// High limit of the newest one.
        pub high_limit: Option<String>,
        /// Number of measurements.
        pub count: Option<u64>,
    }

    /// A path that occurs among the steps of a program and a part number; members that a
    /// projection omits are `None`.
    answer pub struct StepPath {
        /// Id: a hash of program, part number and path.
        pub id: Option<String>,
        /// The names of the steps, joined by line feeds.
        pub path: Option<String>,
        /// Name of the test program.
        pub program_name: Option<String>,
        /// Part number.
        pub part_number: Option<String>,
        /// The names of the steps, the root first.
        pub path_names: Option<Vec<String>>,
        /// The inputs of the steps, by their names.
        pub inputs: Option<BTreeMap<String, PathValue>>,
        /// The outputs of the steps, by their names.
        pub outputs: Option<BTreeMap<String, PathValue>>,
        /// The measurements of the steps, by their names.
        pub measurements: Option<BTreeMap<String, PathMeasurement>>,
    }

    /// A query for paths.
    wire pub struct QueryPathsRequest new() {
        /// Filter; all paths when absent.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Order; by id when absent.
        pub order_by: Option<PathOrderBy>,
        /// Whether the order is descending.
        pub descending: Option<bool>,
        /// Members to return; all when absent or empty.
        pub projection: Option<Vec<PathProjection>>,
        /// Page size; 1000 when absent or negative, at most 100,000.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
        /// Whether to count all matches.
        pub return_count: Option<bool>,
    }

    /// A page of paths.
    page pub struct PagedPaths {
        /// The paths.
        pub paths: Vec<StepPath>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Count of all matches, if requested.
        pub total_count: Option<u64>,
    }
}
