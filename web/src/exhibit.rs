//! The signature exhibit: live ranges, the heap they are packed into, and what a pulled end does.

use crate::breaking;
use crate::editor::Editor;
use crate::modules::{SHIPPED, shipped};
use crate::scene::{self, HeapLayout, SlabKind, Spot, Timeline, TimelineOptions};
use crate::state::{End, Source, State};
use crate::story;
use crate::views::chart::{self, Ink};
use crate::views::plot::{Cursor, at_pointer, change, leave, paint, point, scale_of, width_of};
use crate::workbench::{Shared, Thresholds, Workbench, use_workbench};
use assigner::words::{bytes, grouped};
use leptos::ev::{Event, KeyboardEvent, PointerEvent};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use leptos::svg::Svg;
use sorts::Arrange as _;
use wasm_bindgen::JsCast as _;
use web_sys::HtmlElement;

/// The exhibit.
#[component]
pub fn Exhibit() -> impl IntoView {
    let wb = use_workbench();
    let name = move || {
        let selected = wb.selected.get()?;
        wb.opened.with(|o| Some(o.as_ref()?.original.picture.item(selected)?.name.clone()))
    };
    view! {
        <div class="exhibit" class:stale=move || wb.is_stale()>
            <Toolbar />
            <p class="task">
                {move || match name() {
                    Some(name) => {
                        let (before, after) = wb.thresholds.with(|t| story::task(&t.end, &t.start));
                        view! { {before} <span class="code">{name}</span> {after} }.into_any()
                    }
                    None => "Choose a value, then pull either end of its live range.".into_any(),
                }}
            </p>
            <Card />
            <div class="figures">
                <TimelineFigure />
                <div class="side">
                    <HeapFigure />
                    <CurveFigure />
                    <Slabs />
                </div>
            </div>
            <Controls />
            <Readout />
            <Legend />
            <Editor />
            <Tip />
        </div>
    }
}

#[component]
fn Toolbar() -> impl IntoView {
    let wb = use_workbench();
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
            wb.set(State {
                all_rows: shipped(&id).is_some_and(|m| m.all_rows),
                table: old.table,
                text: old.text,
                ..wb.with_source(Source::Shipped(id))
            });
        }
    };
    let about = move || match shipped(&id()) {
        Some(module) => module.about,
        None => "Your own text.",
    };
    let select_id = format!("{}-module", wb.id);
    view! {
        <div class="toolbar">
            <div class="choose">
                <label for=select_id.clone()>"Module"</label>
                <select id=select_id on:change=choose prop:value=id>
                    {SHIPPED
                        .iter()
                        .map(|m| {
                            view! {
                                <option value=m.id selected=move || id() == m.id>
                                    {m.title}
                                </option>
                            }
                        })
                        .collect_view()}
                    <option value="own" disabled=move || id() != "own" selected=move || id() == "own">
                        "Your own text"
                    </option>
                </select>
            </div>
            <p class="about">{about}</p>
        </div>
    }
}

#[component]
fn Card() -> impl IntoView {
    let wb = use_workbench();
    let why = move || {
        let run = wb.run.get()?;
        wb.selected.get().map(|v| story::why(&run, v))
    };
    let stale = move || {
        let wrong = wb.problems.with(|p| p.iter().any(|p| p.is_error));
        match (wrong, wb.opened.with(Option::is_some)) {
            (false, _) => "Loading the module…",
            (true, true) => "The text cannot be read; this is the last picture that could be drawn.",
            (true, false) => "The text cannot be read; what is wrong stands under it, line by line.",
        }
    };
    let peak = move || wb.run.get().map(|run| story::peak(&run));
    let number = |pick: fn(&crate::engine::Run) -> u64| {
        move || wb.run.with(|r| r.as_ref().map_or(0, |r| pick(r))).to_string()
    };
    view! {
        <div
            class="card"
            data-heap=number(|r| r.picture.heap_size())
            data-temp=number(|r| r.picture.temp_bytes)
            data-total=number(|r| r.picture.total_bytes)
            data-floor=number(|r| r.curve.floor)
        >
            <div class="told">
                {move || match wb.outcome.get() {
                    Some(o) => {
                        view! {
                            <p class="deed">
                                <strong>{o.deed}</strong>
                                " "
                                <span
                                    class="delta"
                                    class:up=o.direction.is_gt()
                                    class:down=o.direction.is_lt()
                                >
                                    {o.difference}
                                </span>
                            </p>
                            <p>{o.rest}</p>
                        }
                            .into_any()
                    }
                    None => view! { <p>{why}</p> }.into_any(),
                }}
                <Show when=move || wb.is_stale()>
                    <p class="stale-note">{stale}</p>
                </Show>
            </div>
            <p class="peak-words">{peak}</p>
        </div>
    }
}

