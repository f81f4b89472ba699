//! The same results as a picture: for each row a bar for every contender, on a scale of its own. Drawn by hand, so that
//! it needs nothing, and readable on light and dark pages.

use super::contest::{Finding, Who};
use crate::report::rounded;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::path::Path;

const WIDTH: u32 = 860;
const LABEL: u32 = 170;
const LONGEST: u32 = 520;
const BAR: u32 = 16;
const HEAD: u32 = 26;
const GAP: u32 = 12;
/// The bars have a logarithmic scale: figures of one row differ by up to a thousand times.
const DECADES: f64 = 4.0;

/// Draws the rows that have more than one contender.
pub(super) fn write(findings: &[Finding], path: &Path) -> Result<()> {
    let shown: Vec<&Finding> = findings.iter().filter(|finding| finding.figures.len() > 1).collect();
    let svg = draw(&shown)?;
    std::fs::write(path, svg).with_context(|| format!("writing {}", path.display()))
}

fn draw(findings: &[&Finding]) -> Result<String> {
    let height: u32 = findings.iter().map(|finding| height_of(finding)).sum::<u32>() + GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n{STYLE}"
    );
    let mut top = GAP;
    for finding in findings {
        row(&mut svg, finding, top)?;
        top += height_of(finding);
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Colours that hold on white and on black; text follows the page.
const STYLE: &str = "<style>\n\
    text { fill: #24292f } .us { fill: #2f81f7 } .them { fill: #8b949e } .head { font-weight: bold }\n\
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } }\n\
    </style>\n";

fn height_of(finding: &Finding) -> u32 {
    HEAD + BAR * u32::try_from(finding.figures.len()).unwrap_or_default() + GAP
}

fn row(svg: &mut String, finding: &Finding, top: u32) -> Result<()> {
    let Finding { what, unit, .. } = finding;
    writeln!(svg, "<text class=\"head\" x=\"8\" y=\"{}\">{}</text>", top + 14, escaped(what))?;
    let most = finding.figures.iter().map(|(_, samples)| samples.median).fold(0.0, f64::max);
    for (place, (who, samples)) in finding.figures.iter().enumerate() {
        let y = top + HEAD + BAR * u32::try_from(place)?;
        let class = if *who == Who::Windlass { "us" } else { "them" };
        let length = length(samples.median, most);
        writeln!(
            svg,
            "<text x=\"8\" y=\"{0}\">{who}</text><rect class=\"{class}\" x=\"{LABEL}\" y=\"{1}\" width=\"{length:.1}\" \
             height=\"{2}\"/><text x=\"{3:.1}\" y=\"{0}\">{4} {unit}</text>",
            y + BAR - 4,
            y + 2,
            BAR - 4,
            f64::from(LABEL) + length + 6.0,
            rounded(samples.median),
        )?;
    }
    Ok(())
}

fn length(figure: f64, most: f64) -> f64 {
    let below = (most.max(f64::MIN_POSITIVE) / figure.max(f64::MIN_POSITIVE)).log10();
    (f64::from(LONGEST) * (1.0 - below / DECADES)).max(2.0)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_the_largest_figure_and_each_decade_is_as_long() {
        let longest = f64::from(LONGEST);
        assert_eq!(length(100.0, 100.0), longest);
        assert_eq!(length(10.0, 100.0), longest * 0.75);
        assert_eq!(length(0.0, 100.0), 2.0);
    }
}
