//! Chapter 12: what a packing costs above what it needs.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 12,
    slug: "fragmentation",
    title: "Fragmentation",
    question: "How much of the heap is lost, to what, and could a better packing get it back?",
    figures: &["gap", "by-hand"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(files, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module of its figure: one of the few in which something is lost.
const MODULE: &str = "varied_temp_sizes";

const TITLE: &str = "What is lost, and to what";
const BY_HAND: &str = "Pack it yourself";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    use crate::packed_by_hand::Game;
    use crate::{engine, fragmentation, scene};
    let Ok(opened) = engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let Some(gap) = fragmentation::gap(&opened, fragmentation::own_alignment(&opened)) else {
        return Vec::new();
    };
    let mut out = vec![super::Poster {
        figure: "gap",
        title: TITLE,
        caption: fragmentation::sentence(&gap, None),
        class: "gap-scene",
        scene: scene::gap(&gap, None, 0, 900.0),
    }];
    let by_hand = || {
        let game = Game::new(0)?;
        let ceiling = scene::packing_ceiling(game.heap()?, game.standing().top);
        let view = scene::PackingView { game: &game, selected: None, hint: None, best: None, ceiling };
        Some(super::Poster {
            figure: "by-hand",
            title: BY_HAND,
            caption: game.sentence(None),
            class: "packing",
            scene: scene::packing(&view, 900.0)?.scene,
        })
    };
    out.extend(by_hand());
    out
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{BY_HAND, MODULE, TITLE};
    use crate::engine::Opened;
    use crate::figure::Figure;
    use crate::fragmentation::{self, Aligned, Gap, MOST, Optimum, Packed};
    use crate::modules::{FIRST_ID, SHIPPED};
    use crate::optimum::{Found, Phase, Search};
    use crate::packed_by_hand;
    use crate::scene;
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Scrub};
    use crate::views::drawn::Drawn;
    use crate::views::hand_packing::{ByHand, HandPacking};
    use crate::views::searching::{SearchLine, Searching};
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::words::{bytes, difference, grouped};
    use leptos::ev::Event;
    use leptos::prelude::*;

    /// What the figure computes for a module and an alignment.
    struct Computed {
        aligned: Aligned,
        gap: Gap,
        packers: Vec<Packed>,
        stats: Vec<(String, String, &'static str)>,
    }

    /// Shared by the figure and by the prose around it.
    #[derive(Clone, Copy)]
    struct Fragments {
        computed: Memo<Option<Shared<Computed>>>,
        searching: Searching<Shared<Computed>>,
    }

    impl Fragments {
        /// What is computed, and what the search has found of it.
        fn get(self) -> Option<(Shared<Computed>, Option<Found>)> {
            let computed = self.computed.get()?;
            let found = self.searching.found(&computed);
            Some((computed, found))
        }

        /// What is known of the smallest heap there could be.
        fn optimum(self) -> Option<Optimum> {
            self.get().map(|(computed, found)| computed.gap.optimum(found))
        }

        fn sentence(self) -> Option<String> {
            self.get().map(|(computed, found)| fragmentation::sentence(&computed.gap, found))
        }
    }

    /// The alignment that the reader asked for, or the module's own, as an exponent.
    fn exponent(wb: Workbench) -> i64 {
        let asked = wb.state.with(|s| s.number("alignment")).filter(|n| (0..=MOST).contains(n));
        asked.unwrap_or_else(|| own(wb))
    }

    fn own(wb: Workbench) -> i64 {
        wb.base.with(|o| o.as_ref().map_or(6, |o| i64::from(fragmentation::own_alignment(o).ilog2())))
    }

    /// Goes to an alignment; the module's own is no change.
    fn align(wb: Workbench, to: i64) {
        let to = to.clamp(0, MOST);
        if to == untrack(|| own(wb)) {
            let mut next = wb.state.get_untracked();
            next.params.remove("alignment");
            wb.set(next);
        } else {
            wb.set_param("alignment", to);
        }
    }

    pub fn chapter() -> AnyView {
        let wb = Workbench::for_figure("gap", State::new(Source::Shipped(MODULE.to_owned())));
        let free = Memo::new(move |_| fragmentation::free_bytes(&*wb.base.get()?));
        let gap_at = move |opened: &Opened, exponent: i64| {
            let alignment = 1 << exponent;
            Some(fragmentation::assign(opened, Some(alignment), None)?.gap(alignment, free.get()?))
        };
        let computed = Memo::new(move |_| {
            let (opened, free) = (wb.base.get()?, free.get()?);
            let alignment = 1 << exponent(wb);
            let aligned = fragmentation::assign(&opened, Some(alignment), None)?;
            let stats = dumps::stats(&opened.module, &aligned.facts, &aligned.assignment).to_string();
            Some(Shared::new(Computed {
                gap: aligned.gap(alignment, free),
                packers: aligned.packers(),
                stats: fragmentation::stats_lines(&stats),
                aligned,
            }))
        });
        let searching = Searching::new();
        Effect::new(move |_| {
            if let Some(computed) = computed.get() {
                searching.begin(computed.clone(), move || Search::of(&computed.aligned.assignment));
            }
        });
        let fragments = Fragments { computed, searching };
        provide_context(fragments);
        wb.say_with(move || fragments.sentence().unwrap_or_default());
        let hb = Workbench::for_figure("by-hand", State::new(Source::Shipped(FIRST_ID.to_owned())));
        let hand = ByHand::new(hb);
        let convolution = || packed_by_hand::heap(1);
        let by_hand = move || {
            let (solved, progress) = hand.verdict()?;
            Some(PuzzleResult { solved, progress })
        };
        let lowest = move || match hand.best_height() {
            Some(best) => {
                format!("pack the heap below by hand into {}, the optimum. Best fit does not.", bytes(best))
            }
            None => "pack the heap below by hand into as few bytes as the optimum has. Best fit does not."
                .to_owned(),
        };
        let number = move |of: fn(&Gap) -> u64| {
            move || computed.with(|c| c.as_ref().map(|c| bytes(of(&c.gap)))).unwrap_or_default()
        };
        // What alignment alone would do to it: from the module's own to the largest.
        let grown = Memo::new(move |_| {
            let opened = wb.base.get()?;
            let from = gap_at(&opened, own(wb))?.assigned;
            let to = gap_at(&opened, MOST)?.assigned;
            Some((from, to))
        });
        let options = [
            "It stays within a tenth of what it is",
            "It grows, to less than one and a half times",
            "It about doubles",
            "It grows more than threefold",
        ];
        let answer = move || {
            let (from, to) = grown.get()?;
            Some(match to as f64 / from.max(1) as f64 {
                r if r <= 1.1 => 0,
                r if r < 1.5 => 1,
                r if r <= 3.0 => 2,
                _ => 3,
            })
        };
        let goal =
            move || computed.with(|c| c.as_ref().map(|c| c.gap.floor + c.gap.floor / 5)).unwrap_or_default();
        let check = move || {
            let opened = wb.base.get()?;
            let at = exponent(wb);
            let now = computed.with(|c| c.as_ref().map(|c| c.gap.assigned))?;
            let next = if at < MOST { Some(gap_at(&opened, at + 1)?.assigned) } else { None };
            let goal = goal();
            let is_largest = next.is_none_or(|n| n > goal);
            let progress = match (now <= goal, is_largest) {
                (false, _) => {
                    format!("At {} the heap takes {}; the goal is {}.", words(at), bytes(now), bytes(goal))
                }
                (true, true) => format!(
                    "At {} the heap takes {}, within {}; one step more is too much.",
                    words(at),
                    bytes(now),
                    bytes(goal)
                ),
                (true, false) => format!(
                    "At {} the heap takes {}, within {}; but a larger alignment is possible.",
                    words(at),
                    bytes(now),
                    bytes(goal)
                ),
            };
            Some(PuzzleResult { solved: now <= goal && is_largest, progress })
        };
        view! {
            <p>
                "Add up what is alive at each step, and take the largest sum: no heap can be smaller, because at that step "
                "all of it has to be somewhere. This is the " <dfn>"floor"</dfn>
                ", and how far the heap is above it is called " <dfn>"fragmentation"</dfn>
                ". Here the floor is " <b class="figure-number">{number(|g| g.floor)}</b>
                ", and the heap takes " <b class="figure-number">{number(|g| g.assigned)}</b> "."
            </p>
            <p>
                "There are two ways to lose memory. The packer is a " <dfn>"heuristic"</dfn>
                ": it places one buffer after the other and takes nothing back, so holes remain that no later buffer fills. "
                "And hardware wants addresses at round numbers: with an " <dfn>"alignment"</dfn> " of "
                <Scrub
                    label="Alignment"
                    value=Signal::derive(move || exponent(wb))
                    min=Signal::derive(|| 0)
                    max=Signal::derive(|| MOST)
                    text=Signal::derive(move || words(exponent(wb)))
                    set=Callback::new(move |to: i64| align(wb, to))
                />
                " every place begins at a multiple of it, and what is between the end of one buffer and the next round "
                "number is lost. To tell the two apart, the same packer runs twice: once with alignment 1, where it can only "
                "lose by itself, and once with the alignment there is. The last buffer of a heap is not rounded up. "
                <Rule section="10.4" />
            </p>
            <Predict
                wb
                id="align"
                question=Signal::derive(|| format!("The alignment goes up to {} bytes. What does the heap do?", grouped(1 << MOST)))
                options=Signal::derive(move || options.map(str::to_owned).to_vec())
                answer=Signal::derive(answer)
                explain=Callback::new(move |_: usize| {
                    grown
                        .get()
                        .map(|(from, to)| {
                            format!(
                                "It goes from {} to {}, {}: only a small buffer loses much to a round number, and here many are small.",
                                bytes(from), bytes(to), difference(from, to)
                            )
                        })
                        .unwrap_or_default()
                })
            />
            <Figure
                wb
                title=TITLE
                caption="One bar for the heap: what is alive at once, what the packer loses, what alignment adds. Below, the same buffers packed by each of XLA's packers and by the exact search, all on the same axes."
                reserve=[768, 1187, 1652]
                table=GapTable
            >
                <Gaps />
            </Figure>
            <Puzzle
                id="aligned"
                goal=Signal::derive(move || {
                    format!(
                        "find the largest alignment at which this heap takes at most a fifth more than what is alive at once, {}.",
                        bytes(goal())
                    )
                })
                check=Signal::derive(check)
                hint="Go up from 64 one step at a time and watch the last part of the bar."
            />
            <p>
                "How small could the heap be at best? To find the " <dfn>"optimum"</dfn>
                " one has to search, and in the worst case the search takes longer than anybody can wait. So it works from "
                "two sides: it proves that nothing is smaller than some bound, and finds packings that come closer to it. When "
                "the two meet, it is done. You can try it yourself: a packing is only bands that are moved up and down."
            </p>
            <HandPacking hand title=BY_HAND />
            <Puzzle
                id="by-hand"
                goal=Signal::derive(lowest)
                check=Signal::derive(by_hand)
                hint="The columns in which most is alive must be filled without a gap. In the first heap best fit puts both of the largest bands at the bottom; one of them belongs on top."
            />
            <p>
                "XLA has two more packers, made for speed: " <dfn>"fast merge"</dfn> " and " <dfn>"fast split"</dfn>
                ". Fast merge goes through the program once, from its first step to its last, and puts each buffer into a chunk that is "
                "free just then. Fast split places the largest buffers by best fit, and the others above them as fast merge does. "
                "What that costs is in the table of the figure."
            </p>
            <Predict
                wb=hb
                id="fastest"
                question="Which of XLA's packers needs least for the second heap of the figure, a convolution's training step?"
                options=Signal::derive(|| ["Best fit", "Fast merge", "Fast split"].map(str::to_owned).to_vec())
                answer=Signal::derive(move || convolution().map(packed_by_hand::Heap::lowest_packer))
                explain=Callback::new(move |_: usize| convolution().map_or_else(String::new, packed_by_hand::Heap::compared))
            />
            <p>
                "Most programs lose nothing: choose another module above, and often the heap is exactly at the floor, "
                "so the packing is the best there is. XLA runs two orders, the largest first and the longest-lived first, and "
                "keeps the smaller heap. "
                <Rule section="10.5" />
                " Where the heap is above every bound that we know, we can only say between which two numbers the best packing is."
            </p>
            <p>
                "The log and every out-of-memory report quote " <span class="code">"fragmentation"</span>
                " too. The percentage relates to the size of the block in the same report, not to the device's memory, and what "
                "the allocator of the device loses is not in it: a report of 0.00 % says that this packing is fine, and nothing "
                "about free memory in pieces. XLA also counts a value twice while it hands its place to another, so the number "
                "can be too low, and where it would be negative the line is missing. "
                <Rule section="9.5" /> " "
                <Rule section="10.6" />
            </p>
        }
        .into_any()
    }

    fn words(exponent: i64) -> String {
        match exponent {
            0 => "1 byte".to_owned(),
            e => format!("{} bytes", grouped(1 << e)),
        }
    }

    #[component]
    fn Gaps() -> impl IntoView {
        let wb = use_workbench();
        let fragments: Fragments = expect_context();
        let Fragments { computed, searching } = fragments;
        let id = move || {
            wb.state.with(|s| match &s.source {
                Source::Shipped(id) => id.clone(),
                Source::Own(_) => "own".to_owned(),
            })
        };
        let choose = move |e: Event| {
            let id = event_target_value(&e);
            if id != "own" {
                let old = wb.state.get_untracked();
                wb.set(State { source: Source::Shipped(id), ..old });
            }
        };
        let most = move || {
            computed.with(|c| {
                c.as_ref()
                    .map_or(1, |c| c.packers.iter().map(|p| p.size).max().unwrap_or(1).max(c.gap.assigned))
            })
        };
        let slid = move |e: Event| {
            if let Ok(to) = event_target_value(&e).parse::<i64>() {
                wb.preview_param("alignment", to);
            }
        };
        let rests = move |e: Event| {
            if let Ok(to) = event_target_value(&e).parse::<i64>() {
                align(wb, to);
            }
        };
        let said = move || fragments.sentence();
        let best = move || match fragments.optimum()? {
            Optimum::Proved(best) => Some(best),
            Optimum::Reached => computed.with(|c| c.as_ref().map(|c| c.gap.assigned)),
            Optimum::Between(..) => None,
        };
        let between = Signal::derive(move || {
            computed.with(|c| c.as_ref().map_or((0, 1), |c| (c.gap.floor, c.gap.assigned)))
        });
        let part = move |name: &'static str, class: &'static str, of: fn(&Gap) -> String| {
            view! {
                <div class=format!("part {class}")>
                    <dt><span class="sample" aria-hidden="true"></span> {name}</dt>
                    <dd>{move || computed.with(|c| c.as_ref().map(|c| of(&c.gap)))}</dd>
                </div>
            }
        };
        let count = move || computed.with(|c| c.as_ref().map_or(0, |c| c.packers.len()));
        view! {
            <div class="gaps" data-alignment=move || (1_u64 << exponent(wb)).to_string()>
                <div class="gap-controls">
                    <label class="field">
                        "Module"
                        <select on:change=choose prop:value=id>
                            {SHIPPED
                                .iter()
                                .map(|m| view! { <option value=m.id selected=move || id() == m.id>{m.title}</option> })
                                .collect_view()}
                        </select>
                    </label>
                    <div class="field aligning">
                        <label for="gap-alignment">"Alignment"</label>
                        <button
                            type="button"
                            aria-label="Alignment: half"
                            disabled=move || exponent(wb) == 0
                            on:click=move |_| align(wb, untrack(|| exponent(wb)) - 1)
                        >
                            "−"
                        </button>
                        <input
                            id="gap-alignment"
                            type="range"
                            min="0"
                            max=MOST.to_string()
                            step="1"
                            prop:value=move || exponent(wb).to_string()
                            aria-valuetext=move || words(exponent(wb))
                            on:input=slid
                            on:change=rests
                        />
                        <button
                            type="button"
                            aria-label="Alignment: double"
                            disabled=move || exponent(wb) == MOST
                            on:click=move |_| align(wb, untrack(|| exponent(wb)) + 1)
                        >
                            "+"
                        </button>
                        <output for="gap-alignment">
                            {move || {
                                let e = exponent(wb);
                                let own = if e == own(wb) { ", its own" } else { "" };
                                format!("{}{own}", words(e))
                            }}
                        </output>
                    </div>
                </div>
                <p class="answer">{said}</p>
                <Drawn
                    wb
                    title="What the heap is made of"
                    class="gap-scene"
                    said=Signal::derive(move || said().unwrap_or_default())
                    scene=Callback::new(move |width: f64| {
                        let best = best();
                        computed.with(|c| c.as_ref().map(|c| scene::gap(&c.gap, best, most(), width)))
                    })
                />
                <dl class="parts" data-gap=move || {
                    computed.with(|c| c.as_ref().map(|c| format!("{} {} {} {}", c.gap.floor, c.gap.aligned_floor, c.gap.free, c.gap.assigned)))
                }>
                    {part("alive at once, the floor", "floor", |g| bytes(g.floor))}
                    {part("lost by the packer", "packer", |g| bytes(g.heuristic()))}
                    {part("lost to alignment", "alignment", |g| match g.by_alignment() {
                        n if n < 0 => format!("−{}", bytes(n.unsigned_abs())),
                        n => bytes(n.unsigned_abs()),
                    })}
                    {part("heap as assigned", "assigned", |g| bytes(g.assigned))}
                    <div class="part bound">
                        <dt><span class="sample" aria-hidden="true"></span> "the best there can be"</dt>
                        <dd>
                            {move || {
                                let assigned = computed.with(|c| c.as_ref().map_or(0, |c| c.gap.assigned));
                                fragments.optimum().map(|o| match o {
                                    Optimum::Reached => format!("{}: this is it", bytes(assigned)),
                                    Optimum::Proved(best) => format!("{}, proved", bytes(best)),
                                    Optimum::Between(from, to) => format!("{} to {}", grouped(from), bytes(to)),
                                })
                            }}
                        </dd>
                    </div>
                </dl>
                <SearchLine searching between />
                <h4>"The same buffers under each packer"</h4>
                <ul class="packers">
                    <For each=move || 0..count() key=|n| *n let(n)>
                        <Small n computed most=Signal::derive(most) />
                    </For>
                    <SmallestFound fragments most=Signal::derive(most) />
                </ul>
                <h4>"What XLA's log says of it"</h4>
                <ul class="stats">
                    {move || {
                        computed
                            .with(|c| {
                                c.as_ref()
                                    .map(|c| {
                                        c.stats
                                            .iter()
                                            .map(|(label, value, about)| {
                                                view! {
                                                    <li>
                                                        <code>{format!("{label}:")}</code>
                                                        <code>{value.clone()}</code>
                                                        <span>{*about}</span>
                                                    </li>
                                                }
                                            })
                                            .collect_view()
                                    })
                            })
                    }}
                </ul>
            </div>
        }
    }

    #[component]
    fn Small(n: usize, computed: Memo<Option<Shared<Computed>>>, most: Signal<u64>) -> impl IntoView {
        let wb = use_workbench();
        let of = move |f: &dyn Fn(&Computed, &Packed) -> String| {
            computed.with(|c| c.as_ref().and_then(|c| Some(f(c, c.packers.get(n)?)))).unwrap_or_default()
        };
        let name = move || of(&|_, p| fragmentation::name(p.algorithm).to_owned());
        let about = move || of(&|c, p| fragmentation::against(p.size, &c.gap));
        view! {
            <li class="packer">
                <p class="name">{name}</p>
                <Drawn
                    wb
                    title="A packer's heap"
                    class="small-heap"
                    said=Signal::derive(move || format!("{}: {}", name(), of(&|_, p| bytes(p.size))))
                    scene=Callback::new(move |width: f64| {
                        let picture = wb.base.get()?;
                        computed.with(|c| {
                            let packed = c.as_ref()?.packers.get(n)?;
                            Some(scene::small(&picture.original.picture, (packed.size, &packed.places), most.get(), (width, 132.0)))
                        })
                    })
                />
                <p class="quiet">{about}</p>
            </li>
        }
    }

    /// The best packing that is known, beside those of the packers.
    #[component]
    fn SmallestFound(fragments: Fragments, most: Signal<u64>) -> impl IntoView {
        let wb = use_workbench();
        let searching = fragments.searching;
        // The packer's own, while the search has none that is as small.
        let packed = move || {
            let (computed, _) = fragments.get()?;
            let own = computed.packers.first().map(|p| (p.size, p.places.clone()))?;
            Some(searching.ask(&computed, Search::largest).unwrap_or(own))
        };
        let is_proved =
            move || fragments.get().is_some_and(|(_, found)| found.is_some_and(|f| f.is_proved()));
        let name = move || match (is_proved(), searching.phase()) {
            (true, _) => "The exact search: the optimum",
            (false, Phase::Waiting | Phase::Running) => "The exact search, so far",
            (false, _) => "The exact search, stopped",
        };
        let about = move || {
            let ((size, _), (computed, _)) = (packed()?, fragments.get()?);
            Some(if is_proved() {
                "nothing is smaller".to_owned()
            } else {
                fragmentation::against(size, &computed.gap)
            })
        };
        view! {
            <li class="packer smallest">
                <p class="name">{name}</p>
                <Drawn
                    wb
                    title="The exact search"
                    class="small-heap"
                    said=Signal::derive(move || format!("{}: {}", name(), packed().map(|p| bytes(p.0)).unwrap_or_default()))
                    scene=Callback::new(move |width: f64| {
                        let (picture, (size, places)) = (wb.base.get()?, packed()?);
                        Some(scene::small(&picture.original.picture, (size, &places), most.get(), (width, 132.0)))
                    })
                />
                <p class="quiet">{about}</p>
            </li>
        }
    }

    #[component]
    fn GapTable() -> impl IntoView {
        let wb = use_workbench();
        let fragments: Fragments = expect_context();
        let computed = fragments.computed;
        view! {
            <table>
                <caption>{move || format!("Bytes, at an alignment of {}.", words(exponent(wb)))}</caption>
                <thead>
                    <tr>
                        <th scope="col">"Of the heap"</th>
                        <th scope="col" class="n">"Bytes"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        computed
                            .with(|c| {
                                c.as_ref()
                                    .map(|c| {
                                        let (g, found) = (&c.gap, fragments.searching.found(c));
                                        let mut rows = vec![
                                            ("Alive at once".to_owned(), grouped(g.floor)),
                                            ("No packing at this alignment is below".to_owned(), grouped(g.aligned_floor)),
                                            ("Packed at alignment 1".to_owned(), grouped(g.free)),
                                            ("Lost by the packer".to_owned(), grouped(g.heuristic())),
                                            ("Lost to alignment".to_owned(), g.by_alignment().to_string()),
                                            ("As assigned".to_owned(), grouped(g.assigned)),
                                            ("All temporaries, with tables of tuples".to_owned(), grouped(g.temp)),
                                            (
                                                "The best there can be".to_owned(),
                                                match g.optimum(found) {
                                                    Optimum::Reached => grouped(g.assigned),
                                                    Optimum::Proved(best) => grouped(best),
                                                    Optimum::Between(from, to) => format!("{} to {}", grouped(from), grouped(to)),
                                                },
                                            ),
                                        ];
                                        rows.extend(c.packers.iter().map(|p| {
                                            (format!("Packer: {}", fragmentation::name(p.algorithm)), grouped(p.size))
                                        }));
                                        rows.into_iter()
                                            .map(|(name, n)| {
                                                view! {
                                                    <tr>
                                                        <th scope="row">{name}</th>
                                                        <td class="n">{n}</td>
                                                    </tr>
                                                }
                                            })
                                            .collect_view()
                                    })
                            })
                    }}
                </tbody>
            </table>
        }
    }
}