/// The value, its ends, and the steps at which a sharing breaks: all that dragging does, without dragging.
#[component]
fn Controls() -> impl IntoView {
    let wb = use_workbench();
    let options = Memo::new(move |_| {
        wb.opened.with(|o| {
            let picture = o.as_ref().map(|o| &o.original.picture);
            let all = wb.state.with(|s| s.all_rows);
            let mut items: Vec<_> = picture
                .into_iter()
                .flat_map(|p| p.items.iter().filter(move |i| all || p.is_temp(i)))
                .collect();
            items.arrange_by_key(|i| (i.start, i.end, i.value));
            items.iter().map(|i| (i.value, i.name.clone())).collect::<Vec<_>>()
        })
    });
    let choose = move |e: Event| wb.select(event_target_value(&e).parse().ok());
    let breaks = move || {
        let Some(value) = wb.selected.get() else { return Vec::new() };
        let Thresholds { start, end } = wb.thresholds.get();
        let of = |list: Vec<crate::engine::Threshold>, which: End, most: usize| {
            list.into_iter().take(most).map(move |t| (value, which, t)).collect::<Vec<_>>()
        };
        let mut all = of(end, End::End, 3);
        all.extend(of(start, End::Start, 2));
        all
    };
    view! {
        <div class="controls">
            <div class="ends">
                <label class="field">
                    "Value"
                    <select on:change=choose>
                        <option value="" selected=move || wb.selected.get().is_none()>
                            "none"
                        </option>
                        <For each=move || options.get() key=Clone::clone let((value, name))>
                            <option
                                value=value.to_string()
                                selected=move || wb.selected.get() == Some(value)
                            >
                                {name}
                            </option>
                        </For>
                    </select>
                </label>
                <Stepper end=End::Start />
                <Stepper end=End::End />
            </div>
            <div class="breaking">
            <span id="breaks-title">
                {move || {
                    if breaks().is_empty() { "No sharing to break" } else { "A sharing breaks at" }
                }}
            </span>
            <ul class="breaks" aria-labelledby="breaks-title">
                {move || {
                    breaks()
                        .into_iter()
                        .map(|(value, which, t)| {
                            let step = t.step;
                            let verb = if which == End::End { "end" } else { "start" };
                            let label = format!("{verb} {step} · {}", assigner::words::list(&t.with, 1));
                            let first = t.first;
                            let go = move |_| {
                                wb.move_end(value, which, i64::from(step));
                                wb.settle();
                            };
                            view! {
                                <li>
                                    <button
                                        type="button"
                                        class="break"
                                        title=t.words
                                        on:click=go
                                        on:pointerenter=move |_| change(wb.hover, Some(first))
                                        on:pointerleave=move |_| change(wb.hover, None)
                                    >
                                        {label}
                                    </button>
                                </li>
                            }
                        })
                        .collect_view()
                }}
            </ul>
            </div>
        </div>
    }
}

/// Are the steps at which a sharing breaks shown on all rows?
fn shows_ticks(wb: Workbench) -> bool {
    wb.state.with(|s| s.number("ticks") == Some(1))
}

/// Shows them, or no longer.
#[component]
fn TicksSwitch() -> impl IntoView {
    let wb = use_workbench();
    let turn = move |e: Event| {
        if event_target_checked(&e) {
            wb.set_view("ticks", 1);
        } else {
            wb.clear_view("ticks");
        }
    };
    view! {
        <label class="switch">
            <input type="checkbox" prop:checked=move || shows_ticks(wb) on:change=turn />
            "breaks on every row"
        </label>
    }
}

