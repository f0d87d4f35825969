//! The work items: how they are made, and naive answers to compare with those of the store.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use stationdb::lab::TimelineDefinition;
use stationdb::prelude::*;
use stationdb::work_items::{
    CreateWorkItemRequest, CreateWorkItemTemplateRequest, QueryWorkItemsRequest, WorkItem,
};
use stationdb::{Identity, Session, Store};

use super::{count_of, millis, newest, number_of};
use crate::common::{Res, hash};
use crate::words::word;

/// Items of one batch.
pub const BATCH: usize = 1_000;
pub const STATES: [&str; 5] = ["NEW", "DEFINED", "SCHEDULED", "IN_PROGRESS", "CLOSED"];
const TYPES: [&str; 4] = ["testplan", "workorder", "job", "maintenance"];
const VERBS: [&str; 8] =
    ["Verify", "Characterise", "Calibrate", "Inspect", "Burn-in", "Retest", "Screen", "Qualify"];
const WORDS: u64 = 2_000;
const TEMPLATES: usize = 500;

/// The queries, by the names of the peers' metrics.
pub const QUERIES: [&str; 7] = [
    "q1_state_part_top100",
    "q2_count_state",
    "q3_count_unindexed",
    "q4_contains_count",
    "q4_contains_top100",
    "q5_property_top100",
    "q6_property_count",
];

/// Returns the time at which the item `number` is made.
pub fn moment(number: usize) -> DateTime<Utc> {
    millis(1_700_000_000_000 + number as i64 * 1_000)
}

fn vocabulary() -> &'static [String] {
    static WORDS_OF_40: OnceLock<Vec<String>> = OnceLock::new();
    WORDS_OF_40.get_or_init(|| (0..WORDS).map(|i| word(40, i, 6, 12)).collect())
}

fn pick(column: u64, number: u64) -> &'static str {
    vocabulary()[(hash(column, number) % WORDS) as usize].as_str()
}

/// The text of the Contains queries: letters 2 to 6 of the word 437.
fn needle() -> &'static str {
    &vocabulary()[437][1..6]
}

/// The members of an item that change after its creation.
#[derive(Clone, Copy)]
struct Changing {
    state: u8,
    updated_ms: i64,
}

/// All items, without the members that follow from their number.
pub struct Items {
    templates: Vec<String>,
    /// Ids are consecutive.
    first_id: u64,
    changing: Vec<Changing>,
}

impl Items {
    pub fn new(records: usize) -> Self {
        Self { templates: Vec::new(), first_id: 0, changing: Vec::with_capacity(records) }
    }

    pub fn id(&self, number: usize) -> u64 {
        self.first_id + number as u64
    }

    /// Creates the templates that the items name. Items take no members from them.
    pub fn create_templates(&mut self, store: &Store) -> Res<()> {
        let template = |number| {
            CreateWorkItemTemplateRequest::new()
                .name(format!("Template {number}"))
                .template_group("bench")
                .r#type("job")
        };
        let answer = store
            .session(Identity::user("bench"))
            .create_work_item_templates((0..TEMPLATES).map(template).collect())?;
        let id = |template: &stationdb::work_items::WorkItemTemplate| {
            template.id.as_ref().map(|id| id.as_str().to_owned())
        };
        self.templates = answer.created_work_item_templates.iter().filter_map(id).collect();
        assert_eq!(self.templates.len(), TEMPLATES);
        Ok(())
    }

    pub fn requests(&self, start: usize, count: usize) -> Vec<CreateWorkItemRequest> {
        (start..start + count).map(|number| self.request(number)).collect()
    }

    fn request(&self, number: usize) -> CreateWorkItemRequest {
        let i = number as u64;
        let created = moment(number).timestamp_millis();
        let planned = hash(20, i) % 10 < 7;
        let user = |column| format!("user-{:03}", hash(column, i) % 300);
        let properties = BTreeMap::from([
            ("station".to_owned(), station(i)),
            ("operator".to_owned(), user(31)),
            (
                "firmware".to_owned(),
                format!("{}.{}.{}", hash(32, i) % 5, hash(33, i) % 10, hash(34, i) % 20),
            ),
            ("customer".to_owned(), pick(35, i).to_owned()),
            ("lot".to_owned(), lot(i)),
        ]);
        {
            CreateWorkItemRequest::new()
                .name(name(i))
                .r#type(TYPES[(hash(14, i) % 4) as usize].to_owned())
                .state(STATES[first_state(i)].to_owned())
                .description((50..62).map(|column| pick(column, i)).collect::<Vec<_>>().join(" "))
                .template_id(self.templates[(hash(27, i) % TEMPLATES as u64) as usize].clone())
                .assigned_to(user(18))
                .requested_by(user(19))
                .test_program(format!("Program {}", pick(26, i)))
                .part_number(part_number(i))
                .workspace(format!("ws-{:02}", hash(25, i) % 20))
                .timeline(
                    TimelineDefinition::new()
                        .estimated_duration_in_seconds(duration(i))
                        .maybe_earliest_start_date_time(
                            planned.then(|| millis(created + 86_400_000)),
                        )
                        .maybe_due_date_time(planned.then(|| millis(created + 2 * 86_400_000))),
                )
                .properties(properties)
                .maybe_parent_id(
                    hash(28, i)
                        .is_multiple_of(4)
                        .then(|| (1_000_000 + hash(29, i) % (i + 1)).to_string()),
                )
        }
    }

