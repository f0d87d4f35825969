//! What stands before the points of a Touchstone file: the option line, and the keywords of
//! version 2.

use stationdb::{Error, Result};

use crate::instrument_text::{decode, number};
use crate::lines::{Lines, at_line};

/// Ports of a file: more would have more columns than an import has.
pub(super) const PORTS: usize = 70;
/// Bytes of comments and of information that are kept.
const TEXT_BYTES: usize = 64 * 1024;

/// How a complex number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Db,
    Ma,
    Ri,
}

impl Form {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Db => "DB",
            Self::Ma => "MA",
            Self::Ri => "RI",
        }
    }

    /// The real and the imaginary part of a pair of numbers.
    pub(super) fn complex(self, first: f64, second: f64) -> (f64, f64) {
        let size = match self {
            Self::Ri => return (first, second),
            Self::Ma => first,
            Self::Db => 10f64.powf(first / 20.0),
        };
        let (sin, cos) = second.to_radians().sin_cos();
        (size * cos, size * sin)
    }
}

/// Which cells of the matrix a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    Full,
    Lower,
    Upper,
}

/// The settings of a file.
#[derive(Clone, Debug)]
pub(super) struct Header {
    /// The version, as the file has it; `1.0` where it has none.
    pub(super) version: String,
    pub(super) is_second: bool,
    /// The power of ten of the unit of frequencies.
    pub(super) exponent: i32,
    /// The letter of the parameter, in lower case.
    pub(super) parameter: char,
    pub(super) form: Form,
    /// The reference impedance of the option line, and that of each port.
    resistance: String,
    references: Vec<String>,
    pub(super) ports: usize,
    /// Whether the second value of two ports is of the row 2.
    is_21_first: bool,
    matrix: Matrix,
    pub(super) mixed: Vec<String>,
    pub(super) points: Option<u64>,
    pub(super) noise_points: Option<u64>,
    pub(super) comments: String,
    pub(super) information: String,
}

impl Header {
    /// The cells of the matrix in the order of a point, from 0, and the cell that is the same.
    pub(super) fn cells(&self) -> Vec<((usize, usize), bool)> {
        let mut out = Vec::new();
        for row in 0..self.ports {
            for column in 0..self.ports {
                match self.matrix {
                    Matrix::Full if self.ports == 2 && self.is_21_first => {
                        out.push(((column, row), false));
                    }
                    Matrix::Full => out.push(((row, column), false)),
                    Matrix::Lower if column <= row => out.push(((row, column), row != column)),
                    Matrix::Upper if column >= row => out.push(((row, column), row != column)),
                    _ => {}
                }
            }
        }
        out
    }

    /// Numbers of a point beside its frequency.
    pub(super) fn width(&self) -> usize {
        match self.matrix {
            Matrix::Full => 2 * self.ports * self.ports,
            _ => self.ports * (self.ports + 1),
        }
    }

    /// The reference impedances: one for all ports, or one for each.
    pub(super) fn reference(&self) -> String {
        if self.references.is_empty() { self.resistance.clone() } else { self.references.join(" ") }
    }

    /// Whether values are divided or multiplied by the reference.
    pub(super) fn is_normalized(&self) -> bool {
        !self.is_second && self.parameter != 's'
    }
}

fn push(text: &mut String, line: &str) {
    let line = line.trim();
    if !line.is_empty() && text.len() + line.len() < TEXT_BYTES {
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(line);
    }
}