/// The range of the selected value as it is now.
fn range(wb: Workbench) -> Option<(u32, u32, u32)> {
    let value = wb.selected.get()?;
    wb.run.with(|r| r.as_ref()?.picture.item(value).map(|i| (value, i.start, i.end)))
}

#[component]
fn Stepper(end: End) -> impl IntoView {
    let wb = use_workbench();
    let at =
        move || range(wb).map(|(value, start, stop)| (value, if end == End::Start { start } else { stop }));
    let nudge = move |by: i64| {
        if let Some((value, at)) = at() {
            wb.move_end(value, end, i64::from(at) + by);
            wb.settle();
        }
    };
    let typed = move |e: Event| {
        if let (Some((value, _)), Ok(to)) = (at(), event_target_value(&e).parse::<i64>()) {
            wb.move_end(value, end, to);
            wb.settle();
        }
    };
    let none = move || wb.selected.get().is_none();
    let (name, less, more) = match end {
        End::Start => ("Start", "Start one step earlier", "Start one step later"),
        End::End => ("End", "End one step earlier", "End one step later"),
    };
    view! {
        <div class="field stepper">
            <label>
                {name}
                <input
                    type="number"
                    inputmode="numeric"
                    min="0"
                    disabled=none
                    prop:value=move || at().map(|(_, n)| n.to_string()).unwrap_or_default()
                    on:change=typed
                />
            </label>
            <button type="button" aria-label=less disabled=none on:click=move |_| nudge(-1)>
                "−"
            </button>
            <button type="button" aria-label=more disabled=none on:click=move |_| nudge(1)>
                "+"
            </button>
        </div>
    }
}

fn lost(wb: Workbench) -> Vec<u32> {
    wb.outcome.with(|o| o.as_ref().map(|o| o.lost.clone()).unwrap_or_default())
}

/// What is under the pointer, beside it; while an end is pulled, where it is and what that costs. For the eye only: the
/// handle, the table and the live region say the same.
#[component]
fn Tip() -> impl IntoView {
    let wb = use_workbench();
    let words = Memo::new(move |_| {
        wb.pointer.get()?;
        let run = wb.run.get()?;
        if let Some(end) = wb.dragging.get() {
            let at = story::handle(&run.picture, run.picture.item(wb.selected.get()?)?, end);
            let cost = wb.outcome.get().map_or_else(|| "±0 B".to_owned(), |o| o.difference);
            return Some((at, cost));
        }
        match wb.hover.get() {
            Some(value) => story::tip(&run.picture, value),
            None => {
                let place = wb.place.get();
                let step = story::step(&run, wb.cursor.get()?);
                Some((step, place))
            }
        }
    });
    let place = move || {
        let (x, y) = wb.pointer.get().unwrap_or_default();
        let width = window().inner_width().ok().and_then(|w| w.as_f64()).unwrap_or(1000.0);
        // On the side where there is more room; above the hand, and above what is said beside a range that is pulled.
        let up = if wb.dragging.get().is_some() { 38 } else { 12 };
        if x > width / 2.0 {
            format!("translate(calc({x:.0}px - 100% - 14px), calc({y:.0}px - 100% - {up}px))")
        } else {
            format!("translate({:.0}px, calc({y:.0}px - 100% - {up}px))", x + 14.0)
        }
    };
    view! {
        <div class="tip" aria-hidden="true" class:gone=move || words.get().is_none() style:transform=place>
            <b>{move || words.get().map(|w| w.0)}</b>
            <span>{move || words.get().map(|w| w.1)}</span>
        </div>
    }
}

