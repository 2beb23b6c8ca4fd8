//! Chapter 1: the allocations of a real program, and where each value stands.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 1,
    slug: "what-gets-decided",
    title: "What gets decided",
    question: "Where does every value of a program stand?",
    figures: &["slabs"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

#[cfg(not(target_arch = "wasm32"))]
const MODULE: &str = crate::modules::FIRST_ID;

/// The value that is selected first: an intermediate one that stands in memory of a result.
const FIRST: &str = "ynn_fusion.3";

const TITLE: &str = "All memory of one program";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let Ok(opened) = crate::engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let picture = &opened.original.picture;
    let selected = opened.find(FIRST);
    let words = selected.and_then(|v| crate::lessons::whereabouts(&opened, &opened.original, v));
    vec![super::Poster {
        figure: "slabs",
        title: TITLE,
        caption: words.unwrap_or_default(),
        class: "plan",
        scene: crate::scene::plan(picture, selected, 900.0),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{FIRST, TITLE};
    use crate::figure::Figure;
    use crate::lessons;
    use crate::modules::FIRST_ID;
    use crate::scene::{self, SlabKind};
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::views::choose::ValueChoice;
    use crate::views::drawn::Drawn;
    use crate::workbench::{Workbench, use_workbench};
    use assigner::Bin;
    use assigner::words::bytes;
    use leptos::prelude::*;

    pub fn chapter() -> AnyView {
        let first = State { all_rows: true, ..State::new(Source::Shipped(FIRST_ID.to_owned())) };
        let wb = Workbench::for_figure("slabs", first).begin_with(FIRST);
        wb.say_with(move || words(wb));
        let total = move || wb.base.get().map(|b| b.original.picture.total_bytes);
        let apart = move || wb.base.get().map(|b| lessons::without_sharing(&b));
        // The right one is what the engine counts; the others are half and twice of it.
        let options = move || {
            let (Some(total), Some(apart)) = (total(), apart()) else { return Vec::new() };
            [total, apart, apart * 2].map(bytes).to_vec()
        };
        let explain = move |_: usize| {
            let (Some(total), Some(apart)) = (total(), apart()) else { return String::new() };
            format!(
                "Without sharing every value would have memory of its own: {} in place of {}, which is {} more. \
                 That is what buffer assignment saves here.",
                bytes(apart),
                bytes(total),
                bytes(apart.saturating_sub(total))
            )
        };
        let puzzle = move || {
            let (opened, run) = (wb.opened.get()?, wb.run.get()?);
            let Some(value) = wb.selected.get() else {
                return Some(PuzzleResult { solved: false, progress: "No value is selected.".to_owned() });
            };
            let item = run.picture.item(value)?;
            let size = item.size;
            let bin = lessons::bin_of(&opened, &run, value)?;
            let mates = run.picture.mates(value).len();
            let is_result = item.slab.is_some_and(|s| run.picture.slabs[s].kind == SlabKind::Result);
            let solved = bin == Bin::Reused && is_result && size < 65536;
            let progress = match bin {
                _ if solved => format!(
                    "{} ({}) is squeezed into memory of a result, where {mates} other values stand at its address.",
                    item.name,
                    bytes(size)
                ),
                Bin::Reused => format!("{} is squeezed in, but it takes {}.", item.name, bytes(size)),
                bin => format!(
                    "{} is selected; the assigner's word for it: {}.",
                    item.name,
                    lessons::bin_name(bin)
                ),
            };
            Some(PuzzleResult { solved, progress })
        };
        let name = |n: &'static str| Signal::derive(move || n.to_owned());
        view! {
            <p>
                "A compiled program is a list of instructions, and each writes one value, or a few: arrays of known "
                "shape, so of known size. Before the program ever runs, the compiler decides where each of them stands. "
                "XLA calls a piece of memory that is asked for as a whole an " <dfn>"allocation"</dfn>
                "; a value gets an allocation, an " <dfn>"offset"</dfn> " in it, and a size. That is the whole answer, "
                "and the list of it is the " <dfn>"buffer assignment"</dfn> ". "
                <Rule section="8.2" />
            </p>
            <p>
                "The figure shows all of it for the backward pass of an attention layer, as compiled by XLA for a CPU. "
                "The arguments, such as " <Term wb value=name("a_0_.1") />
                ", stand in memory that the caller brings, one allocation for each. The results go into allocations "
                "that the caller takes away. Two numbers are constants, part of the program itself. A few bytes are "
                <dfn>"thread-local"</dfn>
                ": they belong to small functions that run once per element, such as the sum inside a reduction. And what "
                "is needed only while the program runs, such as " <Term wb value=name("ynn_fusion.5") />
                ", is packed into one allocation for temporaries. What is packed there is the " <dfn>"heap"</dfn>
                "; it has nothing to do with a heap that a program allocates from while it runs. "
                <Rule section="8.5" />
            </p>
            <p>
                "Four words come up on every page from here. A " <dfn>"buffer"</dfn>
                " is one value, or several that must always have the same memory, as the turns of a loop do; it is buffers "
                "that get a place. A " <dfn>"fusion"</dfn>
                " is one instruction that does the work of several in one go: what is computed inside it never stands in "
                "memory, only its result does. A " <dfn>"tuple"</dfn>
                " is a table of pointers to other values; one that is returned is a result like others. " <span class="code">"loop{}"</span>
                " is the table that an instruction named loop gives, and " <span class="code">"loop{0}"</span>
                " is the first value in it. The names are the compiler's own and mean little: "
                <span class="code">"ynn_fusion.5"</span> " is a fusion for the CPU's library of matrix products."
            </p>
            <Figure
                wb
                title=TITLE
                caption="Each frame is an allocation, and its length is its size. A band is a value, at the bytes it stands on; bands above one another take turns at them, the earliest lowest. Click one to see where it lives and why."
                reserve=[395, 420, 500]
                eager=true
            >
                <Slabs />
            </Figure>
            <p>
                "Look at the results' frames. " <Term wb value=name("dot") /> " is a result. "
                <Term wb value=name("ynn_fusion.3") />
                " is not, and yet it stands there: it is done before " <Term wb value=name("dot") />
                " is written, so its room costs nothing. Most of what follows on this page is about when that is allowed."
            </p>
            <Predict
                wb
                id="apart"
                question=Signal::derive(|| {
                    "If no two values could share an address, how much memory would this program need?".to_owned()
                })
                options=Signal::derive(options)
                answer=Signal::derive(move || apart().map(|_| 1))
                explain=Callback::new(explain)
            />
            <Puzzle
                id="squeezed"
                goal=Signal::derive(|| {
                    "select a value of less than 64 KiB that is no part of the result and yet stands in a result's memory."
                        .to_owned()
                })
                check=Signal::derive(puzzle)
                hint="Small bands in the frames of the results are hard to see and easy to hover. The list of values has them all, in the order in which they are written."
            />
        }
        .into_any()
    }

    fn words(wb: Workbench) -> String {
        let (Some(opened), Some(run)) = (wb.opened.get(), wb.run.get()) else { return String::new() };
        match wb.selected.get().and_then(|v| lessons::whereabouts(&opened, &run, v)) {
            Some(words) => words,
            None => "Choose a value, in the picture or in the list.".to_owned(),
        }
    }

    #[component]
    fn Slabs() -> impl IntoView {
        let wb = use_workbench();
        let draw = move |width: f64| Some(scene::plan(&wb.run.get()?.picture, wb.selected.get(), width));
        let said = move || {
            wb.run.get().map_or_else(String::new, |r| {
                format!(
                    "{} allocations, together {}. The table holds the same.",
                    r.picture.slabs.len(),
                    bytes(r.picture.total_bytes)
                )
            })
        };
        view! {
            <div class="controls above">
                <ValueChoice all=true />
                <p class="told-here">{move || words(wb)}</p>
            </div>
            <Drawn
                wb
                title=TITLE
                class="plan"
                said=Signal::derive(said)
                scene=Callback::new(draw)
            />
            <p class="sum">
                {move || {
                    wb.run
                        .get()
                        .map(|r| {
                            format!(
                                "{} allocations, together {}",
                                r.picture.slabs.len(),
                                assigner::words::both(r.picture.total_bytes)
                            )
                        })
                }}
            </p>
        }
    }
}
