//! A lesson as text, so that [`super::read`] reads it back.

use super::{HEAD, Lesson, NOTHING, Task};
use std::fmt::Write as _;

/// The text of a lesson. Whatever a field holds stays on its line: other white space becomes a space.
pub fn write(lesson: &Lesson) -> String {
    let mut out = format!("{HEAD}\n");
    let mut line = |key: &str, text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            _ = writeln!(out, "{key}: {text}");
        }
    };
    line("title", &lesson.title);
    line("about", &lesson.about);
    for step in &lesson.steps {
        line("step", said(&step.title));
        match &step.state {
            Some(state) => line("show", &format!("{} {}", step.figure, state.encode())),
            None => line("show", &step.figure),
        }
        for paragraph in &step.says {
            line("say", paragraph);
        }
        match &step.task {
            Task::Nothing => {}
            Task::Puzzle(id) => line("puzzle", id),
            Task::Question(id) => line("question", id),
            Task::Predict { question, judge, with } => {
                line("predict", said(question));
                line("judge", &judge.to_string());
                if let Some(state) = with {
                    line("with", &state.encode());
                }
            }
            Task::Ask { question, choices, answer } => {
                line("ask", said(question));
                for (n, choice) in choices.iter().enumerate() {
                    line(if Some(n) == *answer { "right" } else { "choice" }, choice);
                }
            }
            Task::Reach { goal, conditions } => {
                line("goal", said(goal));
                for condition in conditions {
                    line("reach", &condition.to_string());
                }
            }
        }
        line("hint", &step.hint);
        if let Some(state) = &step.solution {
            line("solution", &state.encode());
        }
    }
    out
}

/// A field that something hangs on has to be there, also where it has no words yet.
fn said(words: &str) -> &str {
    if words.trim().is_empty() { NOTHING } else { words }
}
