//! The presentation of the demo: boxes with what a model sees, and lines of facts.

use std::time::Duration;

use anyhow::Result;

use super::Saving;
use crate::config::{Colour, Config};
use crate::printing::print;
use crate::report;

/// The greatest width of a box.
const WIDEST: usize = 78;
const NARROWEST: usize = 40;

pub(crate) struct DemoOutput {
    colour: Colour,
    width: usize,
}

/// One scene, ready to be printed.
pub(crate) struct Scene<'a> {
    pub(crate) number: u8,
    pub(crate) title: &'a str,
    /// The program, for the corner of the box.
    pub(crate) actor: &'a str,
    /// The text that a model sees.
    pub(crate) seen: &'a str,
    /// The facts, one line each.
    pub(crate) facts: &'a [String],
}

#[derive(Clone, Copy)]
enum Paint {
    Bold,
    Faint,
    Green,
}

impl DemoOutput {
    pub(crate) fn new(config: &Config) -> Self {
        let terminal = config.terminals.stdout.map_or(WIDEST, |size| usize::from(size.cols));
        Self { colour: config.colour, width: terminal.clamp(NARROWEST, WIDEST) }
    }

    pub(crate) fn open(&self) -> Result<()> {
        let title = self.paint(Paint::Bold, "Windlass");
        print(format!("\n{title}: what a model sees when its commands run here\n"))
    }

    pub(crate) fn show(&self, scene: &Scene<'_>) -> Result<()> {
        let mut text = format!("\n{}\n", self.top(scene));
        for line in scene.seen.trim_end().lines() {
            text.push_str(&self.line(line));
        }
        text.push_str(&self.paint(Paint::Faint, &format!("╰{}╯", "─".repeat(self.width - 2))));
        text.push('\n');
        for fact in scene.facts {
            text.push_str(&format!("  {} {fact}\n", self.paint(Paint::Green, "✓")));
        }
        print(text)
    }

    pub(crate) fn close(&self, saving: Saving, took: Duration) -> Result<()> {
        let (printed, shown) = (saving.printed.get(), saving.shown.get());
        let tokens = format!("{} tokens printed, {} shown", report::count(printed), report::count(shown));
        let less = printed.saturating_sub(shown) * 100 / printed.max(1);
        let headline = self.paint(Paint::Bold, &format!("{tokens} ({less}% less)"));
        let took = report::seconds(took);
        let next = "next: windlass run -- COMMAND · windlass ps · windlass log ID";
        print(format!("\n{headline}, every byte kept, nothing left running. {took}.\n{next}\n"))
    }

    fn top(&self, scene: &Scene<'_>) -> String {
        let title = format!("{} {}", scene.number, scene.title);
        let fixed = "╭─  ─  ─╮".chars().count();
        let actor = shortened(scene.actor, self.width.saturating_sub(fixed + title.chars().count()));
        let used = fixed + title.chars().count() + actor.chars().count();
        let rule = "─".repeat(self.width.saturating_sub(used));
        let title = self.paint(Paint::Bold, &title);
        let begin = self.paint(Paint::Faint, "╭─");
        let middle = self.paint(Paint::Faint, &format!("─{rule}"));
        let end = self.paint(Paint::Faint, "─╮");
        format!("{begin} {title} {middle} {actor} {end}")
    }

    fn line(&self, line: &str) -> String {
        let text = shortened(line, self.width - 4);
        let padding = " ".repeat(self.width - 4 - text.chars().count());
        let edge = self.paint(Paint::Faint, "│");
        format!("{edge} {text}{padding} {edge}\n")
    }

    fn paint(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Bold => "1",
            Paint::Faint => "2",
            Paint::Green => "32",
        };
        match self.colour {
            Colour::On => format!("\x1b[{code}m{text}\x1b[0m"),
            Colour::Off => text.to_owned(),
        }
    }
}

fn shortened(text: &str, width: usize) -> String {
    let text = text.replace('\t', " ");
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// A short duration in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_a_box_is_as_wide_as_the_box() {
        let stage = DemoOutput { colour: Colour::Off, width: 60 };
        let actor = "an actor with a name that is much too long to fit into the corner";
        let scene = Scene { number: 1, title: "a title", actor, seen: "", facts: &[] };
        assert_eq!(stage.top(&scene).chars().count(), 60);
        assert_eq!(stage.top(&Scene { actor: "sh", ..scene }).chars().count(), 60);
        for text in ["", "short", &"long ".repeat(40)] {
            assert_eq!(stage.line(text).trim_end_matches('\n').chars().count(), 60);
        }
    }
}
