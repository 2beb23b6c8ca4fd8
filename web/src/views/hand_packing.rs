//! Chapter 12's heap to be packed by hand: bands moved up and down with the pointer, with keys and with buttons.

use crate::figure::Figure;
use crate::optimum::{Found, Search};
use crate::packed_by_hand::{self, CASES, Game, Heap, Standing, above};
use crate::scene::svg::number;
use crate::scene::{PackingView, packing, packing_ceiling};
use crate::state::{Selection, State};
use crate::views::choose::OneOf;
use crate::views::plot::{change, paint, point, width_of};
use crate::views::searching::{SearchLine, Searching};
use crate::workbench::{Shared, Workbench, use_workbench};
use assigner::words::{bytes, grouped};
use leptos::ev::{Event, KeyboardEvent, PointerEvent};
use leptos::html::Div;
use leptos::prelude::*;
use leptos::svg::Svg;

/// A packing: its height, and the offset of each band.
type Best = (u64, Vec<u64>);

/// What the figure and the prose around it share.
#[derive(Clone, Copy)]
pub struct ByHand {
    wb: Workbench,
    /// The game as the state has it.
    pub game: Memo<Option<Game>>,
    standing: Memo<Option<Standing>>,
    searching: Searching<usize>,
    /// The packing that the search has proved to be the smallest.
    best: Memo<Option<Shared<Best>>>,
}

/// What a pointer holds: the band, where it took hold and the band's offset then; and the top of the picture meanwhile.
#[derive(Clone, Copy, PartialEq)]
struct Held {
    band: usize,
    from: f64,
    offset: u64,
    ceiling: u64,
}

impl ByHand {
    /// For the figure of that workbench; its optimum is searched for once it is awake, and anew for each heap.
    pub fn new(wb: Workbench) -> Self {
        let game = Memo::new(move |_| wb.state.with(Game::of));
        let standing = Memo::new(move |_| game.with(|g| Some(g.as_ref()?.standing())));
        let case = Memo::new(move |_| game.with(|g| g.as_ref().map_or(0, |g| g.case)));
        let searching = Searching::new();
        Effect::new(move |_| {
            let case = case.get();
            if wb.awake.get() {
                searching.begin(case, move || {
                    let heap = packed_by_hand::heap(case)?;
                    Search::of_one(&heap.problem, heap.fit.height)
                });
            }
        });
        let best = Memo::new(move |_| {
            let case = case.get();
            let found = searching.found(&case).filter(Found::is_proved)?;
            let offsets = searching.ask(&case, |s| Some(s.outcome()?.offsets))?;
            Some(Shared::new((found.height, offsets)))
        });
        let this = Self { wb, game, standing, searching, best };
        wb.say_with(move || this.said());
        this
    }

    /// The optimum in bytes, once it is proved.
    pub fn best_height(self) -> Option<u64> {
        self.best.with(|b| b.as_ref().map(|b| b.0))
    }

    /// Is the goal reached, and how do things stand?
    pub fn verdict(self) -> Option<(bool, String)> {
        self.game.with(|g| Some(g.as_ref()?.verdict(self.best_height())))
    }

    fn said(self) -> String {
        let sentence = self.game.with(|g| g.as_ref().map(|g| g.sentence(self.best_height())));
        let band = self.band().and_then(|n| {
            self.game.with(|g| {
                let g = g.as_ref()?;
                Some(format!("{}: {}. ", g.heap()?.bands[n].name, g.said(n)))
            })
        });
        format!("{}{}", band.unwrap_or_default(), sentence.unwrap_or_default())
    }