#[component]
fn TimelineFigure() -> impl IntoView {
    let wb = use_workbench();
    let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
    let width = width_of(plot);
    // Of all rows only when they are asked for, and not while an end is on its way.
    let ticks = Memo::new(move |was: Option<&Option<Vec<(u32, u32)>>>| {
        if !shows_ticks(wb) {
            return None;
        }
        if wb.dragging.get().is_some() {
            return was.cloned().flatten();
        }
        Some(breaking::ticks(&*wb.opened.get()?, &*wb.run.get()?))
    });
    let layout = Memo::new(move |_| {
        let (opened, run) = (wb.opened.get()?, wb.run.get()?);
        let width = width.get();
        let said = |list: &[crate::engine::Threshold]| {
            list.iter()
                .map(|t| {
                    let (label, short) = story::threshold(t);
                    scene::Threshold { step: t.step, label, short }
                })
                .collect::<Vec<_>>()
        };
        let Thresholds { start, end } = wb.thresholds.get();
        let (at_start, at_end) = (said(&start), said(&end));
        let lost = lost(wb);
        let options = TimelineOptions {
            width,
            lost: &lost,
            all_rows: wb.state.with(|s| s.all_rows),
            selected: wb.selected.get(),
            at_end: &at_end,
            at_start: &at_start,
            peak: run.curve.peak(),
        };
        (width > 0.0).then(|| {
            let mut timeline = scene::timeline(&opened.original.picture, &run.picture, options);
            if let Some(ticks) = ticks.get() {
                timeline.add_ticks(&ticks, options.selected);
            }
            Shared::new(timeline)
        })
    });
    paint(wb, "Live ranges", svg, layout, |t: &Timeline| &t.scene);

    // A row selected elsewhere is brought into view.
    let scroller = NodeRef::<Div>::new();
    let row = Memo::new(move |_| layout.get()?.row_of(wb.selected.get()?));
    Effect::new(move |_| {
        let (Some(row), Some(scroller)) = (row.get(), scroller.get()) else { return };
        let (top, height) = (f64::from(scroller.scroll_top()), f64::from(scroller.client_height()));
        if row < top + 20.0 || row > top + height - 40.0 {
            scroller.set_scroll_top((row - height / 2.0).max(0.0) as i32);
        }
    });

    // Which end is being dragged; where in the window the pointer took hold and where in the figure that end was; how much
    // larger than drawn the figure is. Asking where it is at every move would make the browser lay out the page first.
    let held = RwSignal::new(None::<(u32, End, (f64, f64), f64)>);
    let down = move |e: PointerEvent| {
        if e.button() != 0 {
            return;
        }
        let (Some(layout), Some((x, y)), Some(run)) =
            (layout.get_untracked(), point(&e, plot), wb.run.get_untracked())
        else {
            return;
        };
        let Some((value, grip)) = layout.grip(&run.picture, wb.selected.get_untracked(), x, y) else {
            return;
        };
        if wb.selected.get_untracked() != Some(value) {
            wb.select(Some(value));
        }
        if let Some((end, offset)) = grip {
            let scale = plot.get_untracked().map_or(1.0, |p| scale_of(&p));
            held.set(Some((value, end, (f64::from(e.client_x()), x - offset), scale)));
            wb.dragging.set(Some(end));
            e.prevent_default();
            if let Some(element) = plot.get_untracked() {
                _ = element.set_pointer_capture(e.pointer_id());
                let class = if end == End::Start { ".handle.start" } else { ".handle.end" };
                if let Ok(Some(handle)) = element.query_selector(class) {
                    _ = handle.unchecked_into::<HtmlElement>().focus();
                }
            }
        }
    };
    let moved = move |e: PointerEvent| {
        at_pointer(wb, &e);
        let (Some(layout), Some(run)) = (layout.get_untracked(), wb.run.get_untracked()) else { return };
        if let Some((value, end, (from, was), scale)) = held.get_untracked() {
            let x = was + (f64::from(e.client_x()) - from) / scale;
            let to = match end {
                End::Start => layout.steps.start_near(x),
                End::End => layout.steps.end_near(x),
            };
            wb.move_end(value, end, to);
            change(wb.hover, None);
            change(wb.cursor, None);
            return;
        }
        let Some((x, y)) = point(&e, plot) else { return };
        change(wb.hover, layout.value_at(&run.picture, x, y));
        change(wb.cursor, layout.steps.at(x));
        change(wb.place, String::new());
    };
    let up = move |_: PointerEvent| {
        if held.get_untracked().is_some() {
            held.set(None);
            wb.dragging.set(None);
            change(wb.pointer, None);
            wb.settle();
        }
    };
    let cursor = Signal::derive(move || Some(layout.get()?.steps.middle(wb.cursor.get()?)));
    let count = move || layout.get().map_or(0, |l| l.rows.len());
    let describe = move || {
        let steps = wb.run.get().map_or(0, |r| r.picture.last());
        format!("Live ranges of {} buffers over {steps} steps. The table holds the same.", count())
    };
    let all = move || wb.state.with(|s| s.all_rows);
    view! {
        <figure class="timeline">
            <figcaption>
                <b>"Live ranges"</b>
                "a row a buffer, steps across, closed at both ends"
                <label class="switch">
                    <input
                        type="checkbox"
                        prop:checked=all
                        on:change=move |e| wb.update(|s| s.all_rows = event_target_checked(&e))
                    />
                    "parameters and results too"
                </label>
                <TicksSwitch />
            </figcaption>
            <div class="scroll" node_ref=scroller tabindex="0" role="group" aria-label="Timeline">
                <div
                    class="plot"
                    node_ref=plot
                    class:dragging=move || wb.dragging.get().is_some()
                    on:pointerdown=down
                    on:pointermove=moved
                    on:pointerup=up
                    on:pointercancel=up
                    on:pointerleave=move |_| leave(wb)
                >
                    <svg node_ref=svg role="img" aria-label=describe></svg>
                    <Cursor x=cursor />
                    <Show when=move || wb.selected.get().is_some()>
                        <div
                            role="group"
                            class="handles"
                            aria-label=move || format!("Live range of {}", selected_name(wb))
                        >
                            <Handle end=End::Start layout />
                            <Handle end=End::End layout />
                        </div>
                    </Show>
                </div>
            </div>
        </figure>
    }
}

