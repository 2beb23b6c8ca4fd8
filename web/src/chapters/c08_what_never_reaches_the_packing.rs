//! Chapter 8: the bins that come before the packing.

use super::Chapter;

/// The chapter.
pub const CHAPTER: Chapter = Chapter {
    number: 8,
    slug: "what-never-reaches-the-packing",
    title: "What never reaches the packing",
    question: "Which values get their memory before any packing begins?",
    figures: &["bins", "log"],
    #[cfg(target_arch = "wasm32")]
    view: crate::parts::part!(packing, view::chapter),
    #[cfg(not(target_arch = "wasm32"))]
    posters,
};

/// The module of its figures: it has something in every bin.
const MODULE: &str = "kv_cache_loop";

/// How many values the reader sorts.
#[cfg(target_arch = "wasm32")]
const CARDS: usize = 8;

/// The decision that the log begins at: the one by which a value is squeezed in.
#[cfg(any(test, target_arch = "wasm32"))]
const LOG_AT: i64 = 37;

const SORT_TITLE: &str = "Sort eight values, then let the assigner do it";

#[cfg(target_arch = "wasm32")]
const LOG_TITLE: &str = "Every decision, one at a time";

#[cfg(not(target_arch = "wasm32"))]
fn posters() -> Vec<super::Poster> {
    let Ok(opened) = crate::engine::open(&super::text_of(MODULE)) else { return Vec::new() };
    let counts = crate::sorting::counts(&opened, &opened.original);
    vec![super::Poster {
        figure: "bins",
        title: SORT_TITLE,
        caption: crate::sorting::sentence(&counts),
        class: "bins-scene",
        scene: crate::scene::bins(&counts, 620.0),
    }]
}

#[cfg(target_arch = "wasm32")]
mod view {
    use super::{CARDS, LOG_AT, LOG_TITLE, MODULE, SORT_TITLE};
    use crate::figure::Figure;
    use crate::scene;
    use crate::sorting::{self, BINS, BinWords, Card};
    use crate::state::{Source, State};
    use crate::teach::{Predict, Puzzle, PuzzleResult, Rule, Term};
    use crate::views::decision_log::{DecisionLog, LogTable};
    use crate::views::drawn::Drawn;
    use crate::views::plot::{change, scale_of};
    use crate::workbench::{Shared, Workbench, use_workbench};
    use assigner::Bin;
    use assigner::words::bytes;
    use leptos::ev::{KeyboardEvent, PointerEvent};
    use leptos::prelude::*;
    use wasm_bindgen::JsCast as _;
    use web_sys::HtmlElement;

