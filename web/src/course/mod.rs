//! Lessons: states of figures in an order, each with a few sentences and something to do: a question that is answered before
//! the engine answers it, or a goal that is reached by working in the figure.
//!
//! A lesson is a text ([`read`], [`write`]): those that come with the page are `assets/lessons/*.txt`, a teacher's is in the
//! address, packed. Whether an answer is right and a goal reached is asked of the engine ([`goal`]); only a teacher's own
//! question may bring the answer that is expected. No lesson is trusted: what it says is shown as text.

pub mod goal;
mod read;
mod write;

#[cfg(target_arch = "wasm32")]
mod classroom;
#[cfg(target_arch = "wasm32")]
pub mod desk;
#[cfg(target_arch = "wasm32")]
mod list;
#[cfg(target_arch = "wasm32")]
mod presenter;
#[cfg(target_arch = "wasm32")]
mod task;
#[cfg(target_arch = "wasm32")]
mod teacher;

pub use read::{Fault, conditions, read, read_draft};
pub use write::write;

use crate::address::Address;
use crate::chapters::{CHAPTERS, Chapter};
use crate::state::{State, pack, unpack};
use goal::{Condition, Judge};

/// A text that calls itself a lesson begins with this line.
pub const HEAD: &str = "bufferscope lesson 1";

/// Stands where something has no words yet.
const NOTHING: &str = "-";

/// No lesson has more steps.
pub const MOST_STEPS: usize = 100;

/// No lesson has more bytes as text.
pub const LONGEST: u64 = 256 << 10;

/// Links up to this many characters arrive whole nearly everywhere; longer ones are cut by some mail and chat programs.
pub const LONGEST_LINK: usize = 8000;

/// Steps in an order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lesson {
    /// A few words.
    pub title: String,
    /// For whom, and what for.
    pub about: String,
    /// The path.
    pub steps: Vec<Step>,
}

/// One figure in one state, with what is said of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// A few words.
    pub title: String,
    /// The figure's id.
    pub figure: String,
    /// Its state; `None` where it is as it first was.
    pub state: Option<State>,
    /// Paragraphs, with code between backticks.
    pub says: Vec<String>,
    /// What there is to do.
    pub task: Task,
    /// For those who want one.
    pub hint: String,
    /// A state in which the goal is reached.
    pub solution: Option<State>,
}

/// What a step asks for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Task {
    /// To be read.
    #[default]
    Nothing,
    /// The chapter's own puzzle of that id.
    Puzzle(String),
    /// The chapter's own prediction of that id.
    Question(String),
    /// A question that the engine answers.
    Predict {
        /// The question.
        question: String,
        /// What is asked of the engine.
        judge: Judge,
        /// The state it is asked of, if that is not the step's own.
        with: Option<State>,
    },
    /// A question of whoever made the lesson.
    Ask {
        /// The question.
        question: String,
        /// What there is to choose from.
        choices: Vec<String>,
        /// The one that is expected, if any.
        answer: Option<usize>,
    },
    /// A goal, reached in the figure.
    Reach {
        /// In words.
        goal: String,
        /// What has to hold, all of it.
        conditions: Vec<Condition>,
    },
}

/// The figures whose program and assignment are those of their state, so that goals and questions can be asked of them.
pub const ASKED: [&str; 12] = [
    "slabs",
    "clock",
    "pair",
    "chain",
    "drag",
    "bins",
    "log",
    "gap",
    "files",
    "ask-share",
    "ask-gap",
    "ask-must",
];

/// The chapter that has a figure.
pub fn chapter_of(figure: &str) -> Option<&'static Chapter> {
    CHAPTERS.iter().find(|c| c.figures.contains(&figure))
}

/// The lessons that come with the page, in the order of the list: id and text.
pub const SHIPPED: [(&str, &str); 3] = [
    ("new", include_str!("../../../assets/lessons/new.txt")),
    ("memory", include_str!("../../../assets/lessons/memory.txt")),
    ("engineer", include_str!("../../../assets/lessons/engineer.txt")),
];

/// A lesson that comes with the page.
pub fn shipped(id: &str) -> Option<Lesson> {
    let (_, text) = SHIPPED.iter().find(|(known, _)| *known == id)?;
    read(text).ok()
}

/// Which lesson an address names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// One that comes with the page.
    Shipped(String),
    /// The one that stands in the address, packed.
    Packed(String),
    /// The one that the reader opened from a file.
    File,
}

/// A place in a lesson: what an address says behind `lesson=`, `new.3` or `~PACKED.3`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The lesson.
    pub which: Which,
    /// The step, from 0.
    pub step: usize,
}

impl Place {
    /// Reads one.
    pub fn decode(text: &str) -> Option<Self> {
        let (which, step) = text.rsplit_once('.')?;
        let step = step.parse::<usize>().ok()?.checked_sub(1)?;
        let which = match which.strip_prefix('~') {
            Some("") => Which::File,
            Some(packed) => Which::Packed(packed.to_owned()),
            None => Which::Shipped(which.to_owned()),
        };
        Some(Self { which, step })
    }

    /// As it stands in an address.
    pub fn encode(&self) -> String {
        let which = match &self.which {
            Which::Shipped(id) => id.clone(),
            Which::Packed(packed) => format!("~{packed}"),
            Which::File => "~".to_owned(),
        };
        format!("{which}.{}", self.step + 1)
    }

    /// The same lesson, another step.
    #[must_use]
    pub fn at(&self, step: usize) -> Self {
        Self { which: self.which.clone(), step }
    }

    /// The hash of an address that opens this step as it begins.
    pub fn to_hash(&self, lesson: &Lesson) -> String {
        let anchor = lesson.steps.get(self.step).map(|s| s.figure.clone()).unwrap_or_default();
        Address { anchor, figures: vec![("lesson".to_owned(), self.encode())] }.to_hash()
    }

    /// Under what the progress is kept.
    pub fn key(&self) -> String {
        match &self.which {
            Which::Shipped(id) => id.clone(),
            // A hash (FNV-1a) of the lesson: it need not be safe, only short.
            Which::Packed(packed) => {
                let of = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
                format!("~{:016x}", packed.bytes().fold(0xcbf2_9ce4_8422_2325, of))
            }
            Which::File => "~".to_owned(),
        }
    }
}

/// A lesson as it stands in an address.
pub fn packed(lesson: &Lesson) -> String {
    pack(&write(lesson))
}

/// Reads what [`packed`] wrote.
pub fn unpacked(text: &str) -> Result<Lesson, Fault> {
    match unpack(text, LONGEST) {
        Some(text) => read(&text),
        None => Err(Fault {
            line: 1,
            column: 1,
            read: "a link that is cut off or damaged".to_owned(),
            expected: "a packed lesson",
        }),
    }
}

/// The figure and the state that a link shows: what it names, or else the first figure that it has a state of.
pub fn linked(link: &str) -> Option<(String, Option<State>)> {
    let hash = link.trim().split_once('#')?.1;
    let address = Address::parse(hash)?;
    let of = |figure: &str| {
        chapter_of(figure)?;
        let told = address.state_of(figure);
        let state = told.and_then(State::decode);
        // A state that cannot be read is none.
        (told.is_some() == state.is_some()).then(|| (figure.to_owned(), state))
    };
    of(&address.anchor).or_else(|| address.figures.iter().find_map(|(id, _)| of(id)))
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