fn selected_name(wb: Workbench) -> String {
    wb.selected
        .get()
        .and_then(|v| wb.run.with(|r| Some(r.as_ref()?.picture.item(v)?.name.clone())))
        .unwrap_or_default()
}

/// One end of the selected range, as a slider.
#[component]
fn Handle(end: End, layout: Memo<Option<Shared<Timeline>>>) -> impl IntoView {
    let wb = use_workbench();
    let last = move || wb.run.get().map_or(0, |r| r.picture.last());
    let bounds = move || {
        let (_, start, stop) = range(wb)?;
        Some(match end {
            End::Start => (0, start, stop),
            End::End => (start, stop, last()),
        })
    };
    let text = move || {
        let value = wb.selected.get()?;
        let run = wb.run.get()?;
        Some(story::handle(&run.picture, run.picture.item(value)?, end))
    };
    let place = move || {
        let (value, start, stop) = range(wb)?;
        let layout = layout.get()?;
        let x = match end {
            End::Start => layout.steps.x(start),
            End::End => layout.steps.after(stop),
        };
        Some((x, layout.row_of(value)? + layout.row_height / 2.0))
    };
    let key = move |e: KeyboardEvent| {
        let Some((low, now, high)) = bounds() else { return };
        let (low, now, high) = (i64::from(low), i64::from(now), i64::from(high));
        let to = match e.key().as_str() {
            "ArrowLeft" | "ArrowDown" => now - 1,
            "ArrowRight" | "ArrowUp" => now + 1,
            "PageDown" => now - 10,
            "PageUp" => now + 10,
            "Home" => low,
            "End" => high,
            _ => return,
        };
        e.prevent_default();
        if let Some(value) = wb.selected.get_untracked() {
            wb.move_end(value, end, to);
        }
    };
    let (class, name) = match end {
        End::Start => ("handle start", "Start"),
        End::End => ("handle end", "End"),
    };
    view! {
        <div
            class=class
            role="slider"
            tabindex="0"
            aria-orientation="horizontal"
            aria-label=move || format!("{name} of {}", selected_name(wb))
            aria-valuemin=move || bounds().map(|b| b.0.to_string())
            aria-valuenow=move || bounds().map(|b| b.1.to_string())
            aria-valuemax=move || bounds().map(|b| b.2.to_string())
            aria-valuetext=text
            class:gone=move || place().is_none()
            style:left=move || format!("{:.1}px", place().map_or(0.0, |p| p.0))
            style:top=move || format!("{:.1}px", place().map_or(0.0, |p| p.1))
            on:keydown=key
            on:keyup=move |_| wb.settle()
            on:blur=move |_| wb.settle()
        ></div>
    }
}