    pub fn chapter() -> AnyView {
        let first = || State::new(Source::Shipped(MODULE.to_owned()));
        let sort = Workbench::for_figure("bins", first());
        let mut log_state = first();
        log_state.view.insert("at".to_owned(), LOG_AT.into());
        let log = Workbench::for_figure("log", log_state);
        let cards = cards_of(sort);
        sort.say_with(move || match (placed_of(sort), cards.get_untracked()) {
            (placed, Some(cards)) => progress(&placed, &cards),
            _ => String::new(),
        });
        let surprise = move || {
            let cards = cards.get()?;
            cards.iter().find(|c| c.bin == Bin::Parameter && !c.about.starts_with("parameter")).cloned()
        };
        let question = move || match surprise() {
            Some(c) => format!("{} ({}) is written in a loop's body. Where does it stand?", c.name, c.about),
            None => "Where does a value stand that must share with a parameter?".to_owned(),
        };
        // In the order in which the assigner asks.
        let choices = [Bin::Parameter, Bin::Reused, Bin::Heap, Bin::Own];
        let puzzle = move || {
            let (placed, cards) = (placed_of(sort), cards.get()?);
            Some(PuzzleResult {
                solved: right(&placed, &cards) == cards.len(),
                progress: progress(&placed, &cards),
            })
        };
        view! {
            <p>
                "Before XLA packs anything it walks through all buffers, the largest first. Of those of one size, what is "
                "returned comes first; then it goes by the place in the program, the main computation before those it calls, and operands before "
                "what reads them. "
                "It asks each a few plain questions. Four kinds have an answer of their own. A " <dfn>"constant"</dfn>
                " stands where the program was loaded. An " <dfn>"entry parameter"</dfn>
                " stands where the caller put it, and nobody else may write there, unless the caller has given it away: then it is "
                <dfn>"donated"</dfn> ". A value of a function that runs once per element, such as the sum "
                "inside a reduction, is " <dfn>"thread-local"</dfn> ": it lives on the stack of whoever runs it. A "
                <dfn>"tuple"</dfn> " is a table of pointers to other values, 8 bytes each, and is never shared. "
                <Rule section="8.5" />
            </p>
            <p>
                "What is left is tried in the memory that exists by then: first where one of its operands stands, if that may be written to, then in the "
                "allocations that were made for results and in donated parameters, the newest first. It goes in if it is wanted "
                "at no time together with what is there; only the step of an instruction that works in place (chapter 6) is "
                "allowed. A buffer with many values goes in with all of them or not at all. If it goes in, it costs nothing. If "
                "not, it depends on whether it is returned. A returned value, in XLA's words one that is " <dfn>"live out"</dfn>
                ", gets an allocation of its own, because the caller takes over whole allocations. Everything else is "
                "put on a list, and the list is what gets packed. "
                <Rule section="8.4" />
            </p>
            <Predict
                wb=sort
                id="surprise"
                question=Signal::derive(question)
                options=Signal::derive(move || choices.iter().map(|b| sorting::name(*b).to_owned()).collect::<Vec<_>>())
                answer=Signal::derive(move || choices.iter().position(|b| Some(*b) == surprise().map(|c| c.bin)))
                explain=Callback::new(move |_: usize| {
                    surprise()
                        .map(|c| {
                            format!(
                                "{}. It {}: all values of one buffer go where the first of them belongs.",
                                c.decision,
                                c.clue.rsplit(" · ").next().unwrap_or_default()
                            )
                        })
                        .unwrap_or_default()
                })
            />
            <Figure
                wb=sort
                title=SORT_TITLE
                caption="Choose a value, then a bin; or drag it there; or press 1 to 7 on it. Above, a square for each buffer of the module, in the bin where it ended up."
                reserve=[816, 1011, 1454]
                table=SortTable
            >
                <Sort />
            </Figure>
            <Puzzle
                id="bins"
                goal="put all eight values into the bins that the assigner puts them in, before you let it sort."
                check=Signal::derive(puzzle)
                hint="Ask in the order of the bins: is it a constant, does it share with a parameter of the entry, does it run per element, is it a table? Only then: is there room where something returned will stand later?"
            />
            <p>
                "The assigner's own log has a line for each question it asked. Step through it: at "
                <Term wb=log value=Signal::derive(|| "bitcast_tanh_fusion".to_owned()) />
                " you see a value squeezed into an allocation that was made for a result: the result is wanted only from the step "
                "at which this value is read for the last time, by an instruction that works in place, or later. On this list you find every refusal, too; chapter 10 is about those. "
                <Rule section="8.6" />
            </p>
            <Figure
                wb=log
                title=LOG_TITLE
                caption="Left, the decisions in XLA's order; right, the allocations with what stands in them so far. Hover a line or a block to see both."
                reserve=[463, 741, 891]
                table=LogTable
            >
                <DecisionLog />
            </Figure>
            <p>
                "At the very end the temporaries of one memory space are joined into one allocation: the packed heap and the "
                "tables of pointers, one after the other, each at the next multiple of 64 bytes (on CPU). Which of them comes "
                "first depends on how XLA has just rearranged its list of allocations, and differs from program to program. "
                <Rule section="8.7" />
            </p>
        }
        .into_any()
    }

    fn cards_of(wb: Workbench) -> Memo<Option<Shared<Vec<Card>>>> {
        Memo::new(move |_| {
            let (opened, run) = (wb.opened.get()?, wb.run.get()?);
            Some(Shared::new(sorting::cards(&opened, &run, CARDS)))
        })
    }

    /// Where the reader put each card.
    fn placed_of(wb: Workbench) -> Vec<Option<Bin>> {
        wb.state.with(|s| sorting::decode(s.word("bins").unwrap_or_default(), CARDS))
    }

    fn is_shown(wb: Workbench) -> bool {
        wb.state.with(|s| s.number("shown") == Some(1))
    }

    fn right(placed: &[Option<Bin>], cards: &[Card]) -> usize {
        cards.iter().zip(placed).filter(|(c, p)| **p == Some(c.bin)).count()
    }

