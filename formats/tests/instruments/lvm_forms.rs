//! A measurement file in every form that options, marks, ends of lines and encodings make, read
//! back as it was written.

use stationdb::tables::{DataType, DateOrder, ImportTableRequest};

use crate::stage::Stage;

#[derive(Clone, Copy, Debug)]
struct Form {
    separator: (char, &'static str),
    comma: bool,
    x_columns: &'static str,
    end: &'static str,
    is_windows: bool,
    has_comment: bool,
    /// Whether the header names the marks, or the request does.
    is_told: bool,
}

fn forms() -> Vec<Form> {
    let mut out = Vec::new();
    for separator in [('\t', "Tab"), (',', "Comma"), (';', "Semicolon")] {
        for x_columns in ["No", "One", "Multi"] {
            for end in ["\r\n", "\n", "\r"] {
                for bits in 0..16u8 {
                    let bit = |at: u8| bits >> at & 1 == 1;
                    let comma = bit(0);
                    if comma && separator.0 == ',' {
                        continue;
                    }
                    let (is_windows, has_comment, is_told) = (bit(1), bit(2), bit(3));
                    out.push(Form {
                        separator,
                        comma,
                        x_columns,
                        end,
                        is_windows,
                        has_comment,
                        is_told,
                    });
                }
            }
        }
    }
    out
}

const ROWS: [(f64, f64, &str); 3] = [(1.5, -2.0, "über\ta"), (2.25e-7, 1e10, ""), (0.0, -0.5, "b")];

impl Form {
    fn number(&self, value: f64) -> String {
        let text = format!("{value:E}");
        if self.comma { text.replace('.', ",") } else { text }
    }

    fn line(&self, cells: &[&str]) -> String {
        cells.join(&self.separator.0.to_string()) + self.end
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = self.line(&["LabVIEW Measurement", ""]);
        if self.is_told {
            text += &self.line(&["Separator", self.separator.1]);
            text += &self.line(&["Decimal_Separator", if self.comma { "," } else { "." }]);
        }
        text += &self.line(&["X_Columns", self.x_columns]);
        text += &self.line(&["Operator", "Jürgen"]);
        text += &self.line(&["***End_of_Header***", ""]);
        text += &self.line(&["", ""]);
        text += &self.line(&["Channels", "2", "", ""]);
        let is_multi = self.x_columns == "Multi";
        let cells = |first: &str, second: &str| {
            if is_multi {
                vec![first.to_owned(), String::new(), second.to_owned()]
            } else {
                vec![first.to_owned(), second.to_owned()]
            }
        };
        let mut field = |key: &str, first: &str, second: &str| {
            let mut all = vec![key.to_owned()];
            all.extend(cells(first, second));
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            text += &self.line(&all);
        };
        field("Y_Unit_Label", "V", "°C");
        field("X0", &self.number(2.0), &self.number(2.0));
        field("Delta_X", &self.number(0.5), &self.number(0.5));
        field("Date", "31/01/2024", "31/01/2024");
        field("Time", &format!("14:05:10{}5", if self.comma { "," } else { "." }), "14:05:10.5");
        text += &self.line(&["***End_of_Header***", ""]);
        let mut names =
            if is_multi { vec!["X_Value", "U", "X_Value", "T"] } else { vec!["X_Value", "U", "T"] };
        names.extend(self.has_comment.then_some("Comment"));
        text += &self.line(&names);
        for (row, (first, second, comment)) in ROWS.into_iter().enumerate() {
            let x = match self.x_columns {
                "No" => String::new(),
                _ => self.number(2.0 + 0.5 * row as f64),
            };
            let mut cells = vec![x.clone(), self.number(first)];
            if is_multi {
                cells.push(x);
            }
            cells.push(self.number(second));
            if self.has_comment && !comment.is_empty() {
                cells.push(comment.replace('\t', "\\09"));
            }
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            text += &self.line(&cells);
        }
        if self.is_windows {
            text.chars().map(|character| u8::try_from(character).unwrap()).collect()
        } else {
            text.into_bytes()
        }
    }

    fn request(&self) -> ImportTableRequest {
        let request = ImportTableRequest::new()
            .date_order(DateOrder::DayFirst)
            .time_zone("+01:00")
            .null_texts([self.number(-0.5)])
            .column_types([("T", DataType::String)]);
        if self.is_told {
            return request;
        }
        let request = request.separator(self.separator.0.to_string());
        request.decimal_separator(if self.comma { "," } else { "." })
    }

    fn check(&self, stage: &Stage) {
        let tables = stage
            .lvm(&self.request(), &self.bytes())
            .unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let is_multi = self.x_columns == "Multi";
        assert_eq!(tables.len(), if is_multi { 2 } else { 1 }, "{self:?}");
        let (first, last) = (&tables[0], tables.last().unwrap());
        let bits = |values: [f64; 3]| values.map(|value| format!("{:016x}", value.to_bits()));
        assert_eq!(first.cells("X_Value"), bits([2.0, 2.5, 3.0]), "{self:?}");
        assert_eq!(first.cells("U"), bits(ROWS.map(|row| row.0)), "{self:?}");
        let texts = [self.number(-2.0), self.number(1e10), "null".to_owned()];
        assert_eq!(last.cells("T"), texts, "{self:?}");
        // Half past eleven seconds in a zone that is an hour ahead, and two seconds of X0.
        let start = 1_706_706_312_500_000_000_i64;
        let times = [0, 500_000_000, 1_000_000_000].map(|more: i64| (start + more).to_string());
        assert_eq!(last.cells("time"), times, "{self:?}");
        assert_eq!(last.property("T", "unit"), Some("°C"), "{self:?}");
        assert_eq!(last.property("time", "timeZone"), Some("+01:00"), "{self:?}");
        assert_eq!(first.metadata.properties.as_ref().unwrap()["Operator"], "Jürgen", "{self:?}");
        if self.has_comment {
            assert_eq!(first.cells("Comment"), ["über\ta", "null", "b"], "{self:?}");
        } else {
            assert!(!first.names().contains(&"Comment"), "{self:?}");
        }
        assert_eq!(first.warnings().contains("Windows-1252"), self.is_windows, "{self:?}");
    }
}

#[test]
fn every_form_is_read_back_as_it_was_written() {
    let forms = forms();
    assert_eq!(forms.len(), 360);
    let stage = Stage::new();
    forms.into_iter().for_each(|form| form.check(&stage));
}
