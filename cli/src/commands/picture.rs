//! A plot as a PNG file.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::axis::Axis;
use super::drawing::{Drawing, Limit, LimitKind};
use super::scale::{number, range};

const SIZE: (u32, u32) = (1280, 640);
const CURVES: [RGBColor; 6] = [
    RGBColor(30, 95, 170),
    RGBColor(190, 30, 45),
    RGBColor(40, 120, 60),
    RGBColor(150, 80, 160),
    RGBColor(200, 120, 20),
    RGBColor(20, 140, 150),
];
const CONTROL: RGBColor = RGBColor(90, 90, 90);
const SPECIFICATION: RGBColor = RGBColor(235, 110, 0);
const MARK: RGBColor = RGBColor(190, 30, 45);
const BARS: RGBColor = RGBColor(150, 180, 215);
/// Height of a picture of several drawings, and that of the first one.
const TALL: (u32, u32) = (900, 540);

/// The colour of the line of a limit.
fn limit_color(kind: LimitKind) -> RGBColor {
    match kind {
        LimitKind::Specification => SPECIFICATION,
        LimitKind::Control => CONTROL,
    }
}

/// Draws one drawing, or two below each other.
pub fn draw(path: &Path, drawings: &[&Drawing]) -> Result<(), Box<dyn Error>> {
    if let [one] = drawings {
        return draw_on(BitMapBackend::new(path, SIZE).into_drawing_area(), one);
    }
    let root = BitMapBackend::new(path, (SIZE.0, TALL.0)).into_drawing_area();
    let (above, below) = root.split_vertically(TALL.1);
    for (area, drawing) in [above, below].into_iter().zip(drawings) {
        draw_on(area, drawing)?;
    }
    Ok(())
}

/// The bars of a histogram, and its limits as lines across.
pub struct Bars {
    pub title: String,
    pub x_name: String,
    /// Start, end and height of each.
    pub bars: Vec<(f64, f64, f64)>,
    pub limits: Vec<Limit>,
}

pub fn draw_bars(path: &Path, bars: &Bars) -> Result<(), Box<dyn Error>> {
    let root = BitMapBackend::new(path, SIZE).into_drawing_area();
    register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF)
        .map_err(|_| "the font cannot be read")?;
    let ends = bars.bars.iter().flat_map(|(from, to, _)| [*from, *to]);
    let x = Places::new(range(ends.chain(bars.limits.iter().map(|limit| limit.value))));
    let highest = bars.bars.iter().map(|bar| bar.2).fold(1.0, f64::max);
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(&bars.title, ("sans-serif", 24))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(x.part(-0.05)..x.part(1.05), 0.0..highest * 1.1)?;
    chart
        .configure_mesh()
        .x_desc(&bars.x_name)
        .y_desc("values")
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(220, 220, 220))
        .x_labels(8)
        .x_label_formatter(&|place| number(x.value(*place)))
        .y_label_formatter(&|count| number(*count))
        .draw()?;
    for (from, to, count) in &bars.bars {
        let corners = [(x.place(*from), 0.0), (x.place(*to), *count)];
        chart.draw_series([
            Rectangle::new(corners, BARS.filled()),
            Rectangle::new(corners, CURVES[0].stroke_width(1)),
        ])?;
    }
    for limit in &bars.limits {
        let (place, color) = (x.place(limit.value), limit_color(limit.kind));
        chart
            .draw_series(LineSeries::new(
                [(place, 0.0), (place, highest * 1.1)],
                color.stroke_width(2),
            ))?
            .label(&limit.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(180, 180, 180))
        .label_font(("sans-serif", 16))
        .draw()?;
    root.present()?;
    Ok(())
}

/// The places of an axis on the chart: the values, or parts of the range where the marks between
/// values cannot be counted in doubles.
#[derive(Clone, Copy)]
struct Places {
    axis: Axis,
    are_parts: bool,
}

impl Places {
    fn new(range: (f64, f64)) -> Self {
        let axis = Axis::new(range);
        Self { axis, are_parts: !axis.has_steps() }
    }

    fn place(self, value: f64) -> f64 {
        if self.are_parts { self.axis.part(value) } else { value }
    }

    fn value(self, place: f64) -> f64 {
        if self.are_parts { self.axis.at(place) } else { place }
    }

    /// The place at a part of the range.
    fn part(self, part: f64) -> f64 {
        if self.are_parts { part } else { self.axis.at(part) }
    }
}