/// Height of the curve in CSS pixels.
const CURVE: f64 = 64.0;

#[component]
fn CurveFigure() -> impl IntoView {
    let wb = use_workbench();
    let palette = expect_context::<browser::Palette>();
    let (plot, canvas) = (NodeRef::<Div>::new(), NodeRef::<Canvas>::new());
    let width = width_of(plot);
    let steps = Memo::new(move |_| {
        let (opened, run) = (wb.opened.get()?, wb.run.get()?);
        let width = width.get();
        (width > 0.0).then(|| HeapLayout::steps_for(width, &opened.original.picture, &run.picture))
    });
    // Asking for computed styles makes the browser lay out whatever changed: once a palette, and not at each step of a pull.
    let ink = Memo::new(move |_| {
        palette.0.track();
        let root = document().document_element()?;
        let style = window().get_computed_style(&root).ok()??;
        let token = |name: &str| chart::colour(&style.get_property_value(name).unwrap_or_default());
        Some(Ink {
            area: token("--curve-area"),
            line: token("--curve-line"),
            floor: token("--floor"),
            heap: token("--accent"),
        })
    });
    Effect::new(move |_| {
        let (Some(canvas), Some(run), Some(opened), Some(steps), Some(ink)) =
            (canvas.get(), wb.run.get(), wb.opened.get(), steps.get(), ink.get())
        else {
            return;
        };
        let before = opened.original.picture.heap_size();
        let scale = window().device_pixel_ratio().clamp(1.0, 3.0);
        let size = (width.get_untracked(), CURVE);
        chart::draw(&canvas, &run.curve, before, &steps, size, scale, ink);
    });
    let cursor = Signal::derive(move || Some(steps.get()?.middle(wb.cursor.get()?)));
    let moved = move |e: PointerEvent| {
        at_pointer(wb, &e);
        if let (Some(steps), Some((x, _))) = (steps.get_untracked(), point(&e, plot)) {
            change(wb.cursor, steps.at(x));
            change(wb.hover, None);
        }
    };
    let words = move || {
        wb.run.get().map(|r| {
            let c = &r.curve;
            (bytes(c.assigned), bytes(c.floor), c.peak().map(|p| format!(" at step {p}")).unwrap_or_default())
        })
    };
    let describe = move || {
        words().map(|(heap, floor, at)| {
            format!("Bytes alive at each step: at most {floor}{at}. The heap takes {heap}.")
        })
    };
    view! {
        <figure class="curve">
            <figcaption>
                <b>"Live bytes"</b>
                {move || {
                    words()
                        .map(|(heap, floor, at)| {
                            view! {
                                <span class="key key-heap">{format!("heap {heap}")}</span>
                                <span class="key key-floor">{format!("floor {floor}{at}")}</span>
                            }
                        })
                }}
            </figcaption>
            <div class="plot" node_ref=plot on:pointermove=moved on:pointerleave=move |_| leave(wb)>
                <canvas node_ref=canvas role="img" aria-label=describe></canvas>
                <Cursor x=cursor />
            </div>
        </figure>
    }
}

