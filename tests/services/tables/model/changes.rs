//! Columns that come and go in the model.

use crate::prelude::*;

use super::cells::{Cell, KINDS, Spread};
use super::{ColumnOf, World, read};

/// Few names, so that dropped ones come again.
const NAMES: [&str; 6] = ["a.b", "\"q\"", "x,y", "ä", "A", "nul\0"];

enum Change {
    Add(AddColumnsRequest),
    Rename(RenameColumnsRequest),
    Drop(DropColumnsRequest),
}

impl World {
    /// Adds, renames or drops columns.
    pub(super) fn change_columns(&mut self) {
        let has = |world: &Self, name: &str| world.columns.iter().any(|c| c.name == name);
        let mut free: Vec<&str> = NAMES.into_iter().filter(|name| !has(self, name)).collect();
        let mut columns = self.columns.clone();
        let some = 1 + self.rng.below(2);
        let mut left: Vec<usize> = (0..columns.len()).collect();
        let change = match self.rng.below(3) {
            0 if !free.is_empty() => {
                free.truncate(some);
                let mut declared = Vec::new();
                for name in free {
                    let kind = self.rng.pick(&KINDS);
                    let wire = kind.wire();
                    declared
                        .push(json!({"name": name, "dataType": wire, "columnType": "NULLABLE"}));
                    let spread = self.rng.pick(&[Spread::Few, Spread::Ends, Spread::Many]);
                    columns.push(ColumnOf { name: name.into(), kind, nullable: true, spread });
                }
                Change::Add(read(&json!({ "columns": declared })))
            }
            1 => {
                // The new names are a free one, or those of each other.
                let chosen = self.rng.some(&left, 1 + some);
                let mut names: Vec<String> =
                    chosen.iter().map(|at| columns[*at].name.clone()).collect();
                names.rotate_left(1);
                if let Some(name) = free.first() {
                    names[0] = (*name).to_owned();
                }
                let mut pairs = Vec::new();
                for (at, name) in chosen.into_iter().zip(names) {
                    pairs.push(json!({"name": columns[at].name, "newName": name}));
                    columns[at].name = name;
                }
                Change::Rename(read(&json!({ "columns": pairs })))
            }
            _ => {
                left.retain(|at| *at != self.index && *at != self.number);
                let gone = self.rng.some(&left, some);
                if gone.is_empty() {
                    return;
                }
                let names: Vec<String> = gone.iter().map(|at| columns[*at].name.clone()).collect();
                let kept = |at: &usize| !gone.contains(at);
                let all: Vec<usize> = (0..columns.len()).filter(kept).collect();
                columns = all.iter().map(|at| columns[*at].clone()).collect();
                for row in &mut self.rows {
                    *row = all.iter().map(|at| row[*at].clone()).collect();
                }
                let now = |old: usize| all.iter().position(|at| *at == old).unwrap();
                (self.index, self.number) = (now(self.index), now(self.number));
                Change::Drop(read(&json!({ "columns": names })))
            }
        };
        for row in &mut self.rows {
            row.resize(columns.len(), Cell::Null);
        }
        self.columns = columns;
        let id = self.id.as_str().into();
        if self.rng.chance(30) {
            // Rolled back, and then repeated.
            let undone = self.session.transaction(|tx| -> stationdb::Result<()> {
                match &change {
                    Change::Add(request) => tx.add_columns(&id, request.clone())?,
                    Change::Rename(request) => tx.rename_columns(&id, request.clone())?,
                    Change::Drop(request) => tx.drop_columns(&id, request.clone())?,
                }
                tx.get_table_data(&id, Default::default())?;
                Err(stationdb::Error::invalid("never mind"))
            });
            assert!(undone.is_err());
        }
        match change {
            Change::Add(request) => self.session.add_columns(&id, request),
            Change::Rename(request) => self.session.rename_columns(&id, request),
            Change::Drop(request) => self.session.drop_columns(&id, request),
        }
        .unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        self.pause();
        if self.rng.chance(10) {
            self.move_to_a_backup();
        }
    }
}
