//! An exhibit without a browser: a module, a state with its history, and what the engine makes of both.

use assigner::words::{grouped, list};
use sorts::Arrange as _;
use web::engine::{self, Opened, Problem, Run, Threshold};
use web::modules::shipped;
use web::scene::{self, HeapLayout, Scene, Timeline, TimelineOptions};
use web::state::{Edit, End, History, Move, Selection, Source, State};
use web::story;

/// What is said beside the pictures.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// What to do, before and after the name of the selected value.
    pub task: (String, String),
    /// The selected value's name.
    pub name: String,
    /// What the reader changed; nothing before any change.
    pub deed: String,
    /// What that does to the sum of all temporaries: `+1,148 B (+4.6 %)`.
    pub difference: String,
    /// 1 if the temporaries grew, -1 if they shrank.
    pub direction: i8,
    /// What follows from the change, or, before any, why the selected value stands where it does.
    pub rest: String,
    /// Where the peak is and what is alive there.
    pub peak: String,
}

/// A value in the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The value's number.
    pub value: u32,
    /// Its name.
    pub name: String,
    /// The defining opcode.
    pub opcode: String,
    /// Written at this step.
    pub start: u32,
    /// Wanted until this step.
    pub end: u32,
    /// Its size in bytes, thousands apart.
    pub bytes: String,
    /// Its allocation in words.
    pub allocation: String,
    /// Its offset there in bytes, thousands apart.
    pub offset: String,
    /// What else stands at its address, at another time.
    pub shares: String,
}

/// The steps at which either end of the selected range breaks a sharing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Thresholds {
    start: Vec<Threshold>,
    end: Vec<Threshold>,
}

/// One exhibit.
#[derive(Debug)]
pub struct Session {
    default: State,
    history: History,
    base: Opened,
    /// The module in the reader's order of instructions, and the moves that lead there.
    reordered: Option<(Vec<Move>, Opened)>,
    run: Run,
    suggested: Option<u32>,
    thresholds: Thresholds,
    /// Of which value, and beside which other edits and moves, the thresholds are.
    thresholds_of: Option<(u32, Vec<Edit>, Vec<Move>)>,
}

impl Session {
    /// Opens a text. `id` is that of a module that comes with the page, `None` for the host's own text.
    pub fn open(text: &str, id: Option<&str>) -> Result<Self, Vec<Problem>> {
        let base = engine::open(text)?;
        let known = id.and_then(shipped);
        let source = id.map_or_else(|| Source::Own(text.to_owned()), |id| Source::Shipped(id.to_owned()));
        let default = State { all_rows: known.is_some_and(|m| m.all_rows), ..State::new(source) };
        let named = known.and_then(|m| m.suggested).and_then(|name| base.find(name));
        let suggested = named.or_else(|| base.suggest());
        let run = base.run(&[]);
        let mut this = Self {
            history: History::new(default.clone()),
            default,
            base,
            reordered: None,
            run,
            suggested,
            thresholds: Thresholds::default(),
            thresholds_of: None,
        };
        this.refresh();
        Ok(this)
    }

    /// The state as it stands in an address; nothing while all is as it first was.
    pub fn state(&self) -> String {
        if *self.history.now() == self.default { String::new() } else { self.whole_state() }
    }

    /// The same, also while all is as it first was: with its module, or its text.
    pub fn whole_state(&self) -> String {
        self.history.now().encode()
    }

    /// Goes to a state that an address has; the empty one is the first. `false`, and nothing changed, if it is none or
    /// belongs to another module.
    pub fn set_state(&mut self, text: &str) -> bool {
        let state = if text.is_empty() { Some(self.default.clone()) } else { State::decode(text) };
        let Some(state) = state.filter(|s| s.source == self.default.source) else { return false };
        self.history.jump(state);
        self.refresh();
        true
    }

    fn opened(&self) -> &Opened {
        self.reordered.as_ref().map_or(&self.base, |(_, opened)| opened)
    }

    /// What the engine made of the state.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The selected value.
    pub fn selected(&self) -> Option<u32> {
        let value = match self.history.now().selection {
            Selection::Suggested => self.suggested,
            Selection::Nothing => None,
            Selection::Value(v) => Some(v),
        }?;
        self.base.original.picture.item(value).map(|_| value)
    }

    /// Brings what is derived up to the state.
    fn refresh(&mut self) {
        let state = self.history.now().clone();
        let had = self.reordered.as_ref().map_or(&[][..], |(moves, _)| moves);
        let other_order = had != state.moves;
        if other_order {
            let opened = if state.moves.is_empty() { None } else { self.base.reordered(&state.moves) };
            self.reordered = opened.map(|opened| (state.moves.clone(), opened));
        }
        if other_order || self.run.edits != state.edits {
            self.run = self.opened().run(&state.edits);
        }
        // Asked of the packing without an edit of this very value: a mark stays where it is while the end is pulled over it.
        let key = self.selected().map(|value| {
            let others = state.edits.iter().copied().filter(|e| e.value != value).collect::<Vec<_>>();
            (value, others, state.moves)
        });
        if key == self.thresholds_of {
            return;
        }
        self.thresholds = key.as_ref().map_or_else(Thresholds::default, |(value, others, _)| {
            let opened = self.opened();
            let edited = if others.is_empty() { None } else { Some(opened.run(others)) };
            let run = edited.as_ref().unwrap_or(&opened.original);
            Thresholds {
                start: opened.thresholds(run, *value, End::Start),
                end: opened.thresholds(run, *value, End::End),
            }
        });
        self.thresholds_of = key;
    }