fn draw_on(
    root: DrawingArea<BitMapBackend<'_>, Shift>,
    drawing: &Drawing,
) -> Result<(), Box<dyn Error>> {
    // Our own font, so that the plot needs no font of the system.
    register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF)
        .map_err(|_| "the font cannot be read")?;
    let (x, y) = drawing.ranges();
    let (x, y) = (Places::new(x), Places::new(y));
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(&drawing.title, ("sans-serif", 24))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(x.part(0.0)..x.part(1.0), y.part(-0.05)..y.part(1.05))?;
    chart
        .configure_mesh()
        .x_desc(&drawing.x_name)
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(220, 220, 220))
        .x_labels(8)
        .x_label_formatter(&|place| drawing.x_label(x.value(*place)))
        .y_label_formatter(&|place| number(y.value(*place)))
        .draw()?;
    for (curve, color) in drawing.curves.iter().zip(CURVES.into_iter().cycle()) {
        let points = curve.points.iter().map(|point| (x.place(point.0), y.place(point.1)));
        chart
            .draw_series(LineSeries::new(points, color))?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    for limit in &drawing.limits {
        let (line, color) = (y.place(limit.value), limit_color(limit.kind));
        let ends = [(x.part(0.0), line), (x.part(1.0), line)];
        chart
            .draw_series(LineSeries::new(ends, color.stroke_width(2)))?
            .label(&limit.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    if !drawing.marks.points.is_empty() {
        let points = drawing.marks.points.iter().map(|(px, py)| (x.place(*px), y.place(*py)));
        chart
            .draw_series(points.map(|point| Circle::new(point, 4, MARK.filled())))?
            .label(&drawing.marks.name)
            .legend(|(x, y)| Circle::new((x + 9, y), 4, MARK.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(180, 180, 180))
        .label_font(("sans-serif", 16))
        .draw()?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::commands::axis::EXTREMES;
    use crate::commands::drawing::{Curve, Marks};
    use crate::commands::terminal;

    #[test]
    fn limits_of_both_kinds_have_colours_of_their_own() {
        let limit = |value, kind| Limit { name: "limit".to_owned(), value, kind };
        let drawing = Drawing {
            title: "VOUT".to_owned(),
            x_name: "number".to_owned(),
            is_time: false,
            curves: vec![Curve { name: "VOUT".to_owned(), points: vec![(0.0, 1.0), (1.0, 2.0)] }],
            limits: vec![limit(1.2, LimitKind::Control), limit(1.8, LimitKind::Specification)],
            marks: Marks::default(),
            is_partial: false,
        };
        const SMALL: (u32, u32) = (640, 400);
        let mut buffer = vec![0; (SMALL.0 * SMALL.1 * 3) as usize];
        let root = BitMapBackend::with_buffer(&mut buffer, SMALL).into_drawing_area();
        draw_on(root, &drawing).unwrap();
        // Each is a line across, and a part of the legend.
        for RGBColor(red, green, blue) in [CONTROL, SPECIFICATION] {
            let count = buffer.chunks(3).filter(|pixel| **pixel == [red, green, blue]).count();
            assert!(count > 500, "{red} {green} {blue}: {count}");
        }
        assert_ne!(CONTROL, SPECIFICATION);
    }

    #[test]
    fn every_picture_ends_whatever_its_numbers_are() {
        const SMALL: (u32, u32) = (320, 200);
        let started = Instant::now();
        for (at, low) in EXTREMES.into_iter().enumerate() {
            for high in EXTREMES.into_iter().skip(at) {
                let (sender, receiver) = mpsc::channel();
                // A picture that does not end is left behind by its thread.
                std::thread::spawn(move || {
                    let drawing = Drawing {
                        title: format!("{low:e} to {high:e}"),
                        x_name: "x".to_owned(),
                        is_time: false,
                        curves: vec![Curve {
                            name: "y".to_owned(),
                            points: vec![(low, high), (high, low)],
                        }],
                        limits: vec![Limit {
                            name: "limit".to_owned(),
                            value: high,
                            kind: LimitKind::Control,
                        }],
                        marks: Marks {
                            name: "mark".to_owned(),
                            points: vec![(low, low), (high, high)],
                        },
                        is_partial: false,
                    };
                    let mut buffer = vec![0; (SMALL.0 * SMALL.1 * 3) as usize];
                    let root = BitMapBackend::with_buffer(&mut buffer, SMALL).into_drawing_area();
                    let drawn = draw_on(root, &drawing).map_err(|error| error.to_string());
                    let text = terminal::draw(&drawing, 40, 10);
                    let _ = sender.send((drawn, buffer.iter().any(|byte| *byte != 255), text));
                });
                let (drawn, has_picture, text) = receiver
                    .recv_timeout(Duration::from_secs(1))
                    .unwrap_or_else(|_| panic!("{low:e} to {high:e} takes more than a second"));
                assert_eq!(drawn, Ok(()), "{low:e} to {high:e}");
                assert!(has_picture && !text.contains("NaN"), "{low:e} to {high:e}: {text}");
            }
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
