//! The plot: every point, and the decimated curve over them.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::scale::{number, range};

/// The content of the plot.
pub struct Plot<'a> {
    /// Title line.
    pub title: &'a str,
    /// Name of the x axis.
    pub x_label: &'a str,
    /// Name of the y axis.
    pub y_label: &'a str,
    /// Every point.
    pub all: &'a [(f64, f64)],
    /// The points that a decimated read returned, in order of x.
    pub kept: &'a [(f64, f64)],
    /// A horizontal line.
    pub limit: Option<f64>,
    /// Whether y is logarithmic.
    pub log_scale: bool,
}

const ALL: RGBColor = RGBColor(90, 145, 205);
const KEPT: RGBColor = RGBColor(190, 30, 45);
const LIMIT: RGBColor = RGBColor(40, 120, 60);

/// Draws `plot` into a PNG file.
pub fn draw(path: &Path, plot: &Plot<'_>) -> Result<(), Box<dyn Error>> {
    // Our own font, so that the plot needs no font of the system.
    register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF)
        .map_err(|_| "the font cannot be read")?;
    let x = range(plot.all.iter().map(|point| point.0));
    let (low, high) = range(plot.all.iter().map(|point| point.1));
    let high = plot.limit.map_or(high, |limit| high.max(limit));
    if plot.log_scale {
        let low = low.max(1e-9);
        // Space for the legend above the highest point.
        draw_on(path, plot, x.0..x.1, (low * 0.8..high * 12.0).log_scale())
    } else {
        let margin = (high - low).max(1e-9) * 0.05;
        draw_on(path, plot, x.0..x.1, low - margin..high + margin)
    }
}

fn draw_on<Y>(
    path: &Path,
    plot: &Plot<'_>,
    x: std::ops::Range<f64>,
    y: Y,
) -> Result<(), Box<dyn Error>>
where
    Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
{
    let root = BitMapBackend::new(path, (1280, 640)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(plot.title, ("sans-serif", 24))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(x.clone(), y)?;
    chart
        .configure_mesh()
        .x_desc(plot.x_label)
        .y_desc(plot.y_label)
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(220, 220, 220))
        .y_label_formatter(&|y| number(*y))
        .draw()?;
    chart
        .draw_series(plot.all.iter().map(|&point| Pixel::new(point, ALL)))?
        .label(format!("all {} points", grouped(plot.all.len())))
        .legend(|(x, y)| Rectangle::new([(x, y - 4), (x + 18, y + 4)], ALL.filled()));
    chart.draw_series(LineSeries::new(plot.kept.iter().copied(), KEPT.mix(0.25)))?;
    chart
        .draw_series(plot.kept.iter().map(|&point| Circle::new(point, 2, KEPT)))?
        .label(format!("{} points kept by decimation", grouped(plot.kept.len())))
        .legend(|(x, y)| Circle::new((x + 9, y), 3, KEPT));
    if let Some(limit) = plot.limit {
        chart
            .draw_series(LineSeries::new(
                [(x.start, limit), (x.end, limit)],
                LIMIT.stroke_width(2),
            ))?
            .label(format!("limit {}", number(limit)))
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], LIMIT.stroke_width(2)));
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

/// Formats a number with commas between groups of three digits.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
