//! Reads the text of a lesson: a line a field, `key: what it holds`; lines that are set in go on with the field above, empty
//! lines and lines that begin with `#` say nothing.
//!
//! ```text
//! bufferscope lesson 1
//! title: Two that share
//! step: Pull
//! show: drag m=varied_temp_sizes
//! say: Pull the end of `sort.6`.
//! goal: the two no longer share.
//! reach: apart sort.6 concatenate.8
//! ```

use super::goal::{Condition, Judge};
use super::{ASKED, HEAD, LONGEST, Lesson, MOST_STEPS, NOTHING, Step, Task, chapter_of};
use crate::state::State;
use std::fmt;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What stands there.
    pub read: String,
    /// What could stand there.
    pub expected: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, read, expected } = self;
        write!(f, "Line {line}, column {column}: {read}; expected {expected}.")
    }
}

/// A field with where it stands.
struct Field<'a> {
    key: &'a str,
    value: String,
    line: u32,
    /// The column at which the value begins.
    column: u32,
}

impl Field<'_> {
    fn fault(&self, expected: &'static str) -> Fault {
        let shown: String = self.value.chars().take(60).collect();
        let read = if shown.is_empty() { "nothing".to_owned() } else { format!("`{shown}`") };
        Fault { line: self.line, column: self.column, read, expected }
    }

    fn key_fault(&self, expected: &'static str) -> Fault {
        let shown: String = self.key.chars().take(40).collect();
        Fault { line: self.line, column: 1, read: format!("`{shown}`"), expected }
    }

    /// Something that can be said in words.
    fn words(&self) -> Result<String, Fault> {
        if self.value.is_empty() { Err(self.fault("a text")) } else { Ok(self.value.clone()) }
    }

    /// The same, or a hyphen for nothing yet.
    fn words_or_none(&self) -> Result<String, Fault> {
        Ok(Some(self.words()?).filter(|t| t != NOTHING).unwrap_or_default())
    }

    fn state(&self, text: &str) -> Result<State, Fault> {
        State::decode(text).ok_or_else(|| self.fault("a state as it stands in a link"))
    }
}

fn fields(text: &str) -> Result<Vec<Field<'_>>, Fault> {
    let mut lines = text.lines().zip(1_u32..);
    let first = lines.next().map_or("", |(line, _)| line.trim_start_matches('\u{feff}').trim_end());
    if first != HEAD {
        let shown: String = first.chars().take(40).collect();
        let read = if shown.is_empty() { "nothing".to_owned() } else { format!("`{shown}`") };
        return Err(Fault { line: 1, column: 1, read, expected: "`bufferscope lesson 1`" });
    }
    let mut out: Vec<Field<'_>> = Vec::new();
    for (line, number) in lines {
        let held = line.trim();
        if held.is_empty() || line.starts_with('#') {
            continue;
        }
        let set_in = (line.chars().count() - line.trim_start().chars().count()) as u32;
        if set_in > 0 {
            match out.last_mut() {
                Some(field) => {
                    field.value.push(' ');
                    field.value.push_str(held);
                    continue;
                }
                None => {
                    let read = "a line that is set in".to_owned();
                    return Err(Fault {
                        line: number,
                        column: set_in + 1,
                        read,
                        expected: "a field, as `title: ...`",
                    });
                }
            }
        }
        let Some((key, value)) = line.split_once(':') else {
            let read = format!("`{}`", held.chars().take(40).collect::<String>());
            return Err(Fault { line: number, column: 1, read, expected: "a field, as `title: ...`" });
        };
        let space = value.chars().count() - value.trim_start().chars().count();
        let column = (key.chars().count() + 2 + space) as u32;
        out.push(Field { key: key.trim_end(), value: value.trim().to_owned(), line: number, column });
    }
    Ok(out)
}

const KEYS: &str = "one of title, about, step, show, say, predict, judge, with, ask, choice, right, goal, reach, puzzle, \
                    question, hint, solution";
const ONE_TASK: &str = "one thing to do in a step";

/// Reads a lesson, or says what the first thing is that is wrong.
pub fn read(text: &str) -> Result<Lesson, Fault> {
    read_as(text, true)
}

/// The same for a lesson that is still being made: something may be missing.
pub fn read_draft(text: &str) -> Result<Lesson, Fault> {
    read_as(text, false)
}

fn read_as(text: &str, whole: bool) -> Result<Lesson, Fault> {
    if text.len() as u64 > LONGEST {
        let read = format!("{} bytes", text.len());
        return Err(Fault { line: 1, column: 1, read, expected: "a lesson of at most 256 KiB" });
    }
    let fields = fields(text)?;
    let mut lesson = Lesson::default();
    // Where the step at hand begins, for faults that are noticed at its end.
    let mut begun: Option<&Field<'_>> = None;
    for field in &fields {
        if field.key == "step" {
            if let (Some(step), Some(at), true) = (lesson.steps.last(), begun, whole) {
                complete(step, at)?;
            }
            if lesson.steps.len() >= MOST_STEPS {
                return Err(field.key_fault("at most 100 steps"));
            }
            let title = field.words_or_none()?;
            lesson.steps.push(Step { title, ..Step::default() });
            begun = Some(field);
            continue;
        }
        match (lesson.steps.last_mut(), field.key) {
            (None, "title") => lesson.title = field.words()?,
            (None, "about") => lesson.about = field.words()?,
            (None, _) => return Err(field.key_fault("title, about or step, before the first step")),
            (Some(step), key) => step_field(step, key, field)?,
        }
    }
    match (lesson.steps.last(), begun) {
        _ if !whole => {}
        (Some(step), Some(at)) => complete(step, at)?,
        _ => {
            let line = text.lines().count().max(1) as u32;
            let read = "the end of the text".to_owned();
            return Err(Fault { line, column: 1, read, expected: "a step" });
        }
    }
    Ok(lesson)
}