    /// Records what the store returned for a batch.
    pub fn created(&mut self, batch: &[WorkItem]) {
        for item in batch {
            let number = self.changing.len();
            let id = number_of(item).unwrap_or_default();
            if number == 0 {
                self.first_id = id;
            }
            assert_eq!(id, self.id(number), "ids are consecutive");
            let updated_ms = item.updated_at.unwrap_or_default().timestamp_millis();
            self.changing.push(Changing { state: first_state(number as u64) as u8, updated_ms });
        }
    }

    /// Records a batch of updates.
    pub fn updated(&mut self, numbers: &[usize], batch: usize, at: DateTime<Utc>) {
        for &number in numbers {
            self.changing[number] =
                Changing { state: ((number + batch) % 5) as u8, updated_ms: at.timestamp_millis() };
        }
    }

    /// Returns the request of a query.
    pub fn query(&self, name: &str) -> QueryWorkItemsRequest {
        let contains = || format!("name.Contains(\"{}\")", needle());
        match name {
            "q1_state_part_top100" => {
                newest("state == \"NEW\" && partNumber == \"PN-00437\"".into())
            }
            "q2_count_state" => count_of("state == \"NEW\"".into()),
            "q3_count_unindexed" => count_of("timeline.estimatedDurationInSeconds > 1800".into()),
            "q4_contains_count" => count_of(contains()),
            "q4_contains_top100" => newest(contains()),
            "q5_property_top100" => {
                newest("properties[\"station\"] == \"STN-017\" && state == \"NEW\"".into())
            }
            _ => count_of("properties[\"lot\"] == \"LOT004370\"".into()),
        }
    }

    fn matches(&self, name: &str, number: usize) -> bool {
        let i = number as u64;
        let is_new = self.changing[number].state == 0;
        match name {
            "q1_state_part_top100" => is_new && part_number_of(i) == 437,
            "q2_count_state" => is_new,
            "q3_count_unindexed" => duration(i) > 1800,
            "q4_contains_count" | "q4_contains_top100" => words_have_needle(i),
            "q5_property_top100" => is_new && hash(30, i) % 200 == 17,
            _ => hash(36, i) % 100_000 == 4_370,
        }
    }

    /// Runs a query. Returns the number of matches, or of records on the page.
    pub fn ask(&self, session: &Session, name: &str) -> Res<u64> {
        let page = session.query_work_items(self.query(name))?;
        Ok(match page.total_count {
            Some(count) => count,
            None => page.work_items.len() as u64,
        })
    }

    /// Compares every answer with the naive one.
    pub fn check(&self, session: &Session) -> Res<()> {
        for name in QUERIES {
            let mut expected: Vec<usize> =
                (0..self.changing.len()).filter(|&number| self.matches(name, number)).collect();
            let page = session.query_work_items(self.query(name))?;
            if let Some(count) = page.total_count {
                assert_eq!(count, expected.len() as u64, "{name}");
                continue;
            }
            expected.sort_by_key(|&number| (-self.changing[number].updated_ms, number));
            expected.truncate(100);
            let found: Vec<u64> = page.work_items.iter().map(number_of).collect::<Res<_>>()?;
            let expected: Vec<u64> = expected.into_iter().map(|number| self.id(number)).collect();
            assert_eq!(found, expected, "{name}");
        }
        Ok(())
    }
}

fn first_state(i: u64) -> usize {
    (hash(15, i) % 5) as usize
}

fn part_number_of(i: u64) -> u64 {
    hash(17, i) % 1000
}

fn part_number(i: u64) -> String {
    format!("PN-{:05}", part_number_of(i))
}

fn duration(i: u64) -> i64 {
    (hash(24, i) % 3600) as i64
}

fn station(i: u64) -> String {
    format!("STN-{:03}", hash(30, i) % 200)
}

fn lot(i: u64) -> String {
    format!("LOT{:06}", hash(36, i) % 100_000)
}

fn name(i: u64) -> String {
    let verb = VERBS[(hash(10, i) % 8) as usize];
    format!("{verb} {} {} #{:05}", pick(11, i), pick(12, i), hash(13, i) % 100_000)
}

/// Returns whether the name contains the needle; only its two words can.
fn words_have_needle(i: u64) -> bool {
    static HAVE: OnceLock<Vec<bool>> = OnceLock::new();
    let have =
        HAVE.get_or_init(|| vocabulary().iter().map(|word| word.contains(needle())).collect());
    [11, 12].iter().any(|&column| have[(hash(column, i) % WORDS) as usize])
}
