//! The picture: the range of the gain over the day.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::Outcome;
use crate::day::LIMIT;
use crate::report::Curve;

const RANGE: RGBColor = RGBColor(90, 145, 205);
const HIGHEST: RGBColor = RGBColor(190, 30, 45);
const BOUND: RGBColor = RGBColor(40, 120, 60);

/// Draws the curve into a PNG file.
pub fn draw(path: &Path, curve: &Curve) -> Outcome {
    // A font of our own, so that none of the system is needed.
    register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF)
        .map_err(|_| "the font cannot be read")?;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else {
        return Err("the curve has no points".into());
    };
    let low = curve.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = curve.iter().map(|point| point.2).fold(LIMIT, f64::max);
    let root = BitMapBackend::new(path, (1280, 640)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Gain of all amplifiers of the day, ten stations", ("sans-serif", 24))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(first.0..last.0, low - 0.3..high + 0.9)?;
    chart
        .configure_mesh()
        .x_desc("hour of the day (UTC)")
        .y_desc("gain in dB")
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(220, 220, 220))
        .draw()?;
    let above = curve.iter().map(|&(hour, _, high)| (hour, high));
    let below = curve.iter().rev().map(|&(hour, low, _)| (hour, low));
    let area: Vec<(f64, f64)> = above.clone().chain(below).collect();
    chart
        .draw_series([Polygon::new(area, RANGE.mix(0.4))])?
        .label("from the lowest to the highest of five minutes")
        .legend(|(x, y)| Rectangle::new([(x, y - 4), (x + 18, y + 4)], RANGE.mix(0.4).filled()));
    chart
        .draw_series(LineSeries::new(above, HIGHEST.stroke_width(1)))?
        .label("highest")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], HIGHEST.stroke_width(2)));
    chart
        .draw_series(LineSeries::new([(first.0, LIMIT), (last.0, LIMIT)], BOUND.stroke_width(2)))?
        .label(format!("limit {LIMIT} dB"))
        .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], BOUND.stroke_width(2)));
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