fn step_field(step: &mut Step, key: &str, field: &Field<'_>) -> Result<(), Fault> {
    let free = step.task == Task::Nothing;
    let begin = |task: Task| if free { Ok(task) } else { Err(field.key_fault(ONE_TASK)) };
    match (key, &mut step.task) {
        ("show", _) => {
            let (figure, state) = field.value.split_once(' ').unwrap_or((field.value.as_str(), ""));
            if chapter_of(figure).is_none() {
                return Err(field.fault("a figure of this page, as `drag`, and its state"));
            }
            figure.clone_into(&mut step.figure);
            step.state = if state.is_empty() { None } else { Some(field.state(state.trim())?) };
        }
        ("say", _) => step.says.push(field.words()?),
        ("hint", _) => step.hint = field.words()?,
        ("solution", _) => step.solution = Some(field.state(&field.value)?),
        ("puzzle", _) => step.task = begin(Task::Puzzle(id(field)?))?,
        ("question", _) => step.task = begin(Task::Question(id(field)?))?,
        ("predict", _) => {
            let question = field.words_or_none()?;
            step.task = begin(Task::Predict { question, judge: Judge::default(), with: None })?;
        }
        ("judge", Task::Predict { judge, .. }) => {
            *judge = Judge::read(&field.value)
                .ok_or_else(|| field.fault("`heap`, `total`, `share A B` or `meet A B`"))?;
        }
        ("with", Task::Predict { with, .. }) => *with = Some(field.state(&field.value)?),
        ("judge" | "with", _) => return Err(field.key_fault("`predict` before it")),
        ("ask", _) => {
            step.task =
                begin(Task::Ask { question: field.words_or_none()?, choices: Vec::new(), answer: None })?;
        }
        ("choice" | "right", Task::Ask { choices, answer, .. }) => {
            if choices.len() >= 12 {
                return Err(field.key_fault("at most 12 choices"));
            }
            if key == "right" && answer.is_some() {
                return Err(field.key_fault("one right choice"));
            }
            if key == "right" {
                *answer = Some(choices.len());
            }
            choices.push(field.words()?);
        }
        ("choice" | "right", _) => return Err(field.key_fault("`ask` before it")),
        ("goal", _) => {
            step.task = begin(Task::Reach { goal: field.words_or_none()?, conditions: Vec::new() })?;
        }
        ("reach", Task::Reach { conditions, .. }) => {
            let condition = Condition::read(&field.value).ok_or_else(|| field.fault(Condition::FORMS))?;
            conditions.push(condition);
        }
        ("reach", _) => return Err(field.key_fault("`goal` before it")),
        _ => return Err(field.key_fault(KEYS)),
    }
    Ok(())
}

fn id(field: &Field<'_>) -> Result<String, Fault> {
    let is_id = field.value.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !field.value.is_empty();
    if is_id {
        Ok(field.value.clone())
    } else {
        Err(field.fault("the name of a puzzle or a question, as `grow`"))
    }
}

/// What can only be said once the whole step is read.
fn complete(step: &Step, at: &Field<'_>) -> Result<(), Fault> {
    let missing =
        |what: &'static str| Err(Fault { read: format!("the step `{}`", step.title), ..at.fault(what) });
    if step.figure.is_empty() {
        return missing("`show` in it");
    }
    let asks_the_engine = match &step.task {
        Task::Predict { judge, with, .. } => {
            if with.is_none() && judge.compares() {
                return missing("`with`: the state that is compared with the step's own");
            }
            true
        }
        Task::Reach { conditions, .. } => {
            if conditions.is_empty() {
                return missing("`reach` in it");
            }
            true
        }
        Task::Ask { choices, .. } if choices.len() == 1 => return missing("two choices or more, or none"),
        _ => false,
    };
    if asks_the_engine && !ASKED.contains(&step.figure.as_str()) {
        return missing("a figure that shows an assignment of its own program, as `drag` or `clock`");
    }
    if asks_the_engine && step.state.is_none() {
        return missing("the figure's state behind `show`");
    }
    Ok(())
}

/// The conditions of a goal, a line each; what is wrong comes with its line.
pub fn conditions(text: &str) -> Result<Vec<Condition>, Fault> {
    let mut out = Vec::new();
    for (line, number) in text.lines().zip(1_u32..) {
        let value = line.trim();
        if value.is_empty() {
            continue;
        }
        let column = (line.chars().count() - line.trim_start().chars().count()) as u32 + 1;
        let field = Field { key: "reach", value: value.to_owned(), line: number, column };
        out.push(Condition::read(value).ok_or_else(|| field.fault(Condition::FORMS))?);
    }
    Ok(out)
}
