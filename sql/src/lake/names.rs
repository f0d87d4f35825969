//! The measurement tables of a lake, by the names that statements give them.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use futures::StreamExt;
use stationdb::scans::RecordKind;
use stationdb::tables::{Column, TableMetadata};
use stationdb::{Error, Result, from_json};

use super::plans::{Plans, column};
use super::records::records;
use crate::errors::failed;

/// A measurement table of a station.
#[derive(Clone, Debug)]
pub(super) struct StationTable {
    pub station: Arc<str>,
    pub id: String,
    pub columns: Arc<Vec<Column>>,
}

/// Tables by name.
#[derive(Debug, Default)]
pub(super) struct Names {
    tables: Vec<StationTable>,
    by_name: BTreeMap<String, usize>,
}

/// What has a name: one table, or several.
type Owner = Option<usize>;

fn named(names: &mut BTreeMap<String, Owner>, name: String, table: usize) {
    names.entry(name).and_modify(|owner| *owner = None).or_insert(Some(table));
}

impl Names {
    /// Reads the metadata of all tables.
    ///
    /// A table is found by its id or name if no other one in the lake has it, and by its station
    /// with a slash before either. An id that another table has as its name stays the id.
    pub(super) async fn read(plans: &Plans) -> Result<Self> {
        let frame = records(plans, RecordKind::Table, true).map_err(failed)?;
        let wanted = vec![column("_station"), column("record")];
        let frame = frame.select(wanted).map_err(failed)?;
        let mut batches = frame.execute_stream().await.map_err(failed)?;
        let mut found = Self::default();
        let (mut ids, mut names) = (BTreeMap::new(), BTreeMap::new());
        // Most tables have the columns of many others.
        let mut shared: BTreeMap<String, Arc<Vec<Column>>> = BTreeMap::new();
        let mut stations: BTreeMap<String, Arc<str>> = BTreeMap::new();
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(failed)?;
            let (Some(of), Some(json)) =
                (batch.column(0).as_string_opt::<i32>(), batch.column(1).as_string_opt::<i32>())
            else {
                return Err(Error::corrupt("the metadata of tables in the lake is no text"));
            };
            for (station, json) in of.iter().zip(json) {
                let (Some(station), Some(json)) = (station, json) else { continue };
                let table: TableMetadata = from_json(json.as_bytes())?;
                let Some(id) = table.id.as_ref().map(ToString::to_string) else { continue };
                let columns = table.columns.unwrap_or_default();
                let key = format!("{columns:?}");
                let columns = shared.entry(key).or_insert_with(|| Arc::new(columns)).clone();
                let at = found.tables.len();
                named(&mut ids, id.clone(), at);
                named(&mut ids, format!("{station}/{id}"), at);
                if let Some(name) = table.name {
                    named(&mut names, format!("{station}/{name}"), at);
                    named(&mut names, name, at);
                }
                let own = stations.entry(station.to_owned()).or_insert_with(|| station.into());
                found.tables.push(StationTable { station: own.clone(), id, columns });
            }
        }
        // What several have is the name of none, also if one has it as id and another as name.
        let mut all = ids;
        for (name, owner) in names {
            all.entry(name).or_insert(owner);
        }
        found.by_name = all.into_iter().filter_map(|(name, owner)| Some((name, owner?))).collect();
        Ok(found)
    }

    pub(super) fn get(&self, name: &str) -> Option<&StationTable> {
        self.tables.get(*self.by_name.get(name)?)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }
}