    fn heap(self) -> Option<&'static Heap> {
        self.game.with(|g| g.as_ref()?.heap())
    }

    /// The selected band.
    fn band(self) -> Option<usize> {
        let heap = self.heap()?;
        match self.wb.state.with(|s| s.selection) {
            Selection::Suggested => Some(heap.first_band()),
            Selection::Nothing => None,
            Selection::Value(n) => usize::try_from(n).ok().filter(|n| *n < heap.bands.len()),
        }
    }

    fn select(self, band: usize) {
        if untrack(|| self.band()) != Some(band) {
            self.wb.select(Some(band as u32));
        }
    }

    /// The next band in the list.
    fn step(self, by: isize) {
        let Some(heap) = untrack(|| self.heap()) else { return };
        let last = heap.bands.len().saturating_sub(1);
        let to = untrack(|| self.band()).map_or(0, |n| n.saturating_add_signed(by).min(last));
        self.select(to);
    }

    /// Puts bands elsewhere, as one entry of the history.
    fn set(self, next: &Game) {
        self.wb.set(next.put(&self.wb.state.get_untracked()));
    }

    /// Moves the selected band to where `to` says.
    fn put(self, to: impl FnOnce(&Game, usize) -> Option<u64>) {
        let (Some(game), Some(band)) = (self.game.get_untracked(), untrack(|| self.band())) else { return };
        if let Some(to) = to(&game, band) {
            self.set(&game.moved(band, to));
        }
    }

    fn to_edge(self, up: bool) {
        self.put(|g, n| g.next(n, &g.edges(n), up));
    }

    fn to_free(self, up: bool) {
        self.put(|g, n| g.next(n, &g.free_edges(n), up));
    }

    fn by_unit(self, up: bool) {
        self.put(|g, n| {
            let unit = g.heap()?.alignment;
            if up { g.offsets[n].checked_add(unit) } else { g.offsets[n].checked_sub(unit) }
        });
    }

    fn lowest(self) {
        self.put(|g, n| g.free_edges(n).first().copied());
    }

    /// The band that a hint speaks of.
    fn hinted(self) -> Option<(usize, u64)> {
        let band = usize::try_from(self.wb.state.with(|s| s.number("hint"))?).ok()?;
        self.best.with(|b| Some((band, *b.as_ref()?.1.get(band)?)))
    }

    fn hint(self) {
        let (Some(game), Some(best)) = (self.game.get_untracked(), self.best.get_untracked()) else { return };
        let before = untrack(|| self.hinted()).map(|(n, _)| n);
        if let Some(band) = game.hint(&best.1, before) {
            self.wb.update(|s| {
                s.view.insert("hint".to_owned(), (band as i64).into());
                s.selection = Selection::Value(band as u32);
            });
        }
    }

    fn hint_words(self) -> Option<String> {
        let (band, to) = self.hinted()?;
        self.game.with(|g| {
            let g = g.as_ref()?;
            let heap = g.heap()?;
            let there = if g.offsets.get(band) == Some(&to) { " It stands there now." } else { "" };
            Some(format!(
                "Hint: in one of the smallest packings, {} stands at {}.{there}",
                heap.label(band),
                grouped(to)
            ))
        })
    }

    /// Is the hinted band elsewhere?
    fn can_follow(self) -> bool {
        let hinted = self.hinted();
        self.game
            .with(|g| hinted.is_some_and(|(n, to)| g.as_ref().is_some_and(|g| g.offsets.get(n) != Some(&to))))
    }

    /// Puts the hinted band where the hint has it.
    fn follow(self) {
        if let (Some(game), Some((band, to))) = (self.game.get_untracked(), untrack(|| self.hinted())) {
            self.set(&game.moved(band, to));
        }
    }

    fn show_best(self) {
        if let (Some(game), Some(best)) = (self.game.get_untracked(), self.best.get_untracked()) {
            self.set(&game.with(&best.1, true));
        }
    }

    fn show(self, of: impl FnOnce(&Heap) -> Vec<u64>) {
        if let Some(game) = self.game.get_untracked()
            && let Some(heap) = game.heap()
        {
            self.set(&game.with(&of(heap), false));
        }
    }
}

/// The figure.
#[component]
pub fn HandPacking(
    /// What it shows.
    hand: ByHand,
    /// Its title.
    title: &'static str,
) -> impl IntoView {
    provide_context(hand);
    view! {
        <Figure
            wb=hand.wb
            title
            caption="Each band is a buffer: as high as it has bytes, as wide as it lives. Move the bands up and down until the heap is as low as it can be. Two that live together must not share a byte. Best fit's packing is what you begin with."
            reserve=[953, 1016, 1413]
            table=BandTable
        >
            <Board title />
        </Figure>
    }
}