/// The name of a keyword in lower case, and what follows it.
pub(super) fn keyword(line: &str) -> Option<(String, &str)> {
    let (name, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let name: Vec<&str> = name.split_ascii_whitespace().collect();
    Some((name.join(" ").to_ascii_lowercase(), rest.trim()))
}

/// A line without its comment.
pub(super) fn without_comment(line: &str) -> &str {
    line.split('!').next().unwrap_or_default().trim()
}

/// What is read of the lines before the points.
pub(super) struct HeaderReader {
    header: Header,
    has_options: bool,
    has_order: bool,
    is_informed: bool,
    /// References that are missing.
    missing: usize,
    pub(super) warnings: Vec<String>,
}

impl HeaderReader {
    pub(super) fn new(ports: Option<usize>) -> Self {
        Self {
            header: Header {
                version: "1.0".to_owned(),
                is_second: false,
                exponent: 9,
                parameter: 's',
                form: Form::Ma,
                resistance: "50".to_owned(),
                references: Vec::new(),
                ports: ports.unwrap_or_default(),
                is_21_first: true,
                matrix: Matrix::Full,
                mixed: Vec::new(),
                points: None,
                noise_points: None,
                comments: String::new(),
                information: String::new(),
            },
            has_options: false,
            has_order: false,
            is_informed: false,
            missing: 0,
            warnings: Vec::new(),
        }
    }

    /// Reads the lines up to the first point, which is the line that was read for version 1.
    ///
    /// # Errors
    /// `InvalidArgument` with the line; `Unsupported` for another version; `LimitExceeded` for too
    /// many ports; `Io`.
    pub(super) fn read(mut self, lines: &mut Lines) -> Result<(Header, Vec<String>)> {
        loop {
            if !lines.advance()? {
                return Err(lines.fault(
                    "the file ends before its first point; it is no Touchstone file, or it was cut \
                     off",
                ));
            }
            let (text, _) = decode(lines.text());
            let line = text.trim();
            let first = line.chars().next();
            if self.is_informed {
                match keyword(line) {
                    Some((name, _)) if name == "end information" => self.is_informed = false,
                    _ => push(&mut self.header.information, line),
                }
            } else if first == Some('!') {
                push(&mut self.header.comments, line.trim_start_matches('!'));
            } else if without_comment(line).is_empty() {
                // A blank line.
            } else if first == Some('#') {
                self.options(line, lines)?;
            } else if let Some((name, value)) = keyword(line) {
                if self.keyword(&name, without_comment(value), lines)? {
                    break;
                }
            } else if self.missing > 0 {
                self.references(without_comment(line), lines)?;
            } else if self.header.is_second {
                return Err(lines.fault("a line of numbers before [Network Data]"));
            } else {
                break;
            }
        }
        self.check(lines)?;
        Ok((self.header, self.warnings))
    }

    /// Reads the option line; later ones say nothing.
    fn options(&mut self, line: &str, lines: &Lines) -> Result<()> {
        if std::mem::replace(&mut self.has_options, true) {
            self.warnings.push(format!(
                "line {} is a second option line, which is ignored, as the format says",
                lines.here.line
            ));
            return Ok(());
        }
        let line = without_comment(line.trim_start_matches('#'));
        let mut words = line.split_ascii_whitespace().map(str::to_ascii_lowercase).peekable();
        while let Some(word) = words.next() {
            match word.as_str() {
                "hz" => self.header.exponent = 0,
                "khz" => self.header.exponent = 3,
                "mhz" => self.header.exponent = 6,
                "ghz" => self.header.exponent = 9,
                "s" | "y" | "z" | "g" | "h" => {
                    self.header.parameter = word.chars().next().unwrap_or('s');
                }
                "db" => self.header.form = Form::Db,
                "ma" => self.header.form = Form::Ma,
                "ri" => self.header.form = Form::Ri,
                "r" => {
                    let mut ohms = Vec::new();
                    while let Some(word) = words.next_if(|word| number(word, false).is_some()) {
                        ohms.push(word);
                    }
                    if ohms.is_empty() {
                        return Err(lines.fault("R of the option line has no number of ohms"));
                    }
                    // One for all ports, or, as later programs write, one for each.
                    self.header.resistance = ohms.join(" ");
                }
                _ => {
                    return Err(lines.fault(format!(
                        "{word:?} is no word of an option line; it has a unit (Hz, kHz, MHz, GHz), \
                         a parameter (S, Y, Z, G, H), a format (DB, MA, RI) and R with ohms"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Reads a keyword; `true` for the one that begins the points.
    fn keyword(&mut self, name: &str, value: &str, lines: &Lines) -> Result<bool> {
        if name == "version" {
            if !matches!(value, "2.0" | "2.1" | "2") {
                return Err(at_line(
                    Error::unsupported(format!("version {value:?} of Touchstone is not read")),
                    lines.here.line,
                ));
            }
            (self.header.version, self.header.is_second) = (value.to_owned(), true);
            return Ok(false);
        }
        let count = |what: &str| {
            value.parse::<u64>().map_err(|_| {
                lines.fault(format!("{value:?} is no number of {what}; write a whole number"))
            })
        };
        match name {
            "number of ports" => {
                let ports = usize::try_from(count("ports")?).unwrap_or(usize::MAX);
                if self.header.ports != 0 && self.header.ports != ports {
                    self.warnings.push(format!(
                        "line {} says {ports} ports, and the name of the file {}",
                        lines.here.line, self.header.ports
                    ));
                }
                self.header.ports = ports;
            }
            "two-port data order" | "two-port order" => {
                self.has_order = true;
                self.header.is_21_first = match value {
                    "21_12" => true,
                    "12_21" => false,
                    _ => return Err(lines.fault(format!("{value:?} is neither 12_21 nor 21_12"))),
                };
            }
            "matrix format" => {
                self.header.matrix = match value.to_ascii_lowercase().as_str() {
                    "full" => Matrix::Full,
                    "lower" => Matrix::Lower,
                    "upper" => Matrix::Upper,
                    _ => {
                        let what = format!("{value:?} is none of Full, Lower and Upper");
                        return Err(lines.fault(what));
                    }
                };
            }
            "number of frequencies" => self.header.points = Some(count("frequencies")?),
            "number of noise frequencies" => {
                self.header.noise_points = Some(count("noise frequencies")?);
            }
            "mixed-mode order" => {
                self.header.mixed = value.split_ascii_whitespace().map(str::to_owned).collect();
            }
            "reference" => {
                check_ports(self.header.ports, lines)?;
                self.missing = self.header.ports;
                self.header.references.clear();
                self.references(value, lines)?;
            }
            "begin information" => self.is_informed = true,
            "network data" => return Ok(true),
            _ => self.warnings.push(format!(
                "the keyword [{name}] of line {} is not known, and is left out",
                lines.here.line
            )),
        }
        Ok(false)
    }

    fn references(&mut self, value: &str, lines: &Lines) -> Result<()> {
        for word in value.split_ascii_whitespace() {
            if number(word, false).is_none() || self.missing == 0 {
                return Err(lines.fault(format!(
                    "{word:?} is no reference impedance: [Reference] has one number for each port"
                )));
            }
            self.missing -= 1;
            self.header.references.push(word.to_owned());
        }
        Ok(())
    }

    fn check(&mut self, lines: &Lines) -> Result<()> {
        if !self.has_options {
            return Err(lines.fault(
                "there is no option line before the first point; a line such as # GHz S MA R 50 \
                 says what its numbers are",
            ));
        }
        if self.missing > 0 {
            return Err(lines.fault("[Reference] has fewer numbers than there are ports"));
        }
        check_ports(self.header.ports, lines)?;
        if self.header.ports == 2 && self.header.is_second && !self.has_order {
            self.warnings.push(
                "the file has no [Two-Port Data Order], so its order is taken as 21_12, that of \
                 version 1"
                    .to_owned(),
            );
        }
        let mixed = self.header.mixed.len();
        if mixed != 0 && mixed != self.header.ports {
            let what = format!("[Mixed-Mode Order] has {mixed} of {} ports", self.header.ports);
            return Err(lines.fault(what));
        }
        Ok(())
    }
}

fn check_ports(ports: usize, lines: &Lines) -> Result<()> {
    if ports == 0 {
        return Err(lines.fault(
            "the number of ports is unknown; give it with the name of the file, such as filter.s2p, \
             or as the option ports",
        ));
    }
    if ports > PORTS {
        let what = format!("the file has {ports} ports, more than the {PORTS} of an import");
        return Err(at_line(Error::limit(what), lines.here.line));
    }
    Ok(())
}
