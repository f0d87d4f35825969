//! Request members for which absent, null and a value mean different things.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A member of a request in which absent and null mean different things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Not in the request: keep what is stored.
    #[default]
    Absent,
    /// Present and null: clears the stored value, or does what the page of the service in
    /// `docs/reference` says.
    Null,
    /// Present with a value.
    Value(T),
}

impl<T> Patch<T> {
    /// `Value` of the value, or `Absent` for `None`.
    pub(crate) fn given<V: Into<T>>(value: Option<V>) -> Self {
        value.map_or(Self::Absent, |value| Self::Value(value.into()))
    }

    /// The value, if there is one.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Changes the value, or the default where there is none.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut T))
    where
        T: Default,
    {
        let mut value = match std::mem::take(self) {
            Self::Value(value) => value,
            Self::Absent | Self::Null => T::default(),
        };
        change(&mut value);
        *self = Self::Value(value);
    }

    /// Whether the member is in the request.
    pub fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// Sets `target` to the value, clears it on null, and leaves it when absent.
    pub fn apply(self, target: &mut Option<T>) {
        match self {
            Self::Absent => {}
            Self::Null => *target = None,
            Self::Value(value) => *target = Some(value),
        }
    }
}

impl<T> From<T> for Patch<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

impl<T: Serialize> Serialize for Patch<T> {
    /// Writes `Absent` as `none`, which `SkipNulls` omits, and `Null` as a unit, which it keeps.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Null => serializer.serialize_unit(),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<T>::deserialize(deserializer)?.map_or(Self::Null, Self::Value))
    }
}
