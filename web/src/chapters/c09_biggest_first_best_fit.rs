//! Chapter 9: the packing, one placement at a time.

use super::Chapter;
use crate::placing::{Line, Moment};

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 9,
    slug: "biggest-first-best-fit",
    title: "Biggest first, best fit",
    question: "Several holes are large enough. Which one does a value get?",
    figures: &["placement"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(packing, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The program that the chapter begins with: many sizes, so that there is a choice to be made.
#[cfg(target_arch = "wasm32")]
const MODULE: &str = "varied_temp_sizes";

/// Its text, for posters and tests; the page fetches it.
#[cfg(not(target_arch = "wasm32"))]
const MODULE_TEXT: &str = include_str!("../../../assets/modules/varied_temp_sizes.txt");

/// Where the figure begins: three holes fit, and the lowest is not the one that is chosen.
const FIRST: Moment = Moment { placement: 7, line: Line::Fit };

/// The placement that the prediction is about.
#[cfg(any(test, target_arch = "wasm32"))]
const ASKED: usize = 15;

/// How many chunks are free there.
#[cfg(any(test, target_arch = "wasm32"))]
const ASKED_CHUNKS: usize = 4;

const TITLE: &str = "The heap at one placement";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::{engine, placing, scene};
    let drawn = || {
        let opened = engine::open(MODULE_TEXT).ok()?;
        let heap = placing::heap(&opened.original, None)?;
        let step = heap.step(FIRST.placement)?;
        let scene = scene::strip(&opened.original.picture, &step, FIRST.line, heap.packing.total(), 900.0);
        Some(super::Poster {
            figure: "placement",
            title: TITLE,
            caption: placing::words(&opened, &heap, FIRST),
            class: "address-line",
            scene,
        })
    };
    drawn().into_iter().collect()
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{ASKED, ASKED_CHUNKS, FIRST, MODULE, TITLE};
    use crate::figure::Figure;
    use crate::modules::SHIPPED;
    use crate::placing::{self, Heap, Line, Moment, chunk_words, is_endless};
    use crate::scene;
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::views::drawn::Drawn;
    use crate::views::plot::change;
    use crate::views::scrubber::Scrubber;
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, grouped};
    use leptos::ev::Event;
    use leptos::prelude::*;
    use packing::{Algorithm, PlacementStep};

    pub fn chapter() -> AnyView {
        let mut first = State::new(Source::Shipped(MODULE.to_owned()));
        first.view.insert("at".to_owned(), i64::from(FIRST.number()).into());
        let wb = Workbench::for_figure("placement", first);
        let heap = heap_of(wb);
        // What is asked is asked of the module the chapter begins with.
        let is_first = move || wb.state.with(|s| s.source == Source::Shipped(MODULE.to_owned()));
        let spatial = Memo::new(move |_| {
            let run = wb.run.get().filter(|_| is_first())?;
            Some(Shared::new(placing::heap(&run, Some(Algorithm::Spatial))?))
        });
        let asked = Memo::new(move |_| spatial.get()?.step(ASKED));
        let asked_name = move || {
            let step = asked.get()?;
            wb.opened.with(|o| Some(o.as_ref()?.original.picture.item(step.placement.buffer.0)?.name.clone()))
        };
        let question = move || match (asked.get(), asked_name()) {
            (Some(step), Some(name)) => format!(
                "Placement {}: {name} needs {}. Which of these chunks does it get?",
                ASKED + 1,
                bytes(step.placement.size)
            ),
            _ => "Which chunk is chosen?".to_owned(),
        };
        let options = move || {
            asked.get().map_or_else(
                || vec!["…".to_owned(); ASKED_CHUNKS],
                |s| s.free_chunks.iter().map(chunk_words).collect(),
            )
        };
        let answer = move || asked.get()?.free_chunks.iter().position(|c| c.is_chosen);
        let explain = move |_: usize| {
            let (Some(heap), Some(opened)) = (spatial.get_untracked(), wb.opened.get_untracked()) else {
                return String::new();
            };
            let at = |line| placing::words(&opened, &heap, Moment { placement: ASKED, line });
            format!("{} {}", at(Line::Fit), at(Line::Place))
        };
        let puzzle = move || {
            let heap = heap.get()?;
            let moment = moment_of(wb, &heap);
            let after = heap.top(moment.placement + usize::from(moment.line >= Line::Place));
            let total = heap.packing.total();
            let solved = moment.line == Line::Place && heap.top(moment.placement) < total && after == total;
            let progress =
                format!("Here the heap ends at {}; in the end it takes {}.", bytes(after), bytes(total));
            Some(PuzzleResult { solved, progress })
        };
        let kept = move || spatial.get().map(|h| h.totals());
        view! {
            <p>
                "What is left on the list goes into one heap. XLA sorts the list, the biggest first, and then places one "
                "value after the other, never moving what stands. For each it looks at what has been placed already and "
                "is wanted at the same time; those addresses are taken. What lies between them is free, and of the free "
                "chunks that are large enough it takes the smallest. That is " <dfn>"best fit, by decreasing size"</dfn>
                ". Among chunks of one size the lowest wins. " <Rule section="10.3" /> " " <Rule section="10.4" />
            </p>
            <p>
                "Values that must share, or that are written over one another in place, are placed together, as one block: XLA "
                "calls them " <dfn>"colocations"</dfn>
                ". The block must keep clear of whatever is wanted together with any of its values. So two values can be kept "
                "apart although they are never wanted together: if B is written over A in place, and C is wanted together with "
                "B alone, then C cannot stand where A stands, either. The figure begins at "
                <Term wb value=Signal::derive(|| "wrapped_slice".to_owned()) />
                ". Three chunks would hold it. The lowest is not taken, because a smaller one fits, too."
            </p>
            <Predict
                wb
                id="fit"
                question=Signal::derive(question)
                options=Signal::derive(options)
                answer=Signal::derive(answer)
                explain=Callback::new(explain)
            />
            <Figure
                wb
                title=TITLE
                caption="The line is the heap's addresses. Coloured: taken while the value is wanted. Hatched: free. Step forward and back; the line of the algorithm that is being done is marked."
                reserve=[793, 1200, 1504]
                table=StepTable
            >
                <PlacementFigure />
            </Figure>
            <Puzzle
                id="growth"
                goal="find the placement by which the heap reaches its final size."
                check=Signal::derive(puzzle)
                hint="Not every placement makes the heap grow: the sentence above the picture says so when it does. The big values are placed first, but holes get scarce later, too."
            />
            <p>
                "Biggest first is a rule of thumb. So XLA packs a second time in another order, the longest-lived first, "
                "and keeps whichever heap is smaller. Its names for the two are " <dfn>"spatial"</dfn> " and "
                <dfn>"temporal"</dfn> ". On a tie the first, spatial, is kept. " <Rule section="10.5" />
            </p>
            <Predict
                wb
                id="kept"
                question="Which of the two orders gives the smaller heap for this program?"
                options=Signal::derive(|| {
                    ["Biggest first (spatial)", "Longest-lived first (temporal)", "Both the same"].map(str::to_owned).to_vec()
                })
                answer=Signal::derive(move || {
                    let (spatial, temporal, _) = kept()?;
                    Some(match spatial?.cmp(&temporal?) {
                        std::cmp::Ordering::Less => 0,
                        std::cmp::Ordering::Greater => 1,
                        std::cmp::Ordering::Equal => 2,
                    })
                })
                explain=Callback::new(move |_: usize| spatial.get_untracked().map_or_else(String::new, |h| placing::choice(&h)))
            />
            <p>
                "No order is always right; chapter 12 puts the exact optimum beside them. How long a value lives is "
                "counted here not in steps but in the heap's own ticks: one when a value begins, one when it ends, one when it "
                "is written over another in place. A block of several values lives, for the longest-lived-first order, "
                "from the start of its first to the latest end of all. Where size and life are equal, the value that XLA numbered first wins. "
                <Rule section="10.2" />
            </p>
        }
        .into_any()
    }

    /// The order that the reader chose, or else the one that was kept.
    fn order_of(wb: Workbench) -> Option<Algorithm> {
        wb.state.with(|s| s.word("order").and_then(placing::algorithm))
    }

    fn heap_of(wb: Workbench) -> Memo<Option<Shared<Heap>>> {
        let order = Memo::new(move |_| order_of(wb));
        Memo::new(move |_| {
            let run = wb.run.get()?;
            Some(Shared::new(placing::heap(&run, order.get())?))
        })
    }

    fn moment_of(wb: Workbench, heap: &Heap) -> Moment {
        Moment::of(wb.state.with(|s| s.number("at")).unwrap_or(0), heap.count())
    }

    /// The numbered lines: what is done at each, in plain words.
    fn pseudo(algorithm: Algorithm) -> [&'static str; 6] {
        let sort = if algorithm == Algorithm::Temporal {
            "Sort the list: longest-lived first, then biggest, then by number."
        } else {
            "Sort the list: biggest first, then longest-lived, then by number."
        };
        [
            sort,
            "Take the next value, and all that shares its place.",
            "Mark what is taken while it is wanted, each end rounded up to the alignment. The rest is free.",
            "Of the free chunks that hold it take the smallest; of equals the lowest.",
            "Place it at the chunk's start. Go on with line 2 until the list is empty.",
            "Do it all again in the other order. Keep the smaller heap; on a tie, biggest first.",
        ]
    }

    /// The four packers that XLA has, in the order of the small pictures.
    const PACKERS: [(Algorithm, &str); 4] = [
        (Algorithm::Spatial, "Biggest first (spatial)"),
        (Algorithm::Temporal, "Longest-lived first (temporal)"),
        (Algorithm::FastMerge, "By start time (TPU: fast merge)"),
        (Algorithm::FastSplit, "Both mixed (TPU: fast split)"),
    ];

    #[component]
    fn PlacementFigure() -> impl IntoView {
        let wb = use_workbench();
        let heap = heap_of(wb);
        let moment = Memo::new(move |_| heap.get().map(|h| moment_of(wb, &h)));
        let placement = Memo::new(move |_| moment.get().map(|m| m.placement));
        let step = Memo::new(move |_| heap.get()?.step(placement.get()?));
        let last = move || heap.with(|h| h.as_ref().map_or(0, |h| Moment::last(h.count())));
        let line = Memo::new(move |_| moment.get().map_or(Line::Sort, |m| m.line));
        let words = Memo::new(move |_| {
            let (opened, heap, moment) = (wb.opened.get()?, heap.get()?, moment.get()?);
            Some(placing::words(&opened, &heap, moment))
        });
        let said = move || match (heap.get(), moment.get()) {
            (Some(h), Some(m)) => format!("placement {} of {}", m.placement + 1, h.count()),
            _ => String::new(),
        };
        let next = Callback::new(
            move |(from, forward): (u32, bool)| {
                if forward { (from + 1).min(last()) } else { from.saturating_sub(1) }
            },
        );
        let set = Callback::new(move |to: u32| {
            wb.set_view("at", i64::from(to));
            if let Some(step) = step.get_untracked() {
                wb.select(Some(step.placement.buffer.0));
            }
        });
        let leap = move |by: i64| {
            if let Some(m) = moment.get_untracked() {
                // The same line of another placement.
                let line = if matches!(m.line, Line::Sort | Line::Choose) { Line::Place } else { m.line };
                let count = heap.with_untracked(|h| h.as_ref().map_or(0, |h| h.count())) as i64;
                let to = (m.placement as i64 + by).clamp(0, (count - 1).max(0)) as usize;
                set.run(Moment { placement: to, line }.number());
            }
        };
        let choose = move |e: Event| {
            let id = event_target_value(&e);
            let mut next = State::new(Source::Shipped(id));
            let now = wb.state.get_untracked();
            (next.table, next.view) = (now.table, now.view);
            next.view.remove("at");
            wb.set(next);
        };
        let strip = Callback::new(move |width: f64| {
            let (run, heap, step) = (wb.run.get()?, heap.get()?, step.get()?);
            Some(scene::strip(&run.picture, &step, line.get(), heap.packing.total(), width))
        });
        let described = move || words.get().unwrap_or_default();
        view! {
            <div
                class="placement-view"
                data-placement=move || placement.get().map(|p| p.to_string())
                data-offset=move || step.with(|s| s.as_ref().map(|s| s.placement.offset.to_string()))
                data-size=move || step.with(|s| s.as_ref().map(|s| s.placement.size.to_string()))
                data-total=move || heap.with(|h| h.as_ref().map(|h| h.packing.total().to_string()))
            >
                <div class="placement-controls">
                    <Scrubber
                        label="Step"
                        value=Signal::derive(move || moment.get().map_or(0, Moment::number))
                        last=Signal::derive(last)
                        said=Signal::derive(said)
                        step=next
                        set
                    />
                    <div class="leaps" role="group" aria-label="Placement">
                        <button type="button" on:click=move |_| leap(-1)>"Value before"</button>
                        <button type="button" on:click=move |_| leap(1)>"Next value"</button>
                    </div>
                    <label class="field">
                        "Program"
                        <select on:change=choose>
                            {SHIPPED
                                .iter()
                                .map(|m| {
                                    let is_here = move || wb.state.with(|s| s.source == Source::Shipped(m.id.to_owned()));
                                    view! {
                                        <option value=m.id selected=is_here>
                                            {m.title}
                                        </option>
                                    }
                                })
                                .collect_view()}
                        </select>
                    </label>
                </div>
                <p class="now" role="status">{move || words.get()}</p>
                <Drawn wb title=TITLE class="address-line" said=Signal::derive(described) scene=strip />
                <div class="algorithm-and-queue">
                    <ol class="pseudo">
                        {move || {
                            let algorithm = heap.with(|h| h.as_ref().map_or(Algorithm::Spatial, |h| h.algorithm));
                            pseudo(algorithm)
                                .into_iter()
                                .zip(Line::ALL)
                                .map(|(text, this)| {
                                    view! {
                                        <li aria-current=move || (line.get() == this).then_some("step")>{text}</li>
                                    }
                                })
                                .collect_view()
                        }}
                    </ol>
                    <Queue heap placement />
                </div>
                <Packers heap moment />
            </div>
        }
    }

    /// The queue around the present placement.
    #[component]
    fn Queue(heap: Memo<Option<Shared<Heap>>>, placement: Memo<Option<usize>>) -> impl IntoView {
        let wb = use_workbench();
        let order = Memo::new(move |_| heap.get()?.step(0).map(|s| s.order));
        let rows = move || {
            let (Some(order), Some(run), Some(at), Some(heap)) =
                (order.get(), wb.run.get(), placement.get(), heap.get())
            else {
                return Vec::new();
            };
            const SHOWN: usize = 9;
            let from = at.saturating_sub(3).min(order.len().saturating_sub(SHOWN));
            order[from..]
                .iter()
                .take(SHOWN)
                .map(|e| {
                    let name = run.picture.item(e.buffer.0).map_or_else(String::new, |i| i.name.clone());
                    let ticks =
                        if heap.algorithm == Algorithm::Temporal { e.hull_ticks() } else { e.own_ticks };
                    (e.placement, e.buffer.0, name, e.own_size, ticks, e.members)
                })
                .collect()
        };
        view! {
            <table class="queue">
                <caption>"The list, sorted"</caption>
                <thead>
                    <tr>
                        <th scope="col" class="n">"No."</th>
                        <th scope="col">"Value"</th>
                        <th scope="col" class="n">"Bytes"</th>
                        <th scope="col" class="n">"Ticks"</th>
                        <th scope="col" class="n">"Shares"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        rows()
                            .into_iter()
                            .map(|(number, value, name, size, ticks, members)| {
                                let is_now = move || placement.get() == Some(number);
                                view! {
                                    <tr
                                        class:selected=is_now
                                        class:done=move || placement.get().is_some_and(|at| number < at)
                                        class:lit=move || wb.hover.get() == Some(value)
                                        aria-current=move || is_now().then_some("step")
                                        on:pointerenter=move |_| change(wb.hover, Some(value))
                                        on:pointerleave=move |_| change(wb.hover, None)
                                    >
                                        <td class="n">{number + 1}</td>
                                        <th scope="row">{name}</th>
                                        <td class="n">{grouped(size)}</td>
                                        <td class="n">{ticks}</td>
                                        <td class="n">{(members > 1).then(|| format!("+{}", members - 1))}</td>
                                    </tr>
                                }
                            })
                            .collect_view()
                    }}
                </tbody>
            </table>
        }
    }

    /// The same values by four packers, on one scale; the first two can be stepped through.
    #[component]
    fn Packers(heap: Memo<Option<Shared<Heap>>>, moment: Memo<Option<Moment>>) -> impl IntoView {
        let wb = use_workbench();
        let all = Memo::new(move |_| {
            let run = wb.run.get()?;
            let heaps: Option<Vec<Heap>> =
                PACKERS.iter().map(|(a, _)| placing::heap(&run, Some(*a))).collect();
            heaps.map(Shared::new)
        });
        let tallest = move || {
            all.with(|a| a.as_ref().map_or(1, |a| a.iter().map(|h| h.packing.total()).max().unwrap_or(1)))
        };
        let kept = move || heap.with(|h| h.as_ref().map(|h| h.totals().2));
        view! {
            <div class="packers">
                {PACKERS
                    .iter()
                    .enumerate()
                    .map(|(k, (algorithm, name))| {
                        let (algorithm, name) = (*algorithm, *name);
                        let total = move || all.with(|a| a.as_ref().map(|a| a[k].packing.total()));
                        let is_stepped = move || heap.with(|h| h.as_ref().map(|h| h.algorithm)) == Some(algorithm);
                        let can_be_stepped = matches!(algorithm, Algorithm::Spatial | Algorithm::Temporal);
                        let filling = Callback::new(move |width: f64| {
                            let (run, all) = (wb.run.get()?, all.get()?);
                            let of = &all[k];
                            let (placed, now) = match moment.get().filter(|_| is_stepped()) {
                                Some(m) => {
                                    let count = m.placement + usize::from(m.line >= Line::Place);
                                    (of.placed(count), (m.line == Line::Place).then_some(m.placement))
                                }
                                None => (of.placed(of.count()), None),
                            };
                            Some(scene::filling(&run.picture, &placed, now, tallest(), (width, 150.0)))
                        });
                        let said = move || {
                            format!("{name}: {} in the end", bytes(total().unwrap_or_default()))
                        };
                        view! {
                            <figure class="packer" class:kept=move || kept() == Some(algorithm)>
                                <figcaption>
                                    <b>{name}</b>
                                    <span class="total">
                                        {move || total().map(bytes)}
                                        {move || (kept() == Some(algorithm)).then_some(" · kept")}
                                    </span>
                                </figcaption>
                                <Drawn wb title=name class="filling" said=Signal::derive(said) scene=filling />
                                {can_be_stepped
                                    .then(|| {
                                        view! {
                                            <button
                                                type="button"
                                                aria-pressed=move || is_stepped().to_string()
                                                on:click=move |_| wb.set_view("order", algorithm.name())
                                            >
                                                "Step through this one"
                                            </button>
                                        }
                                    })}
                            </figure>
                        }
                    })
                    .collect_view()}
            </div>
        }
    }

    /// What is taken and what is free at the present placement, from the lowest address up.
    fn table_rows(step: &PlacementStep, name: impl Fn(u32) -> String) -> Vec<(u64, [String; 4])> {
        let taken = step.occupied.iter().map(|c| {
            let padding = match c.free_from - c.end {
                0 => String::new(),
                n => format!(", then {} to the alignment", bytes(n)),
            };
            let what = format!("taken by {}{padding}", name(c.buffer.0));
            (c.offset, [grouped(c.offset), grouped(c.end), bytes(c.end - c.offset), what])
        });
        let free = step.free_chunks.iter().map(|c| {
            let what = match (c.fits, c.is_chosen) {
                (_, true) => "free, chosen",
                (true, false) => "free, fits",
                _ => "free, too small",
            };
            let (end, size) = if is_endless(c) {
                ("no end".to_owned(), String::new())
            } else {
                (grouped(c.end), bytes(c.end - c.offset))
            };
            (c.offset, [grouped(c.offset), end, size, what.to_owned()])
        });
        let mut rows: Vec<_> = taken.chain(free).collect();
        rows.sort();
        rows
    }

    /// The figure in numbers.
    #[component]
    fn StepTable() -> impl IntoView {
        let wb = use_workbench();
        let heap = heap_of(wb);
        let rows = move || {
            let (heap, run) = (heap.get()?, wb.run.get()?);
            let moment = moment_of(wb, &heap);
            let step = heap.step(moment.placement)?;
            let name = |v: u32| run.picture.item(v).map_or_else(String::new, |i| i.name.clone());
            let caption = format!(
                "Placement {} of {}: {}, {}, goes to {}",
                moment.placement + 1,
                heap.count(),
                name(step.placement.buffer.0),
                bytes(step.placement.size),
                grouped(step.placement.offset)
            );
            Some((caption, table_rows(&step, name)))
        };
        view! {
            {move || {
                rows()
                    .map(|(caption, rows)| {
                        view! {
                            <table>
                                <caption>{caption}</caption>
                                <thead>
                                    <tr>
                                        <th scope="col" class="n">"From"</th>
                                        <th scope="col" class="n">"To"</th>
                                        <th scope="col" class="n">"Size"</th>
                                        <th scope="col">"What it is"</th>
                                    </tr>
                                </thead>
                                <tbody>
                                    {rows
                                        .into_iter()
                                        .map(|(_, [from, to, size, what])| {
                                            view! {
                                                <tr>
                                                    <td class="n">{from}</td>
                                                    <td class="n">{to}</td>
                                                    <td class="n">{size}</td>
                                                    <td>{what}</td>
                                                </tr>
                                            }
                                        })
                                        .collect_view()}
                                </tbody>
                            </table>
                        }
                    })
            }}
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::{ASKED, ASKED_CHUNKS, FIRST, MODULE_TEXT};
    use crate::{engine, placing};

    #[test]
    fn the_figure_begins_and_asks_where_there_is_a_choice() {
        let opened = engine::open(MODULE_TEXT).expect("it can be read");
        let heap = placing::heap(&opened.original, None).expect("a heap");
        let choices = heap.not_first_fit();
        assert!(choices.contains(&FIRST.placement) && choices.contains(&ASKED), "{choices:?}");
        let step = heap.step(ASKED).expect("it is there");
        assert_eq!(step.free_chunks.len(), ASKED_CHUNKS);
    }

    #[test]
    fn the_heap_has_its_final_size_early_but_not_at_once() {
        let opened = engine::open(MODULE_TEXT).expect("it can be read");
        let heap = placing::heap(&opened.original, None).expect("a heap");
        let grows: Vec<usize> =
            (0..heap.count()).filter(|k| heap.top(k + 1) == heap.packing.total()).collect();
        assert!(grows[0] > FIRST.placement && grows[0] < heap.count(), "{grows:?}");
    }
}
