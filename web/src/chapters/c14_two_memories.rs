//! Chapter 14: memory space assignment.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 14,
    slug: "two-memories",
    title: "Two memories",
    question: "A TPU has a small fast memory beside the large slow one. What is copied there, when, and why not everything?",
    figures: &["memories"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(memory, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

const TITLE: &str = "Two memories and the copies between them";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::memory::{Setting, first_request, run};
    let drawn = || {
        let run = run(&Setting::first(0))?;
        let chosen = first_request(0);
        Some(super::Poster {
            figure: "memories",
            title: TITLE,
            caption: format!("{} {}", run.why(chosen), run.sentence()),
            class: "memories",
            scene: crate::scene::memories(&run, chosen, false, 900.0).scene,
        })
    };
    drawn().into_iter().collect()
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::TITLE;
    use crate::figure::Figure;
    use crate::memory::{
        self, BANDWIDTH, CAPACITY, OVERLAP, PROGRAMS, Run, Setting, Verdict, loaded, starts,
    };
    use crate::modules::FIRST_ID;
    use crate::scene::{self, Memories, hit};
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule};
    use crate::views::choose::OneOf;
    use crate::views::plot::{change, paint, point, width_of};
    use crate::views::slider::Slider;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, grouped};
    use leptos::ev::{KeyboardEvent, MouseEvent, PointerEvent};
    use leptos::html::Div;
    use leptos::prelude::*;
    use leptos::svg::Svg;

    /// The version whose log the figures follow.
    const LIBTPU: &str = "libtpu 0.0.52";

    fn setting(wb: Workbench) -> Setting {
        wb.state.with(Setting::of)
    }

    /// The reader that is looked at.
    fn chosen(wb: Workbench) -> usize {
        let program = setting(wb).program;
        let most = loaded(program).map_or(0, |l| l.requests.len());
        let told = wb.state.with(|s| s.number("reader")).and_then(|n| usize::try_from(n).ok());
        told.filter(|n| *n < most).unwrap_or_else(|| memory::first_request(program))
    }

    /// The present answer; made once for all that show it.
    #[derive(Clone, Copy)]
    struct Answer(Memo<Option<Shared<Run>>>);

    /// Looks at a reader of a program as XLA had it.
    fn show(wb: Workbench, program: usize, value: &str, reader: &str) {
        let Some(loaded) = loaded(program) else { return };
        let Some(n) = loaded.requests.iter().position(|r| r.value == value && r.reader == reader) else {
            return;
        };
        let mut next = wb.state.get_untracked();
        next.params.clear();
        if program > 0 {
            next.params.insert("program".to_owned(), PROGRAMS[program].id.into());
        }
        next.view.insert("reader".to_owned(), (n as i64).into());
        wb.set(next);
    }

    /// A phrase in the prose that shows what it speaks of.
    #[component]
    fn Look(
        wb: Workbench,
        program: usize,
        value: &'static str,
        reader: &'static str,
        children: Children,
    ) -> impl IntoView {
        let is_shown = move || {
            setting(wb).program == program
                && loaded(program)
                    .and_then(|l| l.requests.get(chosen(wb)))
                    .is_some_and(|r| r.value == value && r.reader == reader)
        };
        view! {
            <button
                type="button"
                class="term"
                aria-pressed=move || is_shown().to_string()
                on:click=move |_| show(wb, program, value, reader)
            >
                {children()}
            </button>
        }
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("memories", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let at = Memo::new(move |_| setting(wb));
        let run =
            Memo::new(move |_| if wb.awake.get() { memory::run(&at.get()).map(Shared::new) } else { None });
        wb.say_with(move || {
            run.get().map_or_else(String::new, |r| format!("{} {}", r.why(chosen(wb)), r.sentence()))
        });
        let original = Memo::new(move |_| {
            wb.awake.get().then(|| memory::run(&Setting::first(0))).flatten().map(Shared::new)
        });
        // The first reader of the first weight: there is no time before it.
        let asked = || loaded(0)?.requests.iter().position(|r| r.value == "ws_0_.1" && r.done == 6);
        let causes = [Verdict::Full, Verdict::TooNear, Verdict::NoBandwidth, Verdict::TooMany];
        let cause = |v: Verdict| match v {
            Verdict::Full => "Fast memory is full at that time",
            Verdict::TooNear => "There is too little time before it to hide the copy in",
            Verdict::NoBandwidth => "The copy engine is busy with other copies",
            _ => "Too many copies are under way",
        };
        let puzzle = move || {
            let (run, original) = (run.get()?, original.get()?);
            let (solved, progress) = memory::made_room(&run, &original);
            Some(PuzzleResult { solved, progress })
        };
        view! {
            <p>
                "A TPU computes faster than its large memory can deliver. So it has a second one, beside the compute units: fast, and "
                "small. Before buffer assignment, a pass decides for every reader of every value in which of the two it finds the "
                "value, and puts copies into the schedule that run while something else is computed. XLA calls the pass "
                <dfn>"memory space assignment"</dfn> ", the large memory " <dfn>"default"</dfn> ", the small one " <dfn>"alternate"</dfn>
                ", a copy to the fast one a " <dfn>"prefetch"</dfn> " and one back an " <dfn>"eviction"</dfn> ". "
                <Rule section="12" verified=LIBTPU />
            </p>
            <p>
                "Values are taken in the order of what they gain. For each, its life is cut at its readers, and for each piece three "
                "things are tried: to stay in fast memory; if it is not there, to be copied there in time; else it is read from slow "
                "memory. " <Rule section="12.2" verified=LIBTPU /> " " <Rule section="12.3" verified=LIBTPU />
            </p>
            <Predict
                wb
                id="cause"
                question="ws_0_.1 is a weight of 1 MiB that the very first product reads, at step 6. It is not prefetched. Why?"
                options=Signal::derive(move || causes.map(|c| cause(c).to_owned()).to_vec())
                answer=Signal::derive(move || {
                    let verdict = original.get()?.verdict(asked()?)?;
                    causes.iter().position(|c| *c == verdict)
                })
                explain=Callback::new(move |_: usize| {
                    original.get_untracked().zip(asked()).map_or_else(String::new, |(run, n)| run.why(n))
                })
            />
            <Figure
                wb
                title=TITLE
                caption="Above the fast memory, below the slow one, steps across. Slanted lines are copies, from the step after which they start to the reader before which they are done; the lanes show the copy engine's queue. Choose a reader to see why it reads where it reads, and drag the start of its copy."
                reserve=[1045, 1200, 1500]
                table=MemoryTable
            >
                <TwoMemories run=Answer(run) />
            </Figure>
            <Puzzle
                id="room"
                goal="convolution_tanh_fusion.1 finds no place for its first reader, at step 9. Move the copy of one other value so that it does, and see what that costs."
                check=Signal::derive(puzzle)
                hint="Of the weights that stand in fast memory at steps 8 and 9, which one could not be there if its copy started too late?"
            />
            <p>
                "A value that will be wanted much later can give its place up and come back. An activation is evicted right after it "
                "is written, and prefetched for the backward pass: "
                <Look wb program=0 value="convolution_tanh_fusion.3" reader="fusion.2">"shown here"</Look>
                ". The eviction starts at the definition, not after the last reader, so that it is done by then. "
                <Rule section="12.6" verified=LIBTPU />
            </p>
            <p>
                "Large copies come in " <dfn>"slices"</dfn> ", so that memory fills little by little, as it does for "
                <Look wb program=0 value="ws_3_.1" reader="multiply_add_fusion.3">"this weight"</Look>
                ": four steps in the staircase. " <Rule section="12.8" verified=LIBTPU />
                " Weights can also be fetched before the first step. XLA calls that a "
                <dfn>"cross-program prefetch"</dfn>
                "; if memory is scarce the place is given back after the last reader, and the weight is fetched again at the end, for the next run, as ws_0_.1 is in another program: "
                <Look wb program=1 value="multiply_add_fusion.2" reader="multiply_add_fusion.1">"shown here"</Look>
                ". " <Rule section="12.9" verified=LIBTPU />
            </p>
            <p>
                "When something finds no place, everything placed so far is "
                <dfn>"repacked"</dfn> ", the longest lived first, and the value is tried once more. Of the three programs here, two repack, four times in all. "
                <Rule section="12.11" verified=LIBTPU />
                " And what a loop carries is bound to one address: whatever happens inside, "
                <Look wb program=2 value="convert" reader="while">"the state must be back there at the end of the body"</Look>
                ". " <Rule section="12.10" verified=LIBTPU />
            </p>
            <h3>"The design in words"</h3>
            <ol class="pipeline">
                <li><b>"Scheduled HLO."</b> " Which instruction runs at which step: the clock. From the scheduler."</li>
                <li><b>"Seconds per step."</b> " From the target's cost model; here from the log of XLA's own, and for the bars from ours."</li>
                <li><b>"Values, buffers, live ranges."</b> " Who must share with whom: from the analyses of chapters 2 to 4."</li>
                <li><b>"Order by gain."</b> " The seconds saved at all readers, divided by the square root of the size: a large value must save more."</li>
                <li><b>"Requests."</b> " Each life cut at its readers; each piece stays, is evicted, is prefetched, or reads slow memory."</li>
                <li><b>"Places and bandwidth."</b> " A best-fit heap for the addresses, a queue for the copy engine; all of a buffer or nothing."</li>
                <li><b>"Copies in the schedule."</b> " copy-start and copy-done, and S(1) in the layouts, carried into fusions in chapter 15."</li>
                <li><b>"Buffer assignment."</b> " Takes the places in fast memory as they are, and packs the rest (chapter 7)."</li>
            </ol>
            <h3>"How to tell why"</h3>
            <dl class="causes">
                <dt>"Too near, " <span class="code">"FailLiveRangeTooShort"</span></dt>
                <dd>"Little happens between the value and its reader. Other work must come in between; a faster copy engine helps, more memory does not."</dd>
                <dt>"Full or no place, " <span class="code">"FailOutOfMemory"</span></dt>
                <dd>"Others gained more and stand there. More memory helps, or shorter lives. A start so late that there is no step for the copy is reported by the same name."</dd>
                <dt>"No bandwidth, " <span class="code">"FailViolatesAsyncCopyResource"</span></dt>
                <dd>"Other copies use the time. A start earlier helps if there is one."</dd>
                <dt>"Too many, " <span class="code">"FailOutOfAsyncCopies"</span></dt>
                <dd>"The number of copies under way is limited; an eviction that fails for any reason is reported so, too."</dd>
                <dt>"Must not, " <span class="code">"FailRequiresUncommit"</span></dt>
                <dd>"It is a result, or somebody it must agree with is in slow memory, and everything tried for the buffer was taken back."</dd>
            </dl>
            <p>
                <Rule section="12.14" verified=LIBTPU />
            </p>
        }
        .into_any()
    }

    fn choose_program(wb: Workbench, id: &str) {
        let mut next = wb.state.get_untracked();
        next.params.clear();
        next.view.remove("reader");
        if id != PROGRAMS[0].id {
            next.params.insert("program".to_owned(), id.into());
        }
        wb.set(next);
    }

    fn choose_reader(wb: Workbench, n: usize) {
        let mut next = wb.state.get_untracked();
        next.view.insert("reader".to_owned(), (n as i64).into());
        wb.set(next);
    }

    /// Asks what would be if the chosen reader's copy could start there only.
    fn pull(wb: Workbench, start: i64) {
        let n = chosen(wb) as i64;
        let now = wb.state.get_untracked();
        if now.number("pull") == Some(n) && now.number("start") == Some(start) {
            return;
        }
        wb.preview_param("pull", n);
        wb.preview_param("start", start);
    }

    /// Lets the engine choose again.
    fn let_go(wb: Workbench) {
        let mut next = wb.state.get_untracked();
        next.params.remove("pull");
        next.params.remove("start");
        wb.set(next);
    }

    /// The earliest and the latest start that can be asked about.
    fn range(wb: Workbench) -> (i64, i64) {
        let request = loaded(setting(wb).program).and_then(|l| l.requests.get(chosen(wb)));
        request.map_or((0, 0), |r| (r.defined, (r.done - 1).max(r.defined)))
    }

    /// Where the chosen copy starts, or was asked to.
    fn start_of(wb: Workbench, run: &Run) -> Option<i64> {
        let n = chosen(wb);
        if let Some((of, start)) = run.setting.pull
            && of == n
        {
            return Some(start);
        }
        let request = run.request(n)?;
        run.allocation(request)?.1.copy.map(|c| c.start)
    }

    #[component]
    fn TwoMemories(run: Answer) -> impl IntoView {
        let wb = use_workbench();
        let run = run.0;
        let program = Memo::new(move |_| setting(wb).program);
        let reader = Memo::new(move |_| chosen(wb));
        let readers = move || {
            loaded(program.get()).map_or_else(Vec::new, |l| {
                let words = |r: &memory::Request| format!("{} for {} (step {})", r.value, r.reader, r.time);
                l.requests.iter().map(words).enumerate().collect::<Vec<_>>()
            })
        };
        let why = move || run.get().map_or_else(String::new, |r| r.why(reader.get()));
        let sums = move || run.get().map_or_else(String::new, |r| r.sentence());
        let compared = move || run.get().map_or_else(String::new, |r| r.comparison());
        let capacity = Signal::derive(move || run.get().map_or_else(String::new, |r| bytes(r.capacity())));
        let percent = move |key| wb.state.with(|s| s.number(key)).unwrap_or(100);
        let bandwidth = Signal::derive(move || {
            format!("{} % of XLA's", percent("bandwidth").clamp(BANDWIDTH.0, BANDWIDTH.1))
        });
        let overlap = Signal::derive(move || {
            format!("{} % of the copy's own time", percent("overlap").clamp(OVERLAP.0, OVERLAP.1))
        });
        let theirs = move || wb.state.with(|s| s.number("theirs")) == Some(1);
        let failure = move || run.get()?.verdict(reader.get());
        view! {
            <div
                class="two-memories"
                data-verdict=move || failure().map(Verdict::name)
                data-heap=move || run.get().map(|r| r.assignment.heap_size.to_string())
                data-after=move || run.get().map(|r| memory::micros(r.seconds.1))
            >
                <div class="touch-controls">
                    <OneOf
                        label="Program"
                        options=PROGRAMS.iter().map(|o| (o.id, o.title.to_owned())).collect()
                        now=Signal::derive(move || PROGRAMS[program.get()].id)
                        choose=Callback::new(move |id: String| choose_program(wb, &id))
                    />
                    <label class="field">
                        "Value and reader"
                        <select on:change=move |e| {
                            if let Ok(n) = event_target_value(&e).parse() {
                                choose_reader(wb, n);
                            }
                        }>
                            <For each=readers key=Clone::clone let((n, words))>
                                <option value=n.to_string() selected=move || reader.get() == n>
                                    {words}
                                </option>
                            </For>
                        </select>
                    </label>
                </div>
                <p class="quiet">{move || PROGRAMS[program.get()].about}</p>
                <p class="answer" data-said="why" role="status">
                    {why}
                </p>
                <div class="percents">
                    <Slider label="Fast memory" key="capacity" range=CAPACITY said=capacity />
                    <Slider label="Copy engine" key="bandwidth" range=BANDWIDTH said=bandwidth />
                    <Slider label="Time for a copy, at least" key="overlap" range=OVERLAP said=overlap />
                </div>
                <MemoryPlot run />
                <Starts run />
                <p data-said="sums">{sums}</p>
                <p data-said="compared">
                    {compared} " "
                    <label class="check">
                        <input
                            type="checkbox"
                            prop:checked=theirs
                            on:change=move |e| {
                                if event_target_checked(&e) { wb.set_view("theirs", 1) } else { wb.clear_view("theirs") }
                            }
                        />
                        "outline XLA's places"
                    </label>
                </p>
            </div>
        }
    }

    #[component]
    fn MemoryPlot(run: Memo<Option<Shared<Run>>>) -> impl IntoView {
        let wb = use_workbench();
        let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
        let width = width_of(plot);
        let layout = Memo::new(move |_| {
            let width = width.get();
            let theirs = wb.state.with(|s| s.number("theirs")) == Some(1);
            (width > 0.0)
                .then(|| run.get())
                .flatten()
                .map(|run| Shared::new(scene::memories(&run, chosen(wb), theirs, width)))
        });
        paint(wb, TITLE, svg, layout, |m: &Memories| &m.scene);
        let at = move |x: f64, y: f64| layout.with_untracked(|l| hit(&l.as_ref()?.scene, x, y));
        let moved = move |e: PointerEvent| {
            if let Some((x, y)) = point(&e, plot) {
                change(wb.hover, at(x, y));
            }
        };
        // A band leads to the reader of its value that comes next, or else to the last.
        let clicked = move |e: MouseEvent| {
            let Some((x, y)) = point(&e, plot) else { return };
            let Some(buffer) = at(x, y) else { return };
            let step = layout.with_untracked(|l| l.as_ref().and_then(|l| l.steps.at(x))).unwrap_or(0);
            let Some(loaded) = loaded(untrack(|| setting(wb)).program) else { return };
            let of = || loaded.requests.iter().enumerate().filter(|(_, r)| r.buffer == buffer);
            let next = of().find(|(_, r)| r.time >= i64::from(step)).or_else(|| of().next_back());
            if let Some((n, _)) = next {
                choose_reader(wb, n);
            }
        };
        let said =
            move || run.get().map_or_else(String::new, |r| format!("{} {}", r.why(chosen(wb)), r.sentence()));
        let handle = move || layout.with(|l| l.as_ref().and_then(|l| l.handle));
        let start = move || run.get().and_then(|r| start_of(wb, &r));
        let held = RwSignal::new(false);
        let down = move |e: PointerEvent| {
            if e.button() == 0 {
                held.set(true);
                _ = event_target::<web_sys::Element>(&e).set_pointer_capture(e.pointer_id());
                e.prevent_default();
            }
        };
        let dragged = move |e: PointerEvent| {
            if !held.get_untracked() {
                return;
            }
            let Some((x, _)) = point(&e, plot) else { return };
            let Some(to) = layout.with_untracked(|l| l.as_ref().map(|l| l.steps.start_near(x) - 1)) else {
                return;
            };
            let (low, high) = untrack(|| range(wb));
            pull(wb, to.clamp(low, high));
        };
        let up = move |_: PointerEvent| {
            if held.get_untracked() {
                held.set(false);
                wb.settle();
            }
        };
        let key = move |e: KeyboardEvent| {
            let Some(now) = untrack(start) else { return };
            let (low, high) = untrack(|| range(wb));
            let to = match e.key().as_str() {
                "ArrowLeft" | "ArrowDown" => now - 1,
                "ArrowRight" | "ArrowUp" => now + 1,
                "Home" => low,
                "End" => high,
                _ => return,
            };
            e.prevent_default();
            pull(wb, to.clamp(low, high));
            wb.settle();
        };
        view! {
            <div class="memories">
                <div
                    class="plot"
                    node_ref=plot
                    on:pointermove=moved
                    on:pointerleave=move |_| change(wb.hover, None)
                    on:click=clicked
                >
                    <svg node_ref=svg role="img" aria-label=said></svg>
                    <Show when=move || handle().is_some()>
                        <span
                            class="pull"
                            class:held=move || held.get()
                            role="slider"
                            tabindex="0"
                            aria-label="Start of the copy"
                            aria-valuemin=move || range(wb).0.to_string()
                            aria-valuemax=move || range(wb).1.to_string()
                            aria-valuenow=move || start().unwrap_or(0).to_string()
                            aria-valuetext=move || {
                                let verdict = run.get().and_then(|r| r.verdict(chosen(wb))).map_or("", Verdict::name);
                                format!("after step {}: {verdict}", start().unwrap_or(0))
                            }
                            style:left=move || format!("{:.1}px", handle().unwrap_or_default().0)
                            style:top=move || format!("{:.1}px", handle().unwrap_or_default().1)
                            on:pointerdown=down
                            on:pointermove=dragged
                            on:pointerup=up
                            on:pointercancel=up
                            on:click=move |e: MouseEvent| e.stop_propagation()
                            on:keydown=key
                        ></span>
                    </Show>
                </div>
            </div>
        }
    }

    /// What would become of the copy for each start.
    #[component]
    fn Starts(run: Memo<Option<Shared<Run>>>) -> impl IntoView {
        let wb = use_workbench();
        let free = Memo::new(move |_| Setting { pull: None, ..setting(wb) });
        let reader = Memo::new(move |_| chosen(wb));
        let cells =
            Memo::new(move |_| if wb.awake.get() { starts(&free.get(), reader.get()) } else { Vec::new() });
        let now = move || run.get().and_then(|r| start_of(wb, &r));
        let names = move || {
            let mut seen: Vec<Verdict> = cells.get().into_iter().map(|(_, v)| v).collect();
            seen.sort_unstable();
            seen.dedup();
            let words = |v: Verdict| match v.failure() {
                Some(failure) => format!("{} {}: {failure}", v.sign(), v.name()),
                None => format!("{} {}", v.sign(), v.name()),
            };
            seen.into_iter().map(words).collect::<Vec<_>>().join("; ")
        };
        let is_pulled = move || setting(wb).pull.is_some_and(|(n, _)| n == reader.get());
        let is_other = move || setting(wb).pull.is_some_and(|(n, _)| n != reader.get());
        view! {
            <div class="starts">
                <p id="starts-label">
                    <b>"If the copy could start after this step only: "</b>
                    <span class="quiet">{names}</span>
                </p>
                <div class="cells" role="group" aria-labelledby="starts-label">
                    <For each=move || cells.get() key=Clone::clone let((start, verdict))>
                        <button
                            type="button"
                            class="start-cell"
                            data-verdict=verdict.name()
                            aria-pressed=move || (now() == Some(start)).to_string()
                            aria-label=format!("after step {start}: {}", verdict.name())
                            on:click=move |_| {
                                pull(wb, start);
                                wb.settle();
                            }
                        >
                            <span class="n">{start}</span>
                            <b>{verdict.sign()}</b>
                        </button>
                    </For>
                </div>
                <p>
                    <button type="button" disabled=move || !is_pulled() && !is_other() on:click=move |_| let_go(wb)>
                        "Let the engine choose"
                    </button>
                    " "
                    <span class="quiet">
                        {move || if is_other() { "The copy for another reader is still held where you put it." } else { "" }}
                    </span>
                </p>
            </div>
        }
    }

    /// The figure as a table: every reader, and what is in fast memory.
    #[component]
    fn MemoryTable() -> impl IntoView {
        let wb = use_workbench();
        let run = Memo::new(move |_| memory::run(&setting(wb)).map(Shared::new));
        let places = move || {
            let run = run.get()?;
            let rows = run.assignment.allocations.iter().filter(|a| a.offset.is_some() || a.copy.is_some());
            Some(
                rows.map(|a| {
                    let copy = a
                        .copy
                        .map_or_else(String::new, |c| format!("after {}, done before {}", c.start, c.done));
                    view! {
                        <tr>
                            <th scope="row" class="code">{a.position.clone()}</th>
                            <td>{if a.offset.is_some() { "fast" } else { "slow" }}</td>
                            <td class="n">{a.offset.map(grouped)}</td>
                            <td class="n">{grouped(a.size)}</td>
                            <td class="n">{a.start}</td>
                            <td class="n">{a.end}</td>
                            <td>{copy}</td>
                            <td class="n">{a.slices.len().max(1)}</td>
                        </tr>
                    }
                })
                .collect_view(),
            )
        };
        let readers = move || {
            let run = run.get()?;
            let all = loaded(run.setting.program)?;
            Some(
                all.requests
                    .iter()
                    .enumerate()
                    .map(|(n, r)| {
                        view! {
                            <tr>
                                <th scope="row" class="code">{r.value.clone()}</th>
                                <td class="code">{r.reader.clone()}</td>
                                <td class="n">{r.time}</td>
                                <td>{if run.is_fast(r) { "fast" } else { "slow" }}</td>
                                <td>{run.why(n)}</td>
                            </tr>
                        }
                    })
                    .collect_view(),
            )
        };
        let seconds = move || {
            let run = run.get()?;
            let all = loaded(run.setting.program)?;
            Some(
                run.problem
                    .instructions
                    .iter()
                    .zip(&all.sides)
                    .enumerate()
                    .map(|(n, (i, (compute, moving)))| {
                        view! {
                            <tr>
                                <td class="n">{n}</td>
                                <th scope="row" class="code">{i.name.clone()}</th>
                                <td class="n">{memory::micros(f64::from(i.elapsed_seconds))}</td>
                                <td class="n">{memory::micros(f64::from(*compute))}</td>
                                <td class="n">{memory::micros(f64::from(*moving))}</td>
                            </tr>
                        }
                    })
                    .collect_view(),
            )
        };
        view! {
            <table>
                <caption>"Places in fast memory, and copies back"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"Memory"</th>
                        <th scope="col" class="n">"Offset"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        <th scope="col" class="n">"From"</th>
                        <th scope="col" class="n">"Until"</th>
                        <th scope="col">"Copied"</th>
                        <th scope="col" class="n">"Parts"</th>
                    </tr>
                </thead>
                <tbody>{places}</tbody>
            </table>
            <table>
                <caption>"Readers, and why they read where they read"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"Reader"</th>
                        <th scope="col" class="n">"Step"</th>
                        <th scope="col">"Memory"</th>
                        <th scope="col">"Why"</th>
                    </tr>
                </thead>
                <tbody>{readers}</tbody>
            </table>
            <table>
                <caption>"Time of each step: XLA's estimate; computing and moving bytes by ours"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"Step"</th>
                        <th scope="col">"Instruction"</th>
                        <th scope="col" class="n">"XLA"</th>
                        <th scope="col" class="n">"Computing"</th>
                        <th scope="col" class="n">"Moving"</th>
                    </tr>
                </thead>
                <tbody>{seconds}</tbody>
            </table>
        }
    }
}
