//! Chapter 15: spaces inside fusions, and the memory-bound loop optimiser.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 15,
    slug: "where-a-memory-space-comes-from",
    title: "Where a layout's memory space comes from",
    question: "Only the schedule was given spaces. Who writes S(1) inside the fusions, and what if the schedule repeats itself?",
    figures: &["unrolled", "spread"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(memory, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const SPREAD: &str = "Memory spaces, carried into fusions";
const LOOP: &str = "One iteration of an unrolled loop, three times";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::{looping, scene, spreading};
    let spread = || {
        let story = spreading::story()?;
        Some(super::Poster {
            figure: "spread",
            title: SPREAD,
            caption: story.words(1),
            class: "spread",
            scene: scene::spread(story, 1, 900.0),
        })
    };
    let unrolled = || {
        let plan = looping::plan(looping::Setting::FIRST)?;
        Some(super::Poster {
            figure: "unrolled",
            title: LOOP,
            caption: plan.sentence(),
            class: "unrolled",
            scene: scene::unrolled(&plan, 900.0),
        })
    };
    spread().into_iter().chain(unrolled()).collect()
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{LOOP, SPREAD};
    use crate::figure::Figure;
    use crate::looping::{self, BANDWIDTH, CAPACITY, HIDDEN, Plan, Setting};
    use crate::modules::FIRST_ID;
    use crate::scene;
    use crate::spreading;
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule};
    use crate::views::drawn::Drawn;
    use crate::views::scrubber::Scrubber;
    use crate::views::slider::Slider;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, grouped};
    use leptos::prelude::*;

    /// The version whose modules the figures follow.
    const LIBTPU: &str = "libtpu 0.0.52";

    /// How many steps are done.
    fn done(wb: Workbench) -> usize {
        let most = spreading::story().map_or(0, |s| s.steps.len());
        let told = wb.state.with(|s| s.number("done")).and_then(|n| usize::try_from(n).ok());
        told.unwrap_or(1).min(most)
    }

    fn plan_of(wb: Workbench) -> Memo<Option<Shared<Plan>>> {
        let setting = Memo::new(move |_| wb.state.with(Setting::of));
        Memo::new(move |_| if wb.awake.get() { looping::plan(setting.get()).map(Shared::new) } else { None })
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("spread", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let lb = Workbench::for_figure("unrolled", State::new(Source::Shipped(FIRST_ID.to_owned())));
        wb.say_with(move || spreading::story().map_or_else(String::new, |s| s.words(done(wb))));
        let plan = plan_of(lb);
        lb.say_with(move || plan.get().map_or_else(String::new, |p| p.sentence()));
        let puzzle = move || {
            let plan = plan.get()?;
            let setting = lb.state.with(Setting::of);
            let progress = format!(
                "With {} of fast memory {} of 2 weights are copied ahead, and an iteration takes {}.",
                bytes(setting.bytes()),
                plan.copied(),
                crate::memory::micros(f64::from(plan.seconds.1))
            );
            Some(PuzzleResult { solved: looping::solves(setting), progress })
        };
        view! {
            <p>
                "Memory space assignment looks at the schedule only. A fusion is one instruction there, and what is inside has no "
                "places of its own: its parameter is the operand, its root the result, in the same bytes. So the spaces of the "
                "call are written onto what is inside, and from there onto whatever else is the same memory. XLA calls that "
                <dfn>"memory space propagation"</dfn> ". " <Rule section="13" verified=LIBTPU />
            </p>
            <Predict
                wb
                id="carried"
                question="Inside a fusion, a bitcast reads a parameter in fast memory and is the fusion's root; the fusion's result is in slow memory. What becomes of the two?"
                options=Signal::derive(|| {
                    [
                        "Both are in fast memory: a bitcast is the same bytes",
                        "Each keeps its own: a bitcast may stand between two memories here",
                        "Both go back to slow memory",
                    ]
                        .map(str::to_owned)
                        .to_vec()
                })
                answer=Signal::derive(|| {
                    let apart = spreading::story()?.kept_apart();
                    Some(usize::from(apart > 0))
                })
                explain=Callback::new(|_: usize| {
                    spreading::story().map_or_else(String::new, |s| {
                        format!(
                            "{} bitcasts below read fast memory and give a result that is not there. For this pass a bitcast makes a value of its own, so that parameter and root can differ.",
                            s.kept_apart()
                        )
                    })
                })
            />
            <Figure
                wb
                title=SPREAD
                caption="The fusions of chapter 7's program, with what they read, as libtpu left them but for the spaces inside, which are taken out. Step through: each step carries one space on."
                reserve=[520, 560, 640]
                table=SpreadTable
            >
                <SpreadFigure />
            </Figure>
            <p>
                "A target that is updated in place is the same memory before and after, so it gets the space of its result; a fusion "
                "inside a fusion is followed inwards and outwards. When all is carried, every line is as in libtpu's own module. "
                <Rule section="13" verified=LIBTPU />
            </p>
            <p>
                "Another pass prepares the decisions of chapter 14. Where the schedule repeats itself, the same instructions at the same "
                "distances, as in layers that were unrolled, it would be a pity to decide each time anew. So one iteration is planned and "
                "the plan is given to all: XLA calls it the " <dfn>"memory-bound loop optimizer"</dfn>
                ". What is made and used inside stays in fast memory; what each iteration reads anew is copied ahead, if need be from "
                "the iteration before. How far ahead is found by walking back from the reader over the time in which slow memory is "
                "idle, until enough of the copy is hidden. " <Rule section="14" verified=LIBTPU />
            </p>
            <Figure
                wb=lb
                title=LOOP
                caption="Rows are values. Thin bars: being copied to fast memory; thick bars: there. Below, the time in which slow memory would be idle, and what the copies leave of it."
                reserve=[410, 520, 660]
                table=LoopTable
            >
                <LoopFigure />
            </Figure>
            <Puzzle
                id="loop"
                goal="give the loop as little fast memory as it needs, at most 5.5 MiB, with both weights still copied ahead."
                check=Signal::derive(puzzle)
                hint="Two activations and what is being copied have to stand there together. One percentage too few, and a weight finds no place."
            />
            <p>
                "The plan is a wish: the main loop of chapter 14 tries each copy at its planned start, and takes its bandwidth as granted. "
                "Copies that may wrap around the iteration stand at two addresses in turn, so that one can be filled while the other is read: halve the memory's bandwidth to see it. The program has ten layers with weights of "
                "their own, and is our own text, since the layers in libtpu's modules that we have share theirs. "
                <Rule section="14" verified=LIBTPU />
            </p>
        }
        .into_any()
    }

    #[component]
    fn SpreadFigure() -> impl IntoView {
        let wb = use_workbench();
        let now = Memo::new(move |_| done(wb) as u32);
        let last = || spreading::story().map_or(0, |s| s.steps.len() as u32);
        let words = move || spreading::story().map_or_else(String::new, |s| s.words(now.get() as usize));
        let said = move || format!("{} of {}", now.get(), last());
        view! {
            <div class="spreading" data-done=move || now.get().to_string()>
                <Scrubber
                    label="Place"
                    value=now
                    last=Signal::derive(last)
                    said=Signal::derive(said)
                    step=Callback::new(move |(from, forward): (u32, bool)| {
                        if forward { (from + 1).min(last()) } else { from.saturating_sub(1) }
                    })
                    set=Callback::new(move |to: u32| wb.set_view("done", i64::from(to)))
                />
                <p class="now" role="status" data-said="step">{words}</p>
                <Drawn
                    wb
                    title=SPREAD
                    class="spread"
                    said=Signal::derive(words)
                    scene=Callback::new(move |width: f64| {
                        Some(scene::spread(spreading::story()?, now.get() as usize, width))
                    })
                />
            </div>
        }
    }

    #[component]
    fn SpreadTable() -> impl IntoView {
        let wb = use_workbench();
        let rows = move || {
            let story = spreading::story()?;
            let now = done(wb);
            Some(
                story
                    .lines
                    .iter()
                    .map(|l| {
                        view! {
                            <tr>
                                <th scope="row" class="code">{l.name.clone()}</th>
                                <td class="code">{l.rest.clone()}</td>
                                <td class="n">{l.depth}</td>
                                <td class="n">{story.space(l, now)}</td>
                                <td class="n">{l.theirs}</td>
                            </tr>
                        }
                    })
                    .collect_view(),
            )
        };
        view! {
            <table>
                <caption>"Every line with its memory space"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Line"</th>
                        <th scope="col">"Instruction"</th>
                        <th scope="col" class="n">"Fusions around it"</th>
                        <th scope="col" class="n">"Space now"</th>
                        <th scope="col" class="n">"In libtpu's module"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }

    #[component]
    fn LoopFigure() -> impl IntoView {
        let wb = use_workbench();
        let plan = plan_of(wb);
        let setting = move || wb.state.with(Setting::of);
        let sentence = move || plan.get().map_or_else(String::new, |p| p.sentence());
        let capacity = Signal::derive(move || bytes(setting().bytes()));
        let bandwidth = Signal::derive(move || format!("{} % of a v5e's", setting().bandwidth));
        let hidden = Signal::derive(move || format!("{} % of the copy", setting().hidden));
        let first = Setting::FIRST;
        view! {
            <div
                class="unrolling"
                data-copied=move || plan.get().map(|p| p.copied().to_string())
            >
                <p class="answer" role="status" data-said="plan">{sentence}</p>
                <div class="percents">
                    <Slider label="Fast memory" key="capacity" range=CAPACITY first=first.capacity said=capacity />
                    <Slider label="Slow memory" key="bandwidth" range=BANDWIDTH first=first.bandwidth said=bandwidth />
                    <Slider label="To be hidden" key="hidden" range=HIDDEN first=first.hidden said=hidden />
                </div>
                <Drawn
                    wb
                    title=LOOP
                    class="unrolled"
                    said=Signal::derive(sentence)
                    scene=Callback::new(move |width: f64| Some(scene::unrolled(&*plan.get()?, width)))
                />
            </div>
        }
    }

    #[component]
    fn LoopTable() -> impl IntoView {
        let wb = use_workbench();
        let plan = Memo::new(move |_| looping::plan(wb.state.with(Setting::of)).map(Shared::new));
        let rows = move || {
            let plan = plan.get()?;
            let length = plan.length;
            Some(
                plan.rows
                    .iter()
                    .map(|r| {
                        let copy = r.copy(length);
                        view! {
                            <tr>
                                <th scope="row" class="code">{r.name.clone()}</th>
                                <td class="n">{grouped(r.size)}</td>
                                <td>{r.words(length)}</td>
                                <td class="n">{copy.map(|(_, distance)| distance)}</td>
                                <td class="n">{copy.map(|(c, _)| grouped(c.even_offset))}</td>
                                <td class="n">{copy.map(|(c, _)| grouped(c.odd_offset))}</td>
                            </tr>
                        }
                    })
                    .collect_view(),
            )
        };
        view! {
            <table>
                <caption>"What is planned for each value of an iteration"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        <th scope="col">"Plan"</th>
                        <th scope="col" class="n">"Steps ahead"</th>
                        <th scope="col" class="n">"Offset, even iterations"</th>
                        <th scope="col" class="n">"Odd ones"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        }
    }
}
