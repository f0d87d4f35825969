//! The names of the columns of a table.

use std::collections::HashMap;

use super::header::{Channel, X_VALUE};
use super::survey::Group;

/// The names of the columns, none of them twice.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) channels: Vec<String>,
    pub(super) comment: Option<String>,
    pub(super) x: String,
    pub(super) time: Option<String>,
    pub(super) segment: Option<String>,
    /// All of them.
    pub(super) all: Vec<String>,
}

impl Names {
    pub(super) fn of(group: &Group, channels: &[Channel]) -> Self {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut all = Vec::new();
        let mut unique = |name: &str| {
            let mut found = name.to_owned();
            while seen.contains_key(&found) {
                let count = seen.entry(name.to_owned()).or_insert(1);
                *count += 1;
                found = format!("{name} {count}");
            }
            seen.insert(found.clone(), 1);
            all.push(found.clone());
            found
        };
        let x = unique(X_VALUE);
        let channels = channels.iter().map(|channel| unique(&channel.name)).collect();
        let comment = group.first.comment.map(|_| unique("Comment"));
        let time = group.has_times.then(|| unique("time"));
        let segment = (group.parts.len() > 1).then(|| unique("segment"));
        Self { channels, comment, x, time, segment, all }
    }
}

/// The channels of a table: one of them if only that is in it.
pub(super) fn channels(group: &Group, only: Option<usize>) -> Vec<Channel> {
    match only.and_then(|at| group.first.channels.get(at)) {
        Some(channel) => vec![channel.clone()],
        None => group.first.channels.clone(),
    }
}

/// The names of the columns of a table.
pub(super) fn names(group: &Group, only: Option<usize>) -> Vec<String> {
    Names::of(group, &channels(group, only)).all
}