#[component]
fn Board(title: &'static str) -> impl IntoView {
    let hand: ByHand = expect_context();
    let wb = use_workbench();
    let (plot, svg, grip) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new(), NodeRef::<Div>::new());
    let width = width_of(plot);
    let held = RwSignal::new(None::<Held>);
    let ceiling = move || {
        held.get().map_or_else(
            || {
                let top = hand.standing.with(|s| s.as_ref().map_or(0, |s| s.top));
                hand.heap().map_or(1, |heap| packing_ceiling(heap, top))
            },
            |h| h.ceiling,
        )
    };
    let layout = Memo::new(move |_| {
        let width = width.get();
        let game = hand.game.get().filter(|_| width > 0.0)?;
        let view = PackingView {
            game: &game,
            selected: hand.band(),
            hint: hand.hinted(),
            best: hand.best_height(),
            ceiling: ceiling(),
        };
        packing(&view, width).map(Shared::new)
    });
    paint(wb, title, svg, layout, |p| &p.scene);
    let at = move |x: f64, y: f64, slack: f64| layout.with_untracked(|l| l.as_ref()?.at(x, y, slack));
    let frame = move || layout.with(|l| l.as_ref()?.frame(hand.band()?));
    let is_grip = move |e: &PointerEvent| {
        let target = e.target().map(wasm_bindgen::JsValue::from);
        grip.get_untracked().is_some_and(|g| target.as_ref() == Some(g.as_ref()))
    };
    let down = move |e: PointerEvent| {
        if e.button() != 0 {
            return;
        }
        let Some((x, y)) = point(&e, plot) else { return };
        let is_touch = e.pointer_type() == "touch";
        let under = at(x, y, if is_touch { 12.0 } else { 4.0 });
        // A finger moves what was chosen before, so that the page can still be scrolled over the picture.
        let band = if is_grip(&e) && (is_touch || under.is_none()) {
            untrack(|| hand.band())
        } else {
            under.filter(|_| !is_touch)
        };
        let (Some(band), Some(game)) = (band, hand.game.get_untracked()) else { return };
        let ceiling = untrack(ceiling);
        hand.select(band);
        held.set(Some(Held { band, from: y, offset: game.offsets[band], ceiling }));
        if let Some(plot) = plot.get_untracked() {
            _ = plot.set_pointer_capture(e.pointer_id());
        }
        if let Some(grip) = grip.get_untracked() {
            let options = web_sys::FocusOptions::new();
            options.set_prevent_scroll(true);
            _ = grip.focus_with_options(&options);
        }
        e.prevent_default();
    };
    let moved = move |e: PointerEvent| {
        let Some((x, y)) = point(&e, plot) else { return };
        let Some(h) = held.get_untracked() else {
            return change(wb.hover, at(x, y, 4.0).map(|n| n as u32));
        };
        let (Some(game), Some(layout)) = (hand.game.get_untracked(), layout.get_untracked()) else { return };
        let to = h.offset as f64 + layout.bytes_of(h.from - y);
        // Not out of the picture: that is what keys and buttons are for.
        let most = game.heap().map_or(0, |heap| h.ceiling.saturating_sub(heap.bands[h.band].size));
        let to = game.snapped(h.band, to.min(most as f64), layout.bytes_of(7.0)).min(most);
        wb.preview(game.moved(h.band, to).put(&wb.state.get_untracked()));
    };
    let up = move |_: PointerEvent| {
        if held.get_untracked().is_some() {
            held.set(None);
            wb.settle();
        }
    };
    // A tap chooses; what it hits is chosen by then where there is a mouse.
    let clicked = move |e: leptos::ev::MouseEvent| {
        let Some((x, y)) = point(&e, plot) else { return };
        if let Some(band) = at(x, y, 12.0) {
            hand.select(band);
        }
    };
    let key = move |e: KeyboardEvent| {
        if e.ctrl_key() || e.meta_key() || e.alt_key() {
            return;
        }
        match (e.key().as_str(), e.shift_key()) {
            ("ArrowUp", true) => hand.by_unit(true),
            ("ArrowDown", true) => hand.by_unit(false),
            ("ArrowUp", false) => hand.to_edge(true),
            ("ArrowDown", false) => hand.to_edge(false),
            ("PageUp", _) => hand.to_free(true),
            ("PageDown", _) => hand.to_free(false),
            ("Home", _) => hand.put(|_, _| Some(0)),
            ("End", _) => hand.put(|g, n| g.edges(n).last().copied()),
            ("ArrowLeft", _) => hand.step(-1),
            ("ArrowRight", _) => hand.step(1),
            _ => return,
        }
        e.prevent_default();
    };
    let name = move || {
        let band = hand.band()?;
        hand.heap().map(|heap| heap.label(band))
    };
    let offset = move || hand.game.with(|g| Some(g.as_ref()?.offsets[hand.band()?]));
    let is_none = move || hand.band().is_none();
    let is_lowest = move || offset().unwrap_or(0) == 0;
    let is_searched = move || hand.best.with(Option::is_some);
    let is_fit = move || {
        hand.game.with(|g| g.as_ref().is_some_and(|g| g.heap().is_some_and(|h| h.fit.offsets == g.offsets)))
    };
    let case =
        Signal::derive(move || hand.game.with(|g| g.as_ref().map_or(CASES[0].id, |g| CASES[g.case].id)));
    let about = move || CASES.iter().find(|c| c.id == case.get()).map(|c| c.about);
    let choose = Callback::new(move |id: String| {
        let Some(game) = CASES.iter().position(|c| c.id == id).and_then(Game::new) else { return };
        let now = wb.state.get_untracked();
        let mut next = State { selection: Selection::Suggested, ..game.put(&now) };
        next.view.remove("hint");
        wb.set(next);
    });
    let pick = move |e: Event| {
        if let Ok(band) = event_target_value(&e).parse() {
            hand.select(band);
        }
    };
    let options = Memo::new(move |_| {
        let heap = hand.heap();
        let labels =
            heap.map(|h| (0..h.bands.len()).map(|n| format!("{}, {}", h.label(n), bytes(h.bands[n].size))));
        labels.map_or_else(Vec::new, |l| l.enumerate().collect::<Vec<_>>())
    });
    let unit = move || hand.heap().map_or(1, |h| h.alignment);
    let sentence = move || hand.game.with(|g| g.as_ref().map(|g| g.sentence(hand.best_height())));
    let between = Signal::derive(move || hand.heap().map_or((0, 1), |h| (h.floor, h.fit.height)));
    let left = move |n: usize| move || frame().map(|f| format!("{}px", number(f[n])));
    view! {
        <div
            class="by-hand"
            data-case=move || case.get()
            data-height=move || hand.standing.with(|s| s.as_ref().map(|s| s.height.map_or_else(|| "none".to_owned(), |h| h.to_string())))
            data-best=move || hand.best_height().map(|b| b.to_string())
            data-offsets=move || hand.game.with(|g| g.as_ref().map(|g| g.offsets.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")))
        >
            <div class="gap-controls">
                <OneOf
                    label="Heap"
                    options=CASES.iter().map(|c| (c.id, c.title.to_owned())).collect()
                    now=case
                    choose
                />
                <div class="field chooser">
                    <label>
                        "Band"
                        <select on:change=pick>
                            <For each=move || options.get() key=Clone::clone let((n, label))>
                                <option value=n.to_string() prop:selected=move || hand.band() == Some(n)>
                                    {label}
                                </option>
                            </For>
                        </select>
                    </label>
                    <button type="button" aria-label="Band before" on:click=move |_| hand.step(-1)>
                        "‹"
                    </button>
                    <button type="button" aria-label="Next band" on:click=move |_| hand.step(1)>
                        "›"
                    </button>
                </div>
                <p class="quiet">{about}</p>
            </div>
            <p class="answer" class:wrong=move || hand.standing.with(|s| s.as_ref().is_some_and(|s| s.height.is_none()))>
                {sentence}
            </p>
            <div class="packing" class:held=move || held.get().is_some()>
                <div
                    class="plot"
                    node_ref=plot
                    on:pointerdown=down
                    on:pointermove=moved
                    on:pointerup=up
                    on:pointercancel=up
                    on:pointerleave=move |_| change(wb.hover, None)
                    on:click=clicked
                >
                    <svg node_ref=svg role="img" aria-label=move || sentence().unwrap_or_default()></svg>
                    <div
                        class="grip"
                        class:none=is_none
                        node_ref=grip
                        role="slider"
                        tabindex=move || if is_none() { "-1" } else { "0" }
                        aria-orientation="vertical"
                        aria-label=move || format!("Offset of {}", name().unwrap_or_default())
                        aria-valuemin="0"
                        aria-valuemax=move || hand.heap().map(|h| h.ceiling().to_string())
                        aria-valuenow=move || offset().unwrap_or(0).to_string()
                        aria-valuetext=move || hand.game.with(|g| Some(g.as_ref()?.said(hand.band()?)))
                        style:left=left(0)
                        style:top=left(1)
                        style:width=left(2)
                        style:height=left(3)
                        on:keydown=key
                    ></div>
                </div>
            </div>
            <div class="moves" role="group" aria-label="Move the band">
                <button type="button" disabled=is_none on:click=move |_| hand.to_edge(true)>"Up to the next edge"</button>
                <button type="button" disabled=move || is_none() || is_lowest() on:click=move |_| hand.to_edge(false)>
                    "Down to the next edge"
                </button>
                <button type="button" disabled=is_none on:click=move |_| hand.lowest()>"Lowest free place"</button>
                <button
                    type="button"
                    disabled=is_none
                    aria-label=move || format!("Up by {}", bytes(unit()))
                    on:click=move |_| hand.by_unit(true)
                >
                    {move || format!("+{}", bytes(unit()))}
                </button>
                <button
                    type="button"
                    disabled=move || is_none() || is_lowest()
                    aria-label=move || format!("Down by {}", bytes(unit()))
                    on:click=move |_| hand.by_unit(false)
                >
                    {move || format!("−{}", bytes(unit()))}
                </button>
            </div>
            <p class="keys quiet">
                "Drag a band, or choose one and use the keys: ↑ ↓ to the next edge, Shift for one unit, Page up and down to the next free place, ← → to another band. A finger first chooses a band, then moves it."
            </p>
            <div class="moves" role="group" aria-label="Show a packing">
                <button type="button" disabled=is_fit on:click=move |_| hand.show(|h| h.fit.offsets.clone())>
                    "Show best fit"
                </button>
                <button type="button" on:click=move |_| hand.show(|h| h.merge.offsets.clone())>"Show fast merge"</button>
                <button type="button" on:click=move |_| hand.show(|h| h.split.offsets.clone())>"Show fast split"</button>
                <button type="button" on:click=move |_| hand.show(Heap::apart)>"Each at its own addresses"</button>
                <button type="button" disabled=move || !is_searched() on:click=move |_| hand.hint()>"Hint: one band"</button>
                <button type="button" disabled=move || !is_searched() on:click=move |_| hand.show_best()>
                    "Show the optimum"
                </button>
            </div>
            <div class="hint-line">
                <p class="hint-words" role="status">{move || hand.hint_words()}</p>
                <button type="button" disabled=move || !hand.can_follow() on:click=move |_| hand.follow()>
                    "Put it there"
                </button>
            </div>
            <Heights />
            <SearchLine searching=hand.searching between />
        </div>
    }
}

/// What each packer takes, beside the floor, the optimum and the reader's own.
#[component]
fn Heights() -> impl IntoView {
    let hand: ByHand = expect_context();
    let rows = move || {
        let heap = hand.heap()?;
        let best = hand.best_height();
        let mut rows = vec![("Alive at once: nothing is smaller".to_owned(), Some(heap.floor), "")];
        rows.push(("The optimum".to_owned(), best, ""));
        for p in [&heap.fit, &heap.merge, &heap.split] {
            rows.push((packed_by_hand::name(p.algorithm).to_owned(), Some(p.height), ""));
        }
        let height = hand.standing.with(|s| s.as_ref().and_then(|s| s.height));
        rows.push(("Yours".to_owned(), height, "yours"));
        let row = |(name, height, class): (String, Option<u64>, &'static str)| {
            let missing = if class == "yours" { "no packing" } else { "being searched" };
            let against = height.zip(best).map(|(h, b)| above(h, b));
            view! {
                <tr class=class>
                    <th scope="row">{name}</th>
                    <td class="n">{height.map_or_else(|| missing.to_owned(), bytes)}</td>
                    <td class="n">{against}</td>
                </tr>
            }
        };
        Some(rows.into_iter().map(row).collect_view())
    };
    view! {
        <table class="heights">
            <caption class="hidden">"The height of each packing of this heap"</caption>
            <thead>
                <tr>
                    <th scope="col">"Packing"</th>
                    <th scope="col" class="n">"Heap"</th>
                    <th scope="col" class="n">"Against the optimum"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}

/// The figure as a table.
#[component]
fn BandTable() -> impl IntoView {
    let hand: ByHand = expect_context();
    let rows = move || {
        let game = hand.game.get()?;
        let heap = game.heap()?;
        let row = |n: usize| {
            let band = &heap.bands[n];
            let lives = band.runs.iter().map(|(from, to)| {
                if from == to { (from + 1).to_string() } else { format!("{} to {}", from + 1, to + 1) }
            });
            let others = game.overlaps(n, game.offsets[n]);
            let others: Vec<&str> = others.iter().map(|o| heap.bands[*o].name.as_str()).collect();
            view! {
                <tr>
                    <th scope="row" class="code">{heap.label(n)}</th>
                    <td class="n">{grouped(band.size)}</td>
                    <td>{lives.collect::<Vec<_>>().join(", ")}</td>
                    <td class="n">{grouped(game.offsets[n])}</td>
                    <td class="n">{grouped(game.offsets[n] + band.size)}</td>
                    <td>{others.join(", ")}</td>
                </tr>
            }
        };
        Some((0..heap.bands.len()).map(row).collect_view())
    };
    view! {
        <table>
            <caption>"Bands, in bytes. Columns are counted from 1."</caption>
            <thead>
                <tr>
                    <th scope="col">"Band"</th>
                    <th scope="col" class="n">"Bytes"</th>
                    <th scope="col">"Alive in columns"</th>
                    <th scope="col" class="n">"Offset"</th>
                    <th scope="col" class="n">"End"</th>
                    <th scope="col">"Overlaps"</th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
    }
}
