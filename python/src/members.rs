//! Single members of what serde writes as an object, without writing the others.

use pyo3::prelude::*;
use pythonize::{PythonizeError, pythonize};
use serde::ser::{Error as _, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};

/// The member `name` as an object of Python; `None` if it is not written.
///
/// # Errors
/// A value that is no object, or a member without a form in Python.
pub fn member(py: Python<'_>, value: &impl Serialize, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let walk = Walk { py, wanted: Some(name), key: None, names: Vec::new(), found: None };
    Ok(value.serialize(walk)?.found)
}

/// The names of all members that are written.
///
/// # Errors
/// A value that is no object.
pub fn names(py: Python<'_>, value: &impl Serialize) -> PyResult<Vec<String>> {
    let walk = Walk { py, wanted: None, key: None, names: Vec::new(), found: None };
    Ok(value.serialize(walk)?.names)
}

/// A walk over the members of an object.
struct Walk<'py, 'n> {
    py: Python<'py>,
    /// The member that is taken; without it the names are.
    wanted: Option<&'n str>,
    /// The key of a map whose value is next.
    key: Option<String>,
    names: Vec<String>,
    found: Option<Py<PyAny>>,
}

impl Walk<'_, '_> {
    fn take<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), PythonizeError> {
        match self.wanted {
            None => self.names.push(name.to_owned()),
            Some(wanted) if wanted == name => {
                self.found = Some(pythonize(self.py, value)?.unbind());
            }
            Some(_) => {}
        }
        Ok(())
    }
}

impl SerializeStruct for Walk<'_, '_> {
    type Ok = Self;
    type Error = PythonizeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), PythonizeError> {
        self.take(key, value)
    }

    fn end(self) -> Result<Self, PythonizeError> {
        Ok(self)
    }
}

impl SerializeMap for Walk<'_, '_> {
    type Ok = Self;
    type Error = PythonizeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), PythonizeError> {
        self.key = Some(pythonize(self.py, key)?.extract().map_err(PythonizeError::custom)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), PythonizeError> {
        let key = self.key.take().unwrap_or_default();
        self.take(&key, value)
    }

    fn end(self) -> Result<Self, PythonizeError> {
        Ok(self)
    }
}

fn no_object<T>() -> Result<T, PythonizeError> {
    Err(PythonizeError::custom("the record is no object"))
}

macro_rules! refused {
    ($($name:ident($($ty:ty),*) -> $out:ty;)*) => {
        $(fn $name(self, $(_: $ty),*) -> Result<$out, PythonizeError> {
            no_object()
        })*
    };
}

type Never<'py, 'n> = Impossible<Walk<'py, 'n>, PythonizeError>;

impl<'py, 'n> Serializer for Walk<'py, 'n> {
    type Ok = Self;
    type Error = PythonizeError;
    type SerializeSeq = Never<'py, 'n>;
    type SerializeTuple = Never<'py, 'n>;
    type SerializeTupleStruct = Never<'py, 'n>;
    type SerializeTupleVariant = Never<'py, 'n>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Never<'py, 'n>;

    fn serialize_map(self, _: Option<usize>) -> Result<Self, PythonizeError> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, PythonizeError> {
        Ok(self)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self, PythonizeError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Self, PythonizeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Self, PythonizeError> {
        no_object()
    }

    refused! {
        serialize_bool(bool) -> Self;
        serialize_i8(i8) -> Self;
        serialize_i16(i16) -> Self;
        serialize_i32(i32) -> Self;
        serialize_i64(i64) -> Self;
        serialize_u8(u8) -> Self;
        serialize_u16(u16) -> Self;
        serialize_u32(u32) -> Self;
        serialize_u64(u64) -> Self;
        serialize_f32(f32) -> Self;
        serialize_f64(f64) -> Self;
        serialize_char(char) -> Self;
        serialize_str(&str) -> Self;
        serialize_bytes(&[u8]) -> Self;
        serialize_none() -> Self;
        serialize_unit() -> Self;
        serialize_unit_struct(&'static str) -> Self;
        serialize_unit_variant(&'static str, u32, &'static str) -> Self;
        serialize_seq(Option<usize>) -> Never<'py, 'n>;
        serialize_tuple(usize) -> Never<'py, 'n>;
        serialize_tuple_struct(&'static str, usize) -> Never<'py, 'n>;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never<'py, 'n>;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never<'py, 'n>;
    }
}
