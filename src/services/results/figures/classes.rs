//! Which statuses are good, which are bad, and which are not counted.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::results::StatusType;
use crate::model::results::figure_requests::ResultSelection;
use crate::model::results::figures::FigureClass;
use crate::services::lists;

const GOOD: &[StatusType] = &[StatusType::Passed];
const BAD: &[StatusType] =
    &[StatusType::Failed, StatusType::Errored, StatusType::Terminated, StatusType::TimedOut];

/// The classes of statuses, of results and of steps.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    good: Vec<StatusType>,
    bad: Vec<StatusType>,
    custom: BTreeMap<String, FigureClass>,
}

impl Default for Classes {
    fn default() -> Self {
        Self { good: GOOD.to_vec(), bad: BAD.to_vec(), custom: BTreeMap::new() }
    }
}

impl Classes {
    /// The classes of a request, whose lists replace those that are there without it.
    ///
    /// # Errors
    /// `InvalidArgument` for a type that is good and bad.
    pub(crate) fn new(
        good: Option<&[StatusType]>,
        bad: Option<&[StatusType]>,
        custom: Option<&BTreeMap<String, FigureClass>>,
    ) -> Result<Self> {
        let (good, bad) = (good.unwrap_or(GOOD), bad.unwrap_or(BAD));
        if let Some(both) = good.iter().find(|good| bad.contains(good)) {
            return Err(Error::invalid(format!("{both} is good and bad; it must be one of them"))
                .with_args([both.as_str()])
                .at_member("good"));
        }
        let custom = custom.cloned().unwrap_or_default();
        Ok(Self { good: good.to_vec(), bad: bad.to_vec(), custom })
    }

    /// The classes of a request.
    ///
    /// # Errors
    /// As [`Classes::new`]; `LimitExceeded` for too many entries.
    pub(crate) fn of_request(selection: &ResultSelection<'_>) -> Result<Self> {
        lists::check("custom", selection.custom.map_or(0, BTreeMap::len))?;
        let distinct = |member: &str, types: Option<&[StatusType]>| {
            types.map(|types| lists::distinct(member, types)).transpose()
        };
        let (good, bad) = (distinct("good", selection.good)?, distinct("bad", selection.bad)?);
        Self::new(good.as_deref(), bad.as_deref(), selection.custom)
    }

    /// Whether the name of a status matters.
    pub(crate) fn read_names(&self) -> bool {
        !self.custom.is_empty()
    }

    /// The class of a status. The name of a status matters only where its type is `CUSTOM`.
    pub(crate) fn of(&self, status_type: StatusType, status_name: Option<&str>) -> FigureClass {
        let named = || self.custom.get(status_name?).copied();
        if status_type == StatusType::Custom
            && let Some(class) = named()
        {
            return class;
        }
        if self.good.contains(&status_type) {
            FigureClass::Good
        } else if self.bad.contains(&status_type) {
            FigureClass::Bad
        } else {
            FigureClass::Ignore
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_types_are_counted() {
        let classes = Classes::default();
        for status in StatusType::ALL {
            let expected = match status {
                StatusType::Passed => FigureClass::Good,
                StatusType::Failed
                | StatusType::Errored
                | StatusType::Terminated
                | StatusType::TimedOut => FigureClass::Bad,
                _ => FigureClass::Ignore,
            };
            assert_eq!(classes.of(*status, Some("PASSED")), expected, "{status}");
        }
    }

    #[test]
    fn lists_replace_and_names_of_custom_statuses_count() {
        use StatusType::{Custom, Done, Errored, Failed, Passed};
        let custom = BTreeMap::from([
            ("Reworked".to_owned(), FigureClass::Good),
            ("Scrapped".to_owned(), FigureClass::Bad),
            ("Aborted".to_owned(), FigureClass::Ignore),
        ]);
        let classes = Classes::new(Some(&[Passed, Done]), Some(&[Failed]), Some(&custom)).unwrap();
        assert_eq!(classes.of(Done, None), FigureClass::Good);
        assert_eq!(classes.of(Errored, None), FigureClass::Ignore);
        assert_eq!(classes.of(Custom, Some("Reworked")), FigureClass::Good);
        assert_eq!(classes.of(Custom, Some("Scrapped")), FigureClass::Bad);
        assert_eq!(classes.of(Custom, Some("reworked")), FigureClass::Ignore);
        assert_eq!(classes.of(Custom, None), FigureClass::Ignore);
        // A name of another type says nothing.
        assert_eq!(classes.of(Failed, Some("Reworked")), FigureClass::Bad);
        // All custom statuses, but those that are named.
        let classes = Classes::new(Some(&[Custom]), None, Some(&custom)).unwrap();
        assert_eq!(classes.of(Custom, Some("Aborted")), FigureClass::Ignore);
        assert_eq!(classes.of(Custom, None), FigureClass::Good);
        assert_eq!(classes.of(Passed, None), FigureClass::Ignore);
    }

    #[test]
    fn a_type_in_both_lists_is_refused() {
        use StatusType::{Failed, Passed};
        assert!(Classes::new(Some(&[Passed]), Some(&[Failed, Passed]), None).is_err());
        // The list that is there without the request counts.
        assert!(Classes::new(Some(&[Passed, Failed]), None, None).is_err());
        assert!(Classes::new(None, Some(&[Passed]), None).is_err());
        assert!(Classes::new(Some(&[]), Some(&[]), None).is_ok());
    }
}