    fn progress(placed: &[Option<Bin>], cards: &[Card]) -> String {
        let sorted = placed.iter().take(cards.len()).flatten().count();
        format!("{sorted} of {} sorted, {} of them as the assigner does.", cards.len(), right(placed, cards))
    }

    fn put(wb: Workbench, card: usize, bin: Option<Bin>) {
        let mut placed = placed_of(wb);
        if let Some(place) = placed.get_mut(card) {
            *place = bin;
            wb.set_param("bins", sorting::encode(&placed).as_str());
        }
    }

    /// What is being sorted: the card that is picked, and how far the pointer has pulled it.
    #[derive(Clone, Copy)]
    struct Hand {
        picked: RwSignal<Option<usize>>,
        pulled: RwSignal<Option<(f64, f64)>>,
        over: RwSignal<Option<usize>>,
    }

    #[component]
    fn Sort() -> impl IntoView {
        let wb = use_workbench();
        let cards = cards_of(wb);
        let hand =
            Hand { picked: RwSignal::new(None), pulled: RwSignal::new(None), over: RwSignal::new(None) };
        let counts = Memo::new(move |_| {
            let (opened, run) = (wb.opened.get()?, wb.run.get()?);
            Some(sorting::counts(&opened, &run))
        });
        let sentence = move || counts.with(|c| c.as_ref().map(|c| sorting::sentence(c)));
        let in_bin = move |bin: Option<Bin>| {
            let placed = placed_of(wb);
            (0..cards.with(|c| c.as_ref().map_or(0, |c| c.len())))
                .filter(|n| placed.get(*n).copied().flatten() == bin)
                .collect::<Vec<_>>()
        };
        let picked = move || {
            let n = hand.picked.get()?;
            cards.with(|c| c.as_ref()?.get(n).map(|c| c.name.clone()))
        };
        let told = move || match picked() {
            Some(name) => format!("Where does {name} go? Choose a bin, or press 1 to 7."),
            None if in_bin(None).is_empty() => "All sorted. Compare with the assigner.".to_owned(),
            None => "Choose a value.".to_owned(),
        };
        view! {
            // Not before there is something to sort: until then the figure's own height is kept free.
            <div class="sorting" hidden=move || cards.with(Option::is_none)>
                <p class="answer">{sentence}</p>
                <Drawn
                    wb
                    title="What became of each buffer"
                    class="bins-scene"
                    said=Signal::derive(move || sentence().unwrap_or_default())
                    scene=Callback::new(move |width: f64| {
                        counts.with(|c| c.as_ref().map(|c| scene::bins(c, width.min(640.0))))
                    })
                />
                <div class="tray" data-bin="none">
                    <p class="ask" role="status">{told}</p>
                    <div class="cards">
                        <For each=move || in_bin(None) key=|n| *n let(n)>
                            <CardButton n cards hand />
                        </For>
                    </div>
                    <button
                        type="button"
                        class="compare"
                        aria-pressed=move || is_shown(wb).to_string()
                        on:click=move |_| {
                            if is_shown(wb) { wb.clear_view("shown") } else { wb.set_view("shown", 1) }
                        }
                    >
                        {move || if is_shown(wb) { "Hide the assigner's answer" } else { "Let the assigner sort" }}
                    </button>
                </div>
                <div class="bins">
                    {BINS
                        .iter()
                        .enumerate()
                        .map(|(k, words)| {
                            view! { <BinBox k words=*words cards hand inside=Signal::derive(move || in_bin(Some(words.bin))) /> }
                        })
                        .collect_view()}
                </div>
                <Show when=move || is_shown(wb)>
                    <ul class="answers">
                        {move || {
                            let placed = placed_of(wb);
                            cards
                                .get()
                                .map(|cards| {
                                    cards
                                        .iter()
                                        .enumerate()
                                        .map(|(n, c)| {
                                            let yours = placed.get(n).copied().flatten();
                                            let sign = match yours {
                                                Some(bin) if bin == c.bin => "✓",
                                                Some(_) => "✗",
                                                None => "·",
                                            };
                                            view! {
                                                <li class:right=yours == Some(c.bin) class:wrong=yours.is_some_and(|b| b != c.bin)>
                                                    <span class="sign" aria-hidden="true">{sign}</span>
                                                    <span>
                                                        <b>{sorting::name(c.bin)}</b>
                                                        {match yours {
                                                            Some(bin) if bin == c.bin => ", as you said. ".to_owned(),
                                                            Some(bin) => format!(", not {}. ", sorting::name(bin).to_ascii_lowercase()),
                                                            None => ". ".to_owned(),
                                                        }}
                                                        {c.decision.clone()}
                                                        "."
                                                    </span>
                                                </li>
                                            }
                                        })
                                        .collect_view()
                                })
                        }}
                    </ul>
                </Show>
            </div>
        }
    }

