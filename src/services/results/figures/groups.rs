//! Groups of results: what they are grouped by, and the numbers of the groups.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::calendar::{Calendar, Shifts, Span};
use super::zone::Zone;
use crate::error::{Error, Result};
use crate::model::TimeBucket;
use crate::model::results::figure_requests::YieldsRequest;
use crate::model::results::figures::ResultGroup;
use crate::services::lists;
use crate::value::limits;
use crate::value::time;

/// What results are grouped by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupField {
    /// A member of the result, or a stretch of its start.
    Field(ResultGroup),
    /// An entry of its properties.
    Property(String),
}

impl GroupField {
    /// The fields of a request, each once.
    ///
    /// # Errors
    /// `LimitExceeded` for too many; `InvalidArgument` for a text that names none.
    pub(crate) fn parse_all(texts: &[String]) -> Result<Vec<Self>> {
        lists::check("groupBy", texts.len())?;
        let mut seen = HashSet::new();
        let distinct: Vec<(usize, &String)> =
            texts.iter().enumerate().filter(|(_, text)| seen.insert(*text)).collect();
        if distinct.len() > limits::AGGREGATE_KEYS {
            let most = limits::AGGREGATE_KEYS;
            return Err(Error::limit(format!("more than {most} keys of groups; at most {most}"))
                .at_member("groupBy"));
        }
        let field = |(at, text): (usize, &String)| match text.strip_prefix("properties.") {
            Some(key) => Ok(Self::Property(key.to_owned())),
            None => text
                .parse()
                .map(Self::Field)
                .map_err(|error: Error| error.at_member(format!("groupBy[{at}]"))),
        };
        distinct.into_iter().map(field).collect()
    }

    /// Whether it is a stretch of the start.
    pub(super) fn is_time(&self) -> bool {
        use ResultGroup as Of;
        let Self::Field(field) = self else { return false };
        matches!(
            field,
            Of::Hour | Of::Day | Of::Week | Of::Month | Of::Quarter | Of::Year | Of::Shift
        )
    }

    fn span(&self, shift_hours: &[i64]) -> Result<Option<Span>> {
        let Self::Field(field) = self else { return Ok(None) };
        Ok(Some(match field {
            ResultGroup::Hour => Span::Bucket(TimeBucket::Hour),
            ResultGroup::Day => Span::Bucket(TimeBucket::Day),
            ResultGroup::Week => Span::Bucket(TimeBucket::Week),
            ResultGroup::Month => Span::Bucket(TimeBucket::Month),
            ResultGroup::Quarter => Span::Bucket(TimeBucket::Quarter),
            ResultGroup::Year => Span::Bucket(TimeBucket::Year),
            ResultGroup::Shift => Span::Shift(Shifts::new(shift_hours)?),
            ResultGroup::PartNumber
            | ResultGroup::ProgramName
            | ResultGroup::Operator
            | ResultGroup::SystemId
            | ResultGroup::HostName
            | ResultGroup::Workspace
            | ResultGroup::ProductFamily => return Ok(None),
        }))
    }
}

/// One key of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Text(String),
    Time(i64),
}

/// The groups, numbered from 0 in the order in which they are met.
#[derive(Debug)]
pub(crate) struct Groups {
    /// By key, the calendar if it is a time.
    calendars: Vec<Option<Calendar>>,
    numbers: HashMap<Vec<u8>, usize>,
    keys: Vec<Vec<Option<Key>>>,
    /// The keys as bytes that differ where they do.
    bytes: Vec<u8>,
    /// The last group, and its bytes.
    last: Option<(Vec<u8>, usize)>,
    /// If the only key is a time: the groups by the number of their stretch.
    by_stretch: Vec<Option<usize>>,
}

impl Groups {
    /// The fields of a request, and groups by them.
    ///
    /// # Errors
    /// `InvalidArgument` for fields, a zone or hours that are none.
    pub(crate) fn of_request(request: &YieldsRequest) -> Result<(Vec<GroupField>, Self)> {
        let fields = GroupField::parse_all(request.group_by.as_deref().unwrap_or_default())?;
        let zone = request.time_zone.as_deref().map_or_else(|| Ok(Zone::default()), Zone::new);
        let zone = zone.map_err(|error| error.at_member("timeZone"))?;
        let groups = Self::new(&fields, zone, request.shift_hours.as_deref().unwrap_or_default())?;
        Ok((fields, groups))
    }

