//! A plot as a PNG file.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::plot::Drawing;
use super::scale::number;

const SIZE: (u32, u32) = (1280, 640);
const CURVES: [RGBColor; 6] = [
    RGBColor(30, 95, 170),
    RGBColor(190, 30, 45),
    RGBColor(40, 120, 60),
    RGBColor(150, 80, 160),
    RGBColor(200, 120, 20),
    RGBColor(20, 140, 150),
];
const LIMIT: RGBColor = RGBColor(90, 90, 90);

pub fn draw(path: &Path, drawing: &Drawing) -> Result<(), Box<dyn Error>> {
    // Our own font, so that the plot needs no font of the system.
    register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF)
        .map_err(|_| "the font cannot be read")?;
    let (x, y) = drawing.ranges();
    let margin = (y.1 - y.0) * 0.05;
    let root = BitMapBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(&drawing.title, ("sans-serif", 24))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(80)
        .build_cartesian_2d(x.0..x.1, y.0 - margin..y.1 + margin)?;
    chart
        .configure_mesh()
        .x_desc(&drawing.x_name)
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .light_line_style(RGBColor(240, 240, 240))
        .bold_line_style(RGBColor(220, 220, 220))
        .x_labels(8)
        .x_label_formatter(&|x| drawing.x_label(*x))
        .y_label_formatter(&|y| number(*y))
        .draw()?;
    for (curve, color) in drawing.curves.iter().zip(CURVES.into_iter().cycle()) {
        chart
            .draw_series(LineSeries::new(curve.points.iter().copied(), color))?
            .label(&curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    for limit in &drawing.limits {
        let ends = [(x.0, limit.value), (x.1, limit.value)];
        chart
            .draw_series(LineSeries::new(ends, LIMIT.stroke_width(2)))?
            .label(&limit.name)
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