    #[component]
    fn BinBox(
        k: usize,
        words: BinWords,
        cards: Memo<Option<Shared<Vec<Card>>>>,
        hand: Hand,
        inside: Signal<Vec<usize>>,
    ) -> impl IntoView {
        let wb = use_workbench();
        let take = move |_| {
            if let Some(n) = hand.picked.get_untracked() {
                hand.picked.set(None);
                put(wb, n, Some(words.bin));
            }
        };
        view! {
            <section class="bin" class:over=move || hand.over.get() == Some(k) data-bin=k.to_string()>
                <button
                    type="button"
                    class="bin-head"
                    disabled=move || hand.picked.get().is_none()
                    on:click=take
                >
                    <span class="bin-key">{k + 1}</span>
                    <b>{words.name}</b>
                    <span class="about">{words.about}</span>
                </button>
                <div class="cards">
                    <For each=move || inside.get() key=|n| *n let(n)>
                        <CardButton n cards hand />
                    </For>
                </div>
            </section>
        }
    }

    /// Where a card can be let go.
    #[derive(Clone, Copy)]
    enum Home {
        Tray,
        Bin(usize),
    }

    impl Home {
        /// What is drawn at a point of the window.
        fn at(x: f64, y: f64) -> Option<Self> {
            let element = document().element_from_point(x as f32, y as f32)?;
            let home = element.closest("[data-bin]").ok().flatten()?;
            Some(home.get_attribute("data-bin")?.parse().map_or(Self::Tray, Self::Bin))
        }

        fn bin(self) -> Option<usize> {
            match self {
                Self::Tray => None,
                Self::Bin(k) => Some(k),
            }
        }
    }

    #[component]
    fn CardButton(n: usize, cards: Memo<Option<Shared<Vec<Card>>>>, hand: Hand) -> impl IntoView {
        let wb = use_workbench();
        let card = move || cards.with(|c| c.as_ref().and_then(|c| c.get(n).cloned()));
        let value = move || card().map(|c| c.value);
        let is_picked = move || hand.picked.get() == Some(n);
        // Where the pointer took hold; a pull of a few pixels is a click.
        let held = StoredValue::new(None::<(f64, f64, f64)>);
        let was_pulled = StoredValue::new(false);
        let at = |e: &PointerEvent| (f64::from(e.client_x()), f64::from(e.client_y()));
        let down = move |e: PointerEvent| {
            was_pulled.set_value(false);
            // A finger scrolls; it taps the value, then the bin.
            if e.button() == 0 && e.pointer_type() != "touch" {
                let (x, y) = at(&e);
                let mut scale = 1.0;
                if let Some(element) = e.current_target().and_then(|t| t.dyn_into::<HtmlElement>().ok()) {
                    scale = scale_of(&element);
                    _ = element.set_pointer_capture(e.pointer_id());
                }
                held.set_value(Some((x, y, scale)));
            }
        };
        let moved = move |e: PointerEvent| {
            let Some((x0, y0, scale)) = held.get_value() else { return };
            let (x, y) = at(&e);
            if was_pulled.get_value() || (x - x0).hypot(y - y0) > 5.0 {
                was_pulled.set_value(true);
                hand.picked.set(Some(n));
                hand.pulled.set(Some(((x - x0) / scale, (y - y0) / scale)));
                change(hand.over, Home::at(x, y).and_then(Home::bin));
            }
        };
        let up = move |e: PointerEvent| {
            if held.try_update_value(Option::take).flatten().is_none() || !was_pulled.get_value() {
                return;
            }
            let (x, y) = at(&e);
            let home = Home::at(x, y);
            hand.pulled.set(None);
            hand.over.set(None);
            hand.picked.set(None);
            if let Some(home) = home {
                put(wb, n, home.bin().map(|k| BINS[k].bin));
            }
        };
        let cancel = move |_: PointerEvent| {
            held.set_value(None);
            hand.pulled.set(None);
            hand.over.set(None);
        };
        let click = move |_| {
            if !was_pulled.get_value() {
                hand.picked.update(|p| *p = if *p == Some(n) { None } else { Some(n) });
            }
        };
        let key = move |e: KeyboardEvent| {
            let bin = match e.key().as_str() {
                "Backspace" | "Delete" | "0" => None,
                k => match k.parse::<usize>() {
                    Ok(k) if (1..=BINS.len()).contains(&k) => Some(BINS[k - 1].bin),
                    _ => return,
                },
            };
            e.prevent_default();
            hand.picked.set(None);
            put(wb, n, bin);
            // The card is drawn anew in its bin; the keyboard stays with it.
            request_animation_frame(move || {
                let found =
                    document().query_selector(&format!("#{} [data-card='{n}']", wb.id)).ok().flatten();
                if let Some(card) = found.and_then(|c| c.dyn_into::<HtmlElement>().ok()) {
                    _ = card.focus();
                }
            });
        };
        let shift = move || match hand.pulled.get() {
            Some((x, y)) if is_picked() => format!("translate({x:.0}px, {y:.0}px)"),
            _ => String::new(),
        };
        view! {
            <button
                type="button"
                class="value-card"
                data-card=n.to_string()
                class:pulled=move || is_picked() && hand.pulled.get().is_some()
                class:lit=move || wb.hover.get().is_some() && wb.hover.get() == value()
                aria-pressed=move || is_picked().to_string()
                style:transform=shift
                on:pointerdown=down
                on:pointermove=moved
                on:pointerup=up
                on:pointercancel=cancel
                on:click=click
                on:keydown=key
                on:pointerenter=move |_| change(wb.hover, value())
                on:pointerleave=move |_| change(wb.hover, None)
            >
                <span class="code">{move || card().map(|c| c.name)}</span>
                <span class="about">{move || card().map(|c| c.about)}</span>
                <span class="clue">{move || card().map(|c| c.clue)}</span>
            </button>
        }
    }