    /// Selects a value, or none.
    pub fn select(&mut self, value: Option<u32>) {
        let selection = value.map_or(Selection::Nothing, Selection::Value);
        self.history.set(State { selection, ..self.history.now().clone() });
        self.refresh();
    }

    /// Rows for parameters and results too, or for temporaries only.
    pub fn show_all(&mut self, all_rows: bool) {
        self.history.set(State { all_rows, ..self.history.now().clone() });
    }

    /// Are there rows for all buffers?
    pub fn shows_all(&self) -> bool {
        self.history.now().all_rows
    }

    /// The range of the selected value as it is now: start, end, and the last step there is.
    pub fn range(&self) -> Option<(u32, u32, u32)> {
        let picture = &self.run.picture;
        picture.item(self.selected()?).map(|i| (i.start, i.end, picture.last()))
    }

    /// Moves one end of a value's range towards a step, which may be anywhere; [`Session::settle`] makes it an entry of the
    /// history. `true` if that changed anything.
    pub fn move_end(&mut self, value: u32, end: End, to: i64) -> bool {
        let picture = &self.opened().original.picture;
        let Some(original) = picture.item(value).map(|i| (i.start, i.end)) else { return false };
        let mut next = self.history.now().with_end(value, original, end, to, picture.last());
        next.selection = Selection::Value(value);
        let changes = next != *self.history.now();
        if changes {
            self.history.preview(next);
            self.refresh();
        }
        changes
    }

    /// The end of a move; `true` if it is an entry of the history now.
    pub fn settle(&mut self) -> bool {
        self.history.settle()
    }

    /// Undo.
    pub fn undo(&mut self) -> bool {
        let moved = self.history.undo();
        self.refresh();
        moved
    }

    /// Redo.
    pub fn redo(&mut self) -> bool {
        let moved = self.history.redo();
        self.refresh();
        moved
    }

    /// Is there anything to undo?
    pub fn can_undo(&self) -> bool {
        self.history.can_undo()
    }

    /// Is there anything to redo?
    pub fn can_redo(&self) -> bool {
        self.history.can_redo()
    }

    /// Puts back what was changed.
    pub fn reset(&mut self) {
        self.history.set(self.history.now().reset(&self.default));
        self.refresh();
    }

    /// Is there anything to put back?
    pub fn is_changed(&self) -> bool {
        self.history.now().reset(&self.default) != *self.history.now()
    }

    fn outcome(&self) -> Option<story::Outcome> {
        story::outcome(self.opened(), &self.run, self.selected())
    }

    fn lost(&self) -> Vec<u32> {
        self.outcome().map(|o| o.lost).unwrap_or_default()
    }

    /// The live ranges, `width` CSS pixels wide.
    pub fn timeline(&self, width: f64) -> Timeline {
        let said = |list: &[Threshold]| {
            let of = |t: &Threshold| {
                let (label, short) = story::threshold(t);
                scene::Threshold { step: t.step, label, short }
            };
            list.iter().map(of).collect::<Vec<_>>()
        };
        let (at_start, at_end) = (said(&self.thresholds.start), said(&self.thresholds.end));
        let options = TimelineOptions {
            width,
            lost: &self.lost(),
            all_rows: self.shows_all(),
            selected: self.selected(),
            at_end: &at_end,
            at_start: &at_start,
            peak: self.run.curve.peak(),
        };
        scene::timeline(&self.opened().original.picture, &self.run.picture, options)
    }

    /// The heap, of a size in CSS pixels.
    pub fn heap(&self, size: (f64, f64)) -> HeapLayout {
        let base = &self.opened().original.picture;
        scene::heap(base, &self.run.picture, size, self.selected(), &self.lost(), self.run.curve.peak())
    }

    /// All allocations at one scale, `width` CSS pixels wide.
    pub fn plan(&self, width: f64) -> Scene {
        scene::plan(&self.run.picture, self.selected(), width)
    }

    /// What is to be said.
    pub fn words(&self) -> Words {
        let selected = self.selected();
        let name =
            selected.and_then(|v| self.run.picture.item(v)).map(|i| i.name.clone()).unwrap_or_default();
        let (before, after) = story::task(&self.thresholds.end, &self.thresholds.start);
        let task = match selected {
            Some(_) => (before.to_owned(), after.to_owned()),
            None => ("Choose a value, then pull either end of its live range.".to_owned(), String::new()),
        };
        let peak = story::peak(&self.run);
        match self.outcome() {
            Some(o) => Words {
                task,
                name,
                deed: o.deed,
                difference: o.difference,
                direction: o.direction as i8,
                rest: o.rest,
                peak,
            },
            None => Words {
                task,
                name,
                rest: selected.map(|v| story::why(&self.run, v)).unwrap_or_default(),
                peak,
                ..Words::default()
            },
        }
    }