#[component]
fn HeapFigure() -> impl IntoView {
    let wb = use_workbench();
    let (plot, svg) = (NodeRef::<Div>::new(), NodeRef::<Svg>::new());
    let width = width_of(plot);
    let layout = Memo::new(move |_| {
        let (opened, run) = (wb.opened.get()?, wb.run.get()?);
        let width = width.get();
        let height = if width < 420.0 { 260.0 } else { 340.0 };
        let (base, now) = (&opened.original.picture, &run.picture);
        (width > 0.0).then(|| {
            let (selected, peak) = (wb.selected.get(), run.curve.peak());
            Shared::new(scene::heap(base, now, (width, height), selected, &lost(wb), peak))
        })
    });
    paint(wb, "Heap", svg, layout, |l: &HeapLayout| &l.scene);
    let find = move |e: &PointerEvent| {
        let (layout, run) = (layout.get_untracked()?, wb.run.get_untracked()?);
        let (x, y) = point(e, plot)?;
        let (step, address) = layout.at(x, y)?;
        let slack = (2.0 / layout.scale) as u64;
        Some((step, scene::spot(&run.picture, step, address, slack)))
    };
    let moved = move |e: PointerEvent| {
        at_pointer(wb, &e);
        let (step, spot) = find(&e).map_or((None, None), |(step, spot)| (Some(step), spot));
        change(wb.cursor, step);
        change(
            wb.hover,
            match spot {
                Some(Spot::Value(v)) => Some(v),
                _ => None,
            },
        );
        let said = match spot {
            Some(Spot::Padding(v)) => wb.run.with_untracked(|r| {
                let item = r.as_ref().and_then(|r| r.picture.item(v));
                item.map_or_else(String::new, |i| {
                    format!("padding behind {}: the next place begins at a multiple of the alignment", i.name)
                })
            }),
            Some(Spot::Hole(from, to)) => {
                format!("hole of {}: {} to {} is free", bytes(to - from), grouped(from), grouped(to))
            }
            _ => String::new(),
        };
        change(wb.place, said);
    };
    let click = move |e: PointerEvent| {
        if let Some((_, Some(Spot::Value(v)))) = find(&e) {
            wb.select(Some(v));
        }
    };
    let cursor = Signal::derive(move || Some(layout.get()?.steps.middle(wb.cursor.get()?)));
    let describe = move || {
        wb.run.get().map(|r| {
            format!(
                "Addresses of {} temporary values in a heap of {}. The table holds the same.",
                r.picture.temps().count(),
                bytes(r.picture.heap_size())
            )
        })
    };
    let name = move || {
        let value = wb.selected.get()?;
        wb.run.with(|r| {
            let picture = &r.as_ref()?.picture;
            picture.item(value).filter(|i| picture.is_temp(i)).map(|i| i.name.clone())
        })
    };
    let moves = move || match layout.get().map_or(0, |l| l.moved) {
        0 => String::new(),
        1 => "1 moved".to_owned(),
        n => format!("{n} moved"),
    };
    view! {
        <figure class="heap">
            <figcaption>
                <b>"Heap"</b>
                {move || match name() {
                    Some(name) => format!("addresses upwards; shaded: the address of {name}"),
                    None => "addresses upwards, the same steps across".to_owned(),
                }}
                <span class="moves">{moves}</span>
            </figcaption>
            <div
                class="plot"
                class:dragging=move || wb.dragging.get().is_some()
                node_ref=plot
                on:pointermove=moved
                on:pointerdown=click
                on:pointerleave=move |_| leave(wb)
            >
                <svg node_ref=svg role="img" aria-label=describe></svg>
                <Cursor x=cursor />
            </div>
        </figure>
    }
}