    /// The figure in numbers.
    #[component]
    fn SortTable() -> impl IntoView {
        let wb = use_workbench();
        let cards = cards_of(wb);
        let counts = move || {
            let (opened, run) = (wb.opened.get()?, wb.run.get()?);
            Some(sorting::counts(&opened, &run))
        };
        view! {
            <table>
                <caption>"What became of all buffers"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Bin"</th>
                        <th scope="col" class="n">"Buffers"</th>
                        <th scope="col" class="n">"Bytes"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        counts()
                            .into_iter()
                            .flatten()
                            .map(|c| {
                                view! {
                                    <tr>
                                        <th scope="row">{sorting::name(c.bin)}</th>
                                        <td class="n">{c.buffers}</td>
                                        <td class="n">{bytes(c.bytes)}</td>
                                    </tr>
                                }
                            })
                            .collect_view()
                    }}
                </tbody>
            </table>
            <table>
                <caption>"The values to be sorted"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Value"</th>
                        <th scope="col">"What it is"</th>
                        <th scope="col">"Your bin"</th>
                        <th scope="col">"The assigner's"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || {
                        let (placed, shown) = (placed_of(wb), is_shown(wb));
                        cards
                            .get()
                            .map(|cards| {
                                cards
                                    .iter()
                                    .enumerate()
                                    .map(|(n, c)| {
                                        let yours = placed.get(n).copied().flatten().map(sorting::name);
                                        view! {
                                            <tr>
                                                <th scope="row">{c.name.clone()}</th>
                                                <td>{[c.about.as_str(), c.clue.as_str()].join(" · ").trim_end_matches(" · ").to_owned()}</td>
                                                <td>{yours}</td>
                                                <td>{shown.then(|| sorting::name(c.bin))}</td>
                                            </tr>
                                        }
                                    })
                                    .collect_view()
                            })
                    }}
                </tbody>
            </table>
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::{LOG_AT, MODULE};
    use crate::engine;
    use crate::log::{self, Kind};

    #[test]
    fn the_log_begins_where_a_value_is_squeezed_in() {
        let opened = engine::open(&crate::chapters::text_of(MODULE)).expect("it can be read");
        let entries = log::entries(&opened, &opened.original);
        let first = entries.iter().find(|e| e.kind == Kind::Reuse).expect("something is squeezed in");
        assert_eq!(i64::try_from(first.at), Ok(LOG_AT), "{}", first.words);
    }
}
