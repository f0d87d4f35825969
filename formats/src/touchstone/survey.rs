//! The first pass over a Touchstone file: its header, where its points are, and whether their
//! frequencies are whole.

use stationdb::{Control, Result};

use super::header::{Header, HeaderReader};
use super::points::{NOISE, Point, Points, Step};
use crate::lines::{At, Lines};

/// The largest whole number of which a double keeps the next one, too.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Points of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Where they begin.
    pub(super) at: At,
    pub(super) count: u64,
    /// Whether all frequencies are whole hertz.
    pub(super) is_whole: bool,
    last: f64,
    /// The first line whose frequency is not above that of the point before.
    back: Option<u64>,
}

impl Block {
    fn new(at: At) -> Self {
        Self { at, count: 0, is_whole: true, last: f64::NEG_INFINITY, back: None }
    }

    fn add(&mut self, point: &Point) {
        self.count += 1;
        self.is_whole &= point.hertz.fract() == 0.0 && point.hertz.abs() < WHOLE;
        if point.hertz <= self.last && self.back.is_none() {
            self.back = Some(point.line);
        }
        self.last = point.hertz;
    }
}

/// What a file has.
pub(super) struct Survey {
    pub(super) header: Header,
    pub(super) network: Block,
    pub(super) noise: Option<Block>,
    pub(super) warnings: Vec<String>,
}

impl Survey {
    /// Reads a file from its start.
    ///
    /// # Errors
    /// Those of its header and its points, with the line; `Cancelled`.
    pub(super) fn of(lines: &mut Lines, ports: Option<usize>, control: &Control) -> Result<Self> {
        let (header, warnings) = HeaderReader::new(ports).read(lines)?;
        // The first point of version 1 is in the line that was read.
        let is_read = !header.is_second;
        let at = if is_read { lines.here } else { lines.next };
        let network = Block::new(at);
        let mut survey = Self { header, network, noise: None, warnings };
        survey.read_points(lines, is_read, control)?;
        if survey.network.count == 0 {
            return Err(lines.fault("the file has no point"));
        }
        survey.doubt(lines);
        Ok(survey)
    }

    fn read_points(
        &mut self,
        lines: &mut Lines,
        mut is_read: bool,
        control: &Control,
    ) -> Result<()> {
        let mut points = Points {
            width: self.header.width(),
            exponent: self.header.exponent,
            noise_below: None,
        };
        let takes_noise = self.header.ports == 2 && !self.header.is_second;
        let mut point = Point::default();
        let mut is_ended = false;
        loop {
            control.check()?;
            let has_points = self.noise.is_none() && self.network.count > 0;
            points.noise_below = Some(self.network.last).filter(|_| takes_noise && has_points);
            match points.next(lines, std::mem::take(&mut is_read), &mut point)? {
                Step::Point => self.noise.as_mut().unwrap_or(&mut self.network).add(&point),
                Step::Noise => {
                    self.noise = Some(Block::new(lines.here));
                    points.width = NOISE;
                    is_read = true;
                }
                Step::Keyword(name) if name == "noise data" && self.noise.is_none() => {
                    self.noise = Some(Block::new(lines.next));
                    points.width = NOISE;
                }
                Step::Keyword(name) if name == "end" => {
                    is_ended = true;
                    break;
                }
                Step::Keyword(name) => {
                    return Err(lines.fault(format!("the keyword [{name}] is not expected here")));
                }
                Step::End => break,
                Step::Cut if self.network.count == 0 => {
                    return Err(lines.fault(points.short(&point)));
                }
                Step::Cut => {
                    self.warnings.push(format!(
                        "the file ends within the point of line {}, which is left out",
                        point.line
                    ));
                    return Ok(());
                }
            }
        }
        if let Some(line) = point.impedances {
            self.warnings.push(format!(
                "the comments from line {line} on have impedances or propagation constants for \
                 each point, which are not kept"
            ));
        }
        if !is_ended && self.header.is_second {
            self.warnings.push("the file has no [End], so it may be cut off".to_owned());
        } else if !is_ended && !lines.is_ended {
            self.warnings.push(format!(
                "line {} has no line end, so its last number may be cut off",
                lines.here.line
            ));
        }
        Ok(())
    }

    /// Compares the points with what the header says.
    fn doubt(&mut self, lines: &Lines) {
        let noise = self.noise.map_or(0, |noise| noise.count);
        for (said, found, what) in [
            (self.header.points, self.network.count, "frequencies"),
            (self.header.noise_points, noise, "noise frequencies"),
        ] {
            if let Some(said) = said.filter(|said| *said != found) {
                self.warnings.push(format!(
                    "the header says {said} {what}, and there are {found} up to line {}",
                    lines.here.line
                ));
            }
        }
        for block in [Some(self.network), self.noise].into_iter().flatten() {
            if let Some(line) = block.back {
                self.warnings.push(format!(
                    "the frequency of line {line} is not above that of the point before"
                ));
            }
        }
    }
}