    /// # Errors
    /// `InvalidArgument` for shifts without hours.
    pub(crate) fn new(fields: &[GroupField], zone: Zone, shift_hours: &[i64]) -> Result<Self> {
        let calendar =
            |field: &GroupField| Ok(field.span(shift_hours)?.map(|span| Calendar::new(span, zone)));
        let calendars = fields.iter().map(calendar).collect::<Result<Vec<_>>>()?;
        let mut groups = Self {
            calendars,
            numbers: HashMap::new(),
            keys: Vec::new(),
            bytes: Vec::new(),
            last: None,
            by_stretch: Vec::new(),
        };
        if fields.is_empty() {
            // One group, also of nothing.
            groups.number(&[], 0)?;
        }
        Ok(groups)
    }

    /// The number of the group with these keys; `texts` has one for each field, none for times. It
    /// may be empty where all fields are times.
    ///
    /// # Errors
    /// `LimitExceeded` for too many groups.
    pub(crate) fn number(&mut self, texts: &[Option<&str>], started_at_ms: i64) -> Result<usize> {
        let [Some(calendar)] = self.calendars.as_mut_slice() else {
            return self.number_of_keys(texts, started_at_ms);
        };
        let Some((_, Some(stretch))) = calendar.stretch_of(started_at_ms) else {
            return self.number_of_keys(texts, started_at_ms);
        };
        if let Some(Some(number)) = self.by_stretch.get(stretch) {
            return Ok(*number);
        }
        let number = self.number_of_keys(texts, started_at_ms)?;
        if stretch >= self.by_stretch.len() {
            self.by_stretch.resize(stretch + 1, None);
        }
        if let Some(known) = self.by_stretch.get_mut(stretch) {
            *known = Some(number);
        }
        Ok(number)
    }

    /// As [`Self::number`], by the bytes of the keys.
    fn number_of_keys(&mut self, texts: &[Option<&str>], started_at_ms: i64) -> Result<usize> {
        self.bytes.clear();
        let mut rest = texts.iter();
        for calendar in &mut self.calendars {
            let text = rest.next().copied().flatten();
            match calendar {
                Some(calendar) => {
                    let start = calendar.start_of(started_at_ms);
                    self.bytes.push(u8::from(start.is_some()));
                    self.bytes.extend(start.unwrap_or_default().to_le_bytes());
                }
                None => {
                    self.bytes.push(u8::from(text.is_some()));
                    let text = text.unwrap_or_default();
                    self.bytes.extend((text.len() as u64).to_le_bytes());
                    self.bytes.extend(text.as_bytes());
                }
            }
        }
        if let Some((bytes, number)) = &self.last
            && *bytes == self.bytes
        {
            return Ok(*number);
        }
        let number = match self.numbers.get(&self.bytes) {
            Some(number) => *number,
            None => self.insert(texts, started_at_ms)?,
        };
        let (bytes, last) = self.last.get_or_insert_default();
        bytes.clone_from(&self.bytes);
        *last = number;
        Ok(number)
    }

    fn insert(&mut self, texts: &[Option<&str>], started_at_ms: i64) -> Result<usize> {
        let number = self.keys.len();
        if number >= limits::AGGREGATE_GROUPS {
            return Err(Error::limit(format!(
                "more than {0} groups; AGGREGATE_GROUPS allows {0}: group by less or by longer \
                 times, or filter the results",
                limits::AGGREGATE_GROUPS
            ))
            .with_args([limits::AGGREGATE_GROUPS.to_string()])
            .at_member("groupBy"));
        }
        let mut rest = texts.iter();
        let keys = self.calendars.iter_mut().map(|calendar| {
            let text = rest.next().copied().flatten();
            match calendar {
                Some(calendar) => calendar.start_of(started_at_ms).map(Key::Time),
                None => text.map(|text| Key::Text(text.to_owned())),
            }
        });
        self.keys.push(keys.collect());
        self.numbers.insert(self.bytes.clone(), number);
        Ok(number)
    }