#[component]
fn Slabs() -> impl IntoView {
    let wb = use_workbench();
    // Most moves change none of it.
    let rows = Memo::new(move |_| {
        let Some(run) = wb.run.get() else { return Vec::new() };
        let with_blocks = |row: scene::SlabRow| {
            let of = |(i, width): &(usize, u32)| {
                let slab = &run.picture.slabs[*i];
                (slab.id, *width, slab.size, slab.values.clone())
            };
            let blocks = row.blocks.iter().map(of).collect::<Vec<_>>();
            (row, blocks)
        };
        scene::slabs(&run.picture).into_iter().map(with_blocks).collect::<Vec<_>>()
    });
    view! {
        <figure class="slabs">
            <figcaption>
                <b>"All slabs"</b>
                " what the program asks for, by what it is for"
            </figcaption>
            <ul>
                {move || {
                    rows.get()
                        .into_iter()
                        .map(|(row, blocks)| {
                            let name = match (row.kind, row.count) {
                                (SlabKind::Temp, 1) => "temporaries".to_owned(),
                                (kind, 1) => kind.name().to_owned(),
                                (kind, n) => format!("{} × {n}", kind.name()),
                            };
                            view! {
                                <li>
                                    <span class="slab-name">{name}</span>
                                    <span class="slab-row">
                                        <span
                                            class="slab-length"
                                            style:width=format!("{:.1}%", f64::from(row.length) / 10.0)
                                        >
                                            {blocks
                                                .into_iter()
                                                .map(|(id, width, size, values)| {
                                                    let first = values.first().copied();
                                                    let lit = {
                                                        let values = values.clone();
                                                        move || wb.hover.get().is_some_and(|h| values.contains(&h))
                                                    };
                                                    let holds = move || {
                                                        wb.selected.get().is_some_and(|s| values.contains(&s))
                                                    };
                                                    view! {
                                                        <span
                                                            class="slab"
                                                            class:lit=lit
                                                            class:selected=holds
                                                            title=format!("allocation {id}, {}", bytes(size))
                                                            style:flex-grow=width.max(1).to_string()
                                                            on:pointerenter=move |_| {
                                                                if let Some(run) = wb.run.get_untracked() {
                                                                    change(wb.hover, first.filter(|v| run.picture.item(*v).is_some()));
                                                                }
                                                            }
                                                            on:pointerleave=move |_| leave(wb)
                                                        ></span>
                                                    }
                                                })
                                                .collect_view()}
                                        </span>
                                    </span>
                                    <span class="slab-bytes">{bytes(row.bytes)}</span>
                                </li>
                            }
                        })
                        .collect_view()
                }}
            </ul>
        </figure>
    }
}

/// One line for whatever is under the pointer, or else selected, with its line of the text.
#[component]
fn Readout() -> impl IntoView {
    let wb = use_workbench();
    let first = move || {
        let run = wb.run.get()?;
        let place = wb.place.get();
        match (wb.hover.get(), wb.cursor.get()) {
            (Some(value), _) => Some(story::value(&run.picture, value)),
            (None, Some(step)) if place.is_empty() => Some(story::step(&run, step)),
            (None, Some(step)) => Some(format!("{} · {place}", story::step(&run, step))),
            (None, None) => wb.selected.get().map(|v| story::value(&run.picture, v)),
        }
    };
    let at = Memo::new(move |_| {
        let run = wb.run.get()?;
        match (wb.hover.get(), wb.cursor.get()) {
            (Some(value), _) => Some(run.picture.item(value)?.line),
            (None, Some(step)) => Some(run.picture.steps.get(step as usize)?.line),
            (None, None) => Some(run.picture.item(wb.selected.get()?)?.line),
        }
    });
    let line = move || {
        let at = at.get()?;
        wb.text.with(|text| {
            let line = text.lines().nth(at.checked_sub(1)? as usize)?.trim();
            Some(format!("{at}  {}", line.chars().take(400).collect::<String>()))
        })
    };
    view! {
        <div class="readout">
            <p>{first}</p>
            <p class="code">{line}</p>
        </div>
    }
}

#[component]
fn Legend() -> impl IntoView {
    view! {
        <ul class="legend" aria-label="Legend">
            <li><span class="swatch bar"></span>"a value: alive in each column it covers"</li>
            <li><span class="swatch mate"></span>"at the selected value's address, another time"</li>
            <li><span class="swatch read"></span>"a read of the selected value"</li>
            <li><span class="swatch hole"></span>"free"</li>
            <li><span class="swatch pad"></span>"alignment padding"</li>
            <li><span class="swatch ghost"></span>"where it was"</li>
            <li><span class="swatch peak"></span>"peak"</li>
            <li><span class="swatch tick"></span>"a sharing breaks here"</li>
        </ul>
    }
}