    /// Where a pulled end breaks a sharing, the nearest first: which end, the step, a label, and the reason.
    pub fn breaks(&self) -> Vec<(End, u32, String, String)> {
        let of = |which: End, list: &[Threshold], most: usize| {
            let verb = if which == End::End { "end" } else { "start" };
            let one = |t: &Threshold| {
                let label = format!("{verb} {} · {}", t.step, assigner::words::list(&t.with, 1));
                (which, t.step, label, t.words.clone())
            };
            list.iter().take(most).map(one).collect::<Vec<_>>()
        };
        let mut all = of(End::End, &self.thresholds.end, 3);
        all.extend(of(End::Start, &self.thresholds.start, 2));
        all
    }

    /// The values that are shown, in the order of their ranges.
    pub fn rows(&self) -> Vec<Row> {
        let picture = &self.run.picture;
        let mut items: Vec<_> =
            picture.items.iter().filter(|i| self.shows_all() || picture.is_temp(i)).collect();
        items.arrange_by_key(|i| (i.start, i.end, i.value));
        let row = |i: &&scene::Item| {
            let slab = i.slab.map(|s| &picture.slabs[s]);
            let mates: Vec<String> = picture.mates(i.value).iter().map(|m| m.name.clone()).collect();
            Row {
                value: i.value,
                name: i.name.clone(),
                opcode: i.opcode.clone(),
                start: i.start,
                end: i.end,
                bytes: grouped(i.bytes),
                allocation: slab.map_or_else(String::new, |s| format!("{} {}", s.kind.name(), s.id)),
                offset: slab.map_or_else(String::new, |_| grouped(i.offset)),
                shares: list(&mates, 3),
            }
        };
        items.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use web::modules::{FIRST_ID, FIRST_TEXT};

    fn session() -> Session {
        Session::open(FIRST_TEXT, Some(FIRST_ID)).expect("it can be read")
    }

    #[test]
    fn a_pulled_end_says_what_the_page_says_and_comes_back() {
        let mut s = session();
        let before = s.words();
        assert!(before.deed.is_empty() && !before.rest.is_empty() && !before.name.is_empty());
        let (value, first) = (s.selected().expect("a story"), s.breaks());
        let (end, step, ..) = first.first().expect("a sharing to break").clone();
        assert!(s.move_end(value, end, i64::from(step)) && s.settle());
        let after = s.words();
        assert!(after.deed.contains(&before.name), "{}", after.deed);
        assert!(!s.state().is_empty() && s.can_undo() && s.is_changed());
        // The marks stay where they were while their own value is pulled.
        assert_eq!(s.breaks(), first);
        assert!(s.undo());
        assert_eq!(s.words(), before);
        assert!(s.redo());
        s.reset();
        assert_eq!(s.words().deed, "");
    }

    #[test]
    fn a_state_goes_round_through_its_text() {
        let mut s = session();
        let value = s.selected().expect("a story");
        s.move_end(value, End::End, i64::MAX);
        s.settle();
        let (text, words, heap) = (s.state(), s.words(), s.heap((300.0, 200.0)).scene);
        let mut other = session();
        assert!(other.set_state(&text));
        assert_eq!((other.state(), other.words()), (text, words));
        assert_eq!(other.heap((300.0, 200.0)).scene, heap);
        assert!(other.set_state("") && other.state().is_empty());
    }

    #[test]
    fn states_of_other_modules_and_nonsense_change_nothing() {
        let mut s = session();
        for text in ["m=mlp_grad;e=57.22.31", "nonsense", "m=../x", "x=AAAA"] {
            assert!(!s.set_state(text), "{text}");
            assert!(s.state().is_empty());
        }
    }

    #[test]
    fn own_text_is_opened_and_what_is_wrong_has_its_line() {
        let s = Session::open(FIRST_TEXT, None).expect("it can be read");
        assert_eq!(s.rows().len(), session().rows().len());
        let problems = Session::open("HloModule broken\nENTRY e {\n  a = f32[x]{0} parameter(0)\n}\n", None);
        assert!(problems.expect_err("broken").iter().any(|p| p.is_error && p.line == 3));
    }

    #[test]
    fn the_table_has_a_row_for_each_value_that_is_drawn() {
        let mut s = session();
        let few = s.rows().len();
        assert!(s.rows().iter().all(|r| !r.offset.is_empty() && r.allocation.starts_with("temporary")));
        s.show_all(true);
        assert!(s.rows().len() > few && s.shows_all());
        let rows = s.timeline(600.0).rows.iter().map(|r| r.values.len()).sum::<usize>();
        assert_eq!(rows, s.rows().len());
    }
}