    /// The texts of the keys, and the number of each group, in order of the keys, null last.
    pub(crate) fn in_order(self) -> Vec<(Vec<Option<String>>, usize)> {
        let mut keys: Vec<_> = self.keys.into_iter().enumerate().collect();
        keys.sort_unstable_by(|(_, left), (_, right)| {
            let orders = left
                .iter()
                .zip(right)
                .map(|(left, right)| nulls_last(left.as_ref(), right.as_ref()));
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        let text = |key: Option<Key>| {
            key.map(|key| match key {
                Key::Text(text) => text,
                Key::Time(ms) => time::format(time::from_millis(ms)),
            })
        };
        let texts = |keys: Vec<Option<Key>>| keys.into_iter().map(text).collect();
        keys.into_iter().map(|(number, keys)| (texts(keys), number)).collect()
    }
}

/// Ascending, nothing last.
pub(super) fn nulls_last<T: Ord>(left: Option<T>, right: Option<T>) -> Ordering {
    left.is_none().cmp(&right.is_none()).then_with(|| left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(texts: &[&str]) -> Result<Vec<GroupField>> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        GroupField::parse_all(&texts)
    }

    #[test]
    fn fields_are_read_in_any_spelling_and_properties_as_they_are() {
        let read = fields(&["partNumber", "WEEK", "properties.Lot_1"]).unwrap();
        assert_eq!(
            read,
            [
                GroupField::Field(ResultGroup::PartNumber),
                GroupField::Field(ResultGroup::Week),
                GroupField::Property("Lot_1".to_owned())
            ]
        );
        assert!(fields(&["lot"]).is_err());
        assert_eq!(fields(&["SHIFT"; 33]).unwrap().len(), 1, "each key once");
        let many: Vec<String> = (0..33).map(|key| format!("properties.{key}")).collect();
        assert!(GroupField::parse_all(&many).is_err());
        assert!(GroupField::parse_all(&many[1..]).is_ok());
        let shift = fields(&["SHIFT"]).unwrap();
        assert!(Groups::new(&shift, Zone::default(), &[]).is_err());
        assert!(Groups::new(&shift, Zone::default(), &[6]).is_ok());
    }

    #[test]
    fn groups_come_in_order_with_nulls_last() {
        let by = fields(&["OPERATOR", "DAY", "HOST_NAME"]).unwrap();
        let mut groups = Groups::new(&by, Zone::default(), &[]).unwrap();
        let day = 86_400_000;
        let met = [
            (None, 0, Some("h")),
            (Some("b"), day, None),
            (Some("b"), 0, None),
            (Some("b"), 5, Some("")),
            (Some(""), 9 * day, Some("a")),
            // The bytes of two texts must not flow together.
            (Some("ab"), 0, Some("c")),
            (Some("a"), 0, Some("bc")),
        ];
        for round in 0..2 {
            for (at, (operator, time, host)) in met.iter().enumerate() {
                let number = groups.number(&[*operator, None, *host], *time).unwrap();
                assert_eq!(number, at, "{round}");
            }
        }
        let first = Some("1970-01-01T00:00:00.000Z".to_owned());
        let order = groups.in_order();
        let numbers: Vec<usize> = order.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [4, 6, 5, 3, 2, 1, 0]);
        assert_eq!(order[3].0, [Some("b".to_owned()), first, Some(String::new())]);
    }

    #[test]
    fn requests_name_fields_zones_and_hours() {
        let mut request = YieldsRequest::new();
        assert!(Groups::of_request(&request).unwrap().0.is_empty());
        request.group_by = Some(vec!["operator".to_owned(), "shift".to_owned()]);
        assert!(Groups::of_request(&request).is_err());
        request.shift_hours = Some(vec![6, 18]);
        request.time_zone = Some("+01:00".to_owned());
        let (fields, mut groups) = Groups::of_request(&request).unwrap();
        assert_eq!(fields.len(), 2);
        groups.number(&[Some("ann"), None], 0).unwrap();
        let keys = ["ann", "1969-12-31T17:00:00.000Z"].map(|key| Some(key.to_owned()));
        assert_eq!(groups.in_order(), [(keys.to_vec(), 0)]);
        request.time_zone = Some("there".to_owned());
        assert!(Groups::of_request(&request).is_err());
    }

    #[test]
    fn without_fields_there_is_one_group() {
        let mut groups = Groups::new(&[], Zone::default(), &[]).unwrap();
        assert_eq!(groups.number(&[], 7).unwrap(), 0);
        assert_eq!(groups.in_order(), [(Vec::new(), 0)]);
    }
}
