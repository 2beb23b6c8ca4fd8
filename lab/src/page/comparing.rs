//! Two dumps side by side: their curves and heaps on shared axes, and tables of what differs, linked with them.

use super::heap_map::{palette, put, scale};
use super::opening::Picker;
use super::panes::InWords;
use super::state::Lab;
use crate::raster::{self, Frame, Index, Layout, Marks, Shown, Window};
use crate::shared::{self, Axis, Colours, HEIGHT, Shape, Side};
use crate::talk::{
    ALL_MEMORY, About, Answer, Ask, Beside, Compared, MapData, Scale, Section, SharedSpace, Spans,
};
use assigner::words::{both, bytes, difference, grouped};
use browser::{download, width_of};
use leptos::ev::{KeyboardEvent, PointerEvent};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Pixels of a small map.
const MAP_HEIGHT: f64 = 96.0;
/// Pixels of the drawing as a file.
const FILE_WIDTH: f64 = 1000.0;
/// Lines of the table that tells what the curves show.
const STRETCHES: u32 = 24;

/// The pane of comparison.
#[component]
pub fn ComparePane(lab: Lab) -> impl IntoView {
    let own = lab.chosen.with_untracked(|c| c.as_ref().map(|c| c.line.module));
    let others: Vec<(u32, String)> = lab.opened.with_untracked(|o| {
        o.iter()
            .flat_map(|o| &o.modules)
            .filter(|m| Some(m.module) != own)
            .map(|m| {
                // A folder is often named as the backend.
                let folder = if m.folder == m.backend { "" } else { &m.folder };
                let parts = [m.id.as_str(), m.name.as_str(), m.backend.as_str(), folder];
                (m.module, parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" "))
            })
            .collect()
    });
    let beside = move || {
        view! {
            <div class="ways">
                <Picker lab id="beside-files" folder=false beside=true words="Open files beside it" />
                <Picker lab id="beside-folder" folder=true beside=true words="Open a folder beside it" />
            </div>
        }
    };
    if others.is_empty() {
        return view! {
            <p>"Two dumps are compared on the same axes: before and after, two versions, two backends. Open the other one beside this one, or drop both folders together."</p>
            {beside()}
        }
        .into_any();
    }
    let before = lab.beside.get_untracked().map(|b| b.module);
    let with = RwSignal::new(before.or(others.first().map(|o| o.0)));
    let answer = RwSignal::new(None::<Result<Arc<Compared>, String>>);
    // What was not looked at before is shown on the axis that tells most of it.
    let is_new = StoredValue::new(false);
    let module = Memo::new(move |_| lab.beside.with(|b| b.map(|b| b.module)));
    let again = RwSignal::new(0u32);
    // Another assignment, or another change, is compared with the same.
    Effect::new(move |_| {
        again.track();
        let Some(module) = module.get() else { return };
        if lab.map.with(Option::is_none) {
            return;
        }
        lab.link.progress.set(Some(crate::talk::Progress {
            stage: "Comparing".to_owned(),
            ..crate::talk::Progress::default()
        }));
        lab.link.ask(Ask::Compare { source: lab.source.get_untracked(), module }, move |said| {
            // The pane may be gone, or another comparison begun.
            if answer.try_get_untracked().is_none()
                || lab.beside.get_untracked().map(|b| b.module) != Some(module)
            {
                return;
            }
            match said {
                Answer::Compared(compared) => {
                    let said = compared.sections.first().and_then(|s| s.words.lines.first().cloned());
                    lab.announced.set(said.unwrap_or_default());
                    if is_new.get_value() {
                        is_new.set_value(false);
                        let scale = shared::best_scale(&compared);
                        lab.beside.set(Some(Beside { module, scale, ..Beside::default() }));
                    }
                    answer.set(Some(Ok(Arc::from(compared))));
                }
                Answer::Failed(why) => answer.set(Some(Err(why))),
                _ => {}
            }
        });
    });
    let ask = move |e: leptos::ev::SubmitEvent| {
        e.prevent_default();
        let Some(module) = with.get_untracked() else { return };
        answer.set(None);
        is_new.set_value(true);
        lab.beside.set(Some(Beside { module, ..Beside::default() }));
        again.update(|n| *n += 1);
    };
    let names = StoredValue::new((
        lab.chosen.with_untracked(|c| c.as_ref().map(|c| c.line.name.clone()).unwrap_or_default()),
        others.clone(),
    ));
    view! {
        <form class="filters" id="compare" aria-label="Compare" on:submit=ask>
            <span class="field">
                <label for="other">"Compare with"</label>
                <select id="other" on:change=move |e| with.set(event_target_value(&e).parse().ok())>
                    {others
                        .into_iter()
                        .map(|(module, name)| {
                            view! {
                                <option
                                    translate="no"
                                    value=module.to_string()
                                    selected=with.get_untracked() == Some(module)
                                >
                                    {name}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </span>
            <button type="submit">"Compare"</button>
        </form>
        <details class="beside">
            <summary>"Compare with something else"</summary>
            {beside()}
        </details>
        <div id="comparison">
            {move || {
                answer
                    .get()
                    .map(|a| match a {
                        Ok(compared) => {
                            let other = module.get_untracked();
                            let (here, all) = names.get_value();
                            let there = all.into_iter().find(|o| Some(o.0) == other).map(|o| o.1);
                            let names = [here, there.unwrap_or_default()];
                            view! { <Both lab compared names /> }.into_any()
                        }
                        Err(why) => view! { <p class="problem" role="alert">{why}</p> }.into_any(),
                    })
            }}
        </div>
    }
    .into_any()
}

/// What is lit: by hovering or by a choice.
#[derive(Clone, Copy)]
struct Lit {
    /// The line of a table that is chosen.
    chosen: RwSignal<Option<Arc<Line>>>,
    /// The one under the pointer or in focus.
    hovered: RwSignal<Option<Arc<Line>>>,
}

/// A line of a table with the values it is about.
#[derive(PartialEq)]
struct Line {
    /// What is said of it when it is chosen.
    words: String,
    about: About,
}

impl Lit {
    fn get(self) -> Option<Arc<Line>> {
        self.hovered.get().or_else(|| self.chosen.get())
    }
}

/// When values are wanted, in words.
fn steps_in_words(spans: &Spans) -> String {
    let number = |n: u32| grouped(u64::from(n));
    match &spans.steps[..] {
        [] if spans.rows.is_empty() => "not there".to_owned(),
        [] => "steps not known".to_owned(),
        [(first, last)] if first == last => format!("step {}", number(*first)),
        [(first, last)] => format!("steps {} to {}", number(*first), number(*last)),
        [(first, _), .., (_, last)] => format!(
            "steps {} to {} in {} stretches",
            number(*first),
            number(*last),
            grouped(spans.steps.len() as u64)
        ),
    }
}

/// The space that is shown.
fn space_of(compared: &Compared, beside: Option<Beside>) -> Option<SharedSpace> {
    let wanted = beside.and_then(|b| b.space).or(compared.first);
    let all = || compared.spaces.iter();
    let found = all().find(|s| Some(s.color) == wanted);
    let most = |s: &&SharedSpace| (s.left.peak.1.max(s.right.peak.1), std::cmp::Reverse(s.color));
    // All memory only where there are no temporaries.
    let temps = || all().filter(|s| s.color != ALL_MEMORY).max_by_key(most);
    found.or_else(temps).or_else(|| all().next()).cloned()
}

/// A place as the address keeps it: the middle of a whole one.
fn middle(place: u32) -> f64 {
    f64::from(place) + 0.5
}

#[component]
fn Both(lab: Lab, compared: Arc<Compared>, names: [String; 2]) -> impl IntoView {
    let lit = Lit { chosen: RwSignal::new(None), hovered: RwSignal::new(None) };
    let at_place = RwSignal::new(None::<Section>);
    let mut sections = compared.sections.clone().into_iter();
    let sums = sections.next().map(|s| s.words);
    let rest: Vec<Section> = sections.collect();
    view! {
        {sums.map(|words| view! { <InWords words /> })}
        <SharedAxes lab compared names lit at_place />
        <div id="at-place">
            {move || at_place.get().map(|section| view! { <Table lab section lit /> })}
        </div>
        {rest.into_iter().map(|section| view! { <Table lab section lit /> }).collect_view()}
    }
}

/// A table whose lines light what they are about.
#[component]
fn Table(lab: Lab, section: Section, lit: Lit) -> impl IntoView {
    let Section { words, about } = section;
    let mut table = words.table.into_iter();
    let head = table.next();
    let columns = head.as_ref().map_or(0, Vec::len);
    let is_number = |name: &str| {
        matches!(
            name,
            "Here"
                | "There"
                | "Bytes"
                | "Bytes here"
                | "Bytes there"
                | "Difference"
                | "Offset here"
                | "Offset there"
        )
    };
    let labels: Vec<String> = head.iter().flatten().cloned().collect();
    // What kind of cells stand in a column: figures, names of others, or words.
    let kinds: Vec<(bool, bool)> =
        head.iter().flatten().map(|h| (is_number(h), h == "Value there")).collect();
    let line = |(cells, about): (Vec<String>, About)| {
        let name = cells.first().cloned().unwrap_or_default();
        let words =
            format!("{}: here {}, there {}", name, steps_in_words(&about.left), steps_in_words(&about.right));
        let line = Arc::new(Line { words, about });
        let (enter, focus, press) = (line.clone(), line.clone(), line.clone());
        let is_chosen = Memo::new(move |_| lit.chosen.with(|c| c.as_ref() == Some(&line)));
        let leave = move || lit.hovered.set(None);
        let choose = move |_| {
            let is_chosen = lit.chosen.with_untracked(|c| c.as_ref() == Some(&press));
            lit.chosen.set((!is_chosen).then(|| press.clone()));
            lab.announced.set(if is_chosen { "Nothing is lit".to_owned() } else { press.words.clone() });
        };
        let mut cells = cells.into_iter();
        let first = cells.next();
        view! {
            <tr
                role="row"
                aria-current=move || is_chosen.get().then_some("true")
                on:pointerenter=move |_| lit.hovered.set(Some(enter.clone()))
                on:pointerleave=move |_| leave()
            >
                <th scope="row" role="rowheader">
                    <button
                        type="button"
                        class="link"
                        aria-pressed=move || is_chosen.get().to_string()
                        on:focus=move |_| lit.hovered.set(Some(focus.clone()))
                        on:blur=move |_| leave()
                        on:click=choose
                    >
                        <bdi class="code" translate="no">
                            {first}
                        </bdi>
                    </button>
                </th>
                {cells
                    .zip(kinds.iter().skip(1))
                    .zip(labels.iter().skip(1).cloned().collect::<Vec<_>>())
                    .map(|((cell, (number, name)), label)| {
                        if *name {
                            view! { <td role="cell" data-label=label><bdi translate="no">{cell}</bdi></td> }.into_any()
                        } else {
                            view! { <td role="cell" class:number=*number data-label=label>{cell}</td> }.into_any()
                        }
                    })
                    .collect_view()}
            </tr>
        }
    };
    let mut about = about.into_iter();
    let lines: Vec<_> = table.map(|cells| line((cells, about.next().unwrap_or_default()))).collect();
    let label = words.title.clone();
    view! {
        <section class="answer">
            <h4>{words.title}</h4>
            {words.lines.into_iter().map(|l| view! { <p>{l}</p> }).collect_view()}
            {(columns > 0)
                .then(|| {
                    view! {
                        <div class="scroll" tabindex="0" role="region" aria-label=label>
                            <table class="cards" role="table">
                                <thead role="rowgroup">
                                    <tr role="row">
                                        {head
                                            .into_iter()
                                            .flatten()
                                            .map(|h| {
                                                let number = is_number(&h);
                                                view! { <th scope="col" role="columnheader" class:number=number>{h}</th> }
                                            })
                                            .collect_view()}
                                    </tr>
                                </thead>
                                <tbody role="rowgroup">{lines}</tbody>
                            </table>
                        </div>
                    }
                })}
        </section>
    }
}

/// The curves and the heaps of both on shared axes.
#[component]
fn SharedAxes(
    lab: Lab,
    compared: Arc<Compared>,
    names: [String; 2],
    lit: Lit,
    at_place: RwSignal<Option<Section>>,
) -> impl IntoView {
    let data = StoredValue::new(compared);
    let stage = NodeRef::<Div>::new();
    let width = width_of(stage);
    let beside = move || lab.beside.get();
    let chosen_scale = Memo::new(move |_| beside().map(|b| b.scale).unwrap_or_default());
    let chosen_space = Memo::new(move |_| beside().and_then(|b| b.space));
    let axis = Memo::new(move |_| Arc::new(data.with_value(|c| Axis::new(c, chosen_scale.get()))));
    let space = Memo::new(move |_| {
        let wanted = chosen_space.get().map(|s| Beside { space: Some(s), ..Beside::default() });
        Arc::new(data.with_value(|c| space_of(c, wanted)).unwrap_or_default())
    });
    let changes = Memo::new(move |_| shared::changes(&axis.get(), &space.get()));
    let last = move || (axis.with(|a| a.total) as u32).saturating_sub(1);
    let peak = move |is_left: bool| {
        let (axis, space) = (axis.get(), space.get());
        let (side, curve) = if is_left { (&axis.left, &space.left) } else { (&axis.right, &space.right) };
        (curve.peak.1 > 0).then(|| side.middle(curve.peak.0) as u32)
    };
    // Where both are read: at first where the address says, else at the peak of this one.
    let kept = lab.beside.get_untracked().and_then(|b| b.at);
    let at = RwSignal::new(0u32);
    Effect::new(move |before: Option<()>| {
        axis.track();
        space.track();
        let start = if before.is_none() { kept } else { None };
        at.set(start.or_else(|| peak(true)).or_else(|| peak(false)).unwrap_or(0).min(last()));
    });
    let reading = Memo::new(move |_| shared::read(&axis.get(), &space.get(), middle(at.get())));
    let words = move || reading.get().words();
    let set = move |change: &dyn Fn(&mut Beside)| {
        lab.beside.update(|b| {
            if let Some(b) = b {
                change(b);
            }
        });
    };
    // What makes the difference there: asked for, since it takes a pass over all values.
    let explain = move || {
        let reading = reading.get_untracked();
        set(&|b| b.at = Some(at.get_untracked()));
        let color = space.with_untracked(|s| s.color);
        let steps = (reading.left.map(|l| l.0), reading.right.map(|r| r.0));
        let source = lab.source.get_untracked();
        lab.link.ask(Ask::CompareAt { source, color, steps }, move |answer| match answer {
            Answer::ComparedAt(section) => {
                let many = section.words.table.len().saturating_sub(1);
                lab.announced.set(format!("{}: {many} lines", section.words.title));
                _ = at_place.try_set(Some(*section));
            }
            Answer::Failed(why) => lab.fail(why),
            _ => {}
        });
    };
    if kept.is_some() {
        // Once the place is set.
        Effect::new(move |before: Option<bool>| {
            let is_there = at.get() == kept.unwrap_or(0).min(last());
            if is_there && before != Some(true) {
                explain();
            }
            before == Some(true) || is_there
        });
    }
    let move_to = move |place: f64| at.set((place.max(0.0) as u32).min(last()));
    let by_pointer = move |e: &PointerEvent| {
        let target = event_target::<web_sys::Element>(e);
        let frame = target.closest(".drawing").ok().flatten().unwrap_or(target).get_bounding_client_rect();
        let share = (f64::from(e.client_x()) - frame.left()) / frame.width().max(1.0);
        move_to(share * axis.with_untracked(|a| a.total));
    };
    let keys = move |e: KeyboardEvent| {
        let now = at.get_untracked();
        // The places at which a curve changes, before and behind.
        let beyond = |forward: bool| {
            changes.with_untracked(|all| {
                let places = all.iter().map(|p| p.ceil() as u32);
                if forward { places.filter(|p| *p > now).min() } else { places.filter(|p| *p < now).max() }
            })
        };
        let to = match e.key().as_str() {
            "ArrowLeft" | "ArrowDown" => now.saturating_sub(1),
            "ArrowRight" | "ArrowUp" => now + 1,
            "PageDown" => beyond(false).unwrap_or(0),
            "PageUp" => beyond(true).unwrap_or_else(last),
            "Home" => 0,
            "End" => last(),
            "Enter" => {
                e.prevent_default();
                explain();
                return;
            }
            _ => return,
        };
        e.prevent_default();
        at.set(to.min(last()));
    };
    let mark = move || format!("{}%", middle(at.get()) / axis.with(|a| a.total).max(1.0) * 100.0);
    let shapes = move |width: f64| {
        let lit = lit.get();
        let spans = lit.as_ref().map(|l| (&l.about.left, &l.about.right));
        shared::draw(&axis.get(), &space.get(), spans, width)
    };
    let drawing = move || {
        let width = width.get();
        shapes(width)
            .into_iter()
            .map(|shape| match shape {
                Shape::Path(mark, d) => view! { <path class=mark.class() d=d></path> }.into_any(),
                Shape::Words(mark, (x, y), anchor, words) => {
                    let anchor = ["start", "middle", "end"][usize::from(anchor).min(2)];
                    view! {
                        <text class=mark.class() x=x.to_string() y=y.to_string() text-anchor=anchor>
                            {words}
                        </text>
                    }
                    .into_any()
                }
            })
            .collect_view()
    };
    let files = StoredValue::new(names.clone());
    let save = move |_| {
        let names = files.get_value();
        let colours = colours();
        let text = shared::svg(&shapes(FILE_WIDTH), FILE_WIDTH, [&names[0], &names[1]], &colours);
        download(&format!("{}.compare.svg", lab.file_name()), &text, "image/svg+xml");
        lab.announced.set("The curves are saved as SVG.".to_owned());
    };
    let (in_order, of, same, spaces) =
        data.with_value(|c| (c.in_order, c.aligned.1, c.same, c.spaces.clone()));
    let legend = move |is_left: bool| {
        let space = space.get();
        let curve = if is_left { &space.left } else { &space.right };
        if curve.temp == 0 {
            return "no temporaries in this memory space".to_owned();
        }
        if space.color == ALL_MEMORY {
            return format!("{} in all, most in use {}", both(curve.temp), both(curve.peak.1));
        }
        format!("{} of temporaries, most in use {}", both(curve.temp), both(curve.peak.1))
    };
    let [here, there] = names;
    view! {
        <figure class="both" id="shared" aria-labelledby="shared-title">
            <div class="shared">
            <div class="map-head">
                <h3 id="shared-title">"Bytes in use, on shared axes"</h3>
                {(spaces.len() > 1)
                    .then(|| {
                        view! {
                            <label class="choose">
                                <span class="hidden">"Which memory"</span>
                                <select
                                    id="shared-space"
                                    on:change=move |e| {
                                        let color = event_target_value(&e).parse().ok();
                                        at_place.set(None);
                                        set(&|b| (b.space, b.at) = (color, None));
                                    }
                                >
                                    {spaces
                                        .into_iter()
                                        .map(|s| {
                                            let color = s.color;
                                            view! {
                                                <option
                                                    value=color.to_string()
                                                    selected=move || space.with(|s| s.color == color)
                                                >
                                                    {if color == ALL_MEMORY {
                                                        "All memory".to_owned()
                                                    } else {
                                                        format!("Temporaries of memory space {}", s.name)
                                                    }}
                                                </option>
                                            }
                                        })
                                        .collect_view()}
                                </select>
                            </label>
                        }
                    })}
                <span class="group scales" role="group" aria-label="How the steps stand under each other">
                    {Scale::ALL
                        .map(|s| {
                            let name = match s {
                                Scale::Matched => "Matched steps",
                                Scale::Share => "Share of the program",
                                Scale::Steps => "Steps",
                            };
                            view! {
                                <button
                                    type="button"
                                    aria-pressed=move || (chosen_scale.get() == s).to_string()
                                    on:click=move |_| {
                                        at_place.set(None);
                                        set(&|b| (b.scale, b.at) = (s, None));
                                    }
                                >
                                    {name}
                                </button>
                            }
                        })
                        .collect_view()}
                </span>
            </div>
            <ul class="legend">
                <li>
                    <Sample is_left=true />
                    <span>
                        <b>"Here: "</b>
                        <bdi class="code" translate="no">{here}</bdi>
                        <span class="quiet">" " {move || legend(true)}</span>
                    </span>
                </li>
                <li>
                    <Sample is_left=false />
                    <span>
                        <b>"There: "</b>
                        <bdi class="code" translate="no">{there}</bdi>
                        <span class="quiet">" " {move || legend(false)}</span>
                    </span>
                </li>
            </ul>
            {same.then(|| view! { <p class="same" id="same">"The same: one curve covers the other."</p> })}
            <SmallMaps lab data axis space width lit mark=Signal::derive(mark) />
            </div>
            <div class="shared pinned">
            <div class="beside-axis">
            <div class="stage" node_ref=stage>
                <div
                    class="drawing"
                    id="shared-curves"
                    role="slider"
                    tabindex="0"
                    aria-label="Place on the shared axis. Arrows move by one, page up and down to where a curve changes, Enter tells what makes the difference there."
                    aria-valuemin="0"
                    aria-valuemax=move || last().to_string()
                    aria-valuenow=move || at.get().to_string()
                    aria-valuetext=move || words().join("; ")
                    on:keydown=keys
                    on:pointermove=move |e: PointerEvent| by_pointer(&e)
                    on:pointerdown=move |e: PointerEvent| by_pointer(&e)
                    on:click=move |_| explain()
                >
                    <svg
                        aria-hidden="true"
                        height=HEIGHT.to_string()
                        viewBox=move || format!("0 0 {} {HEIGHT}", width.get().max(1.0))
                    >
                        {drawing}
                    </svg>
                    <span class="mark" style:left=mark></span>
                </div>
            </div>
            </div>
                <p class="reading" id="reading">
                    <span class="left">{move || words()[0].clone()}</span>
                    <span class="right">{move || words()[1].clone()}</span>
                    <b>{move || words()[2].clone()}</b>
                </p>
                <p class="small lit-words">{move || lit.get().map(|l| l.words.clone())}</p>
            </div>
        </figure>
        <div class="under-shared">
            <div class="actions">
                <button type="button" disabled=move || peak(true).is_none() on:click=move |_| {
                    at.set(peak(true).unwrap_or(0));
                }>
                    "Peak here"
                </button>
                <button type="button" disabled=move || peak(false).is_none() on:click=move |_| {
                    at.set(peak(false).unwrap_or(0));
                }>
                    "Peak there"
                </button>
                <button type="button" id="explain-place" on:click=move |_| explain()>
                    "What makes the difference at this place?"
                </button>
                <button type="button" id="save-shared" on:click=save>
                    "Save the curves as SVG"
                </button>
            </div>
            <p class="small quiet">{move || match chosen_scale.get() {
                Scale::Matched => format!(
                    "{} of the {} matched values are first written in the same order: there both programs stand under each other. Between two of them, the one with fewer steps waits for the other.",
                    grouped(u64::from(in_order)),
                    grouped(u64::from(of))
                ),
                Scale::Share => "Both programs are as wide as the axis, however many steps they have.".to_owned(),
                Scale::Steps => "A step is as wide here as there; the shorter program ends sooner.".to_owned(),
            }}</p>
            <details id="shared-table">
                <summary>"The curves as a table"</summary>
                <div class="scroll" tabindex="0" role="region" aria-label="The curves as a table">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">"Steps here"</th>
                                <th scope="col">"Steps there"</th>
                                <th scope="col" class="number">"Most in use here"</th>
                                <th scope="col" class="number">"Most in use there"</th>
                                <th scope="col" class="number">"Difference"</th>
                            </tr>
                        </thead>
                        <tbody>{move || stretches(&axis.get(), &space.get())}</tbody>
                    </table>
                </div>
            </details>
        </div>
    }
}

/// A piece of a line, as the curves are drawn.
#[component]
fn Sample(is_left: bool) -> impl IntoView {
    let class = if is_left { "line left" } else { "line right" };
    view! {
        <svg class="sample" aria-hidden="true" width="28" height="10" viewBox="0 0 28 10">
            <path class=class d="M0 5H28"></path>
        </svg>
    }
}

fn stretches(axis: &Axis, space: &SharedSpace) -> impl IntoView + use<> {
    shared::stretches(axis, space, STRETCHES)
        .into_iter()
        .map(|s| {
            let steps = |side: Option<(u32, u32, u64)>| match side {
                Some((first, last, _)) if first == last => grouped(u64::from(first)),
                Some((first, last, _)) => {
                    format!("{} to {}", grouped(u64::from(first)), grouped(u64::from(last)))
                }
                None => "over".to_owned(),
            };
            let most = |side: Option<(u32, u32, u64)>| side.map_or(0, |s| s.2);
            let [here, there] = s.sides;
            view! {
                <tr>
                    <th scope="row">{steps(here)}</th>
                    <td>{steps(there)}</td>
                    <td class="number">{bytes(most(here))}</td>
                    <td class="number">{bytes(most(there))}</td>
                    <td class="number">{difference(most(here), most(there))}</td>
                </tr>
            }
        })
        .collect_view()
}

/// The page's colours, for a drawing that leaves it.
fn colours() -> Colours {
    let style =
        document().document_element().and_then(|root| window().get_computed_style(&root).ok().flatten());
    let of = |name: &str| {
        let value = style.as_ref().and_then(|s| s.get_property_value(name).ok()).unwrap_or_default();
        // What is put into a file is a colour and nothing else.
        let is_colour =
            value.trim().strip_prefix('#').is_some_and(|c| c.bytes().all(|b| b.is_ascii_hexdigit()));
        if is_colour { value.trim().to_owned() } else { "#808080".to_owned() }
    };
    Colours {
        back: of("--card"),
        ink: of("--quiet"),
        rule: of("--rule-strong"),
        left: of("--link"),
        right: of("--accent"),
    }
}

/// A heap laid on the axis.
struct OnAxis {
    map: MapData,
    layout: Layout,
    index: Index,
}

impl OnAxis {
    fn new(map: &MapData, side: &Side, axis: &Axis, color: u32) -> Self {
        let map = shared::on_axis(map, side, axis);
        let layout = Layout::new(&map, if color == ALL_MEMORY { Shown::All } else { Shown::Temps(color) });
        let index = Index::new(&map);
        Self { map, layout, index }
    }
}

/// The heaps of both, addresses downwards on one scale, above the curves: these stay in sight while tables are read.
#[component]
fn SmallMaps(
    lab: Lab,
    data: StoredValue<Arc<Compared>>,
    axis: Memo<Arc<Axis>>,
    space: Memo<Arc<SharedSpace>>,
    width: RwSignal<f64>,
    lit: Lit,
    mark: Signal<String>,
) -> impl IntoView {
    let canvases = [NodeRef::<Canvas>::new(), NodeRef::<Canvas>::new()];
    let laid = StoredValue::new_local(None::<Rc<[OnAxis; 2]>>);
    let is_laid = RwSignal::new(0u32);
    let frame = StoredValue::new_local(Rc::new(RefCell::new(Frame::default())));
    Effect::new(move |_| {
        let (axis, color) = (axis.get(), space.with(|s| s.color));
        let Some(own) = lab.map.get() else { return };
        let both = data.with_value(|c| {
            [OnAxis::new(&own, &axis.left, &axis, color), OnAxis::new(&c.other, &axis.right, &axis, color)]
        });
        laid.set_value(Some(Rc::new(both)));
        is_laid.update(|n| *n += 1);
    });
    Effect::new(move |_| {
        is_laid.track();
        lab.palette.0.track();
        let (width, lit) = (width.get(), lit.get());
        let (Some(both), Some((palette, _))) = (laid.get_value(), palette()) else { return };
        let high = both.iter().map(|m| m.layout.total).fold(1.0, f64::max);
        let frame = frame.get_value();
        let mut frame = frame.borrow_mut();
        for (i, (heap, canvas)) in both.iter().zip(canvases).enumerate() {
            let Some(canvas) = canvas.get() else { continue };
            let window = Window { from: 0.0, to: f64::from(heap.map.end).max(1.0), low: 0.0, high };
            let rows = lit.as_ref().map(|l| if i == 0 { &l.about.left.rows } else { &l.about.right.rows });
            let fitting = rows.map(|rows| {
                let most = heap.map.row.iter().max().map_or(0, |r| *r as usize + 1);
                let mut fitting = vec![false; most];
                for row in rows {
                    if let Some(slot) = fitting.get_mut(*row as usize) {
                        *slot = true;
                    }
                }
                fitting
            });
            let marks = Marks { selected: None, fitting: fitting.as_deref() };
            let size = ((width * scale()) as usize, (MAP_HEIGHT * scale()) as usize);
            raster::draw(&mut frame, size, (&heap.map, &heap.layout, &heap.index), &window, &palette, marks);
            put(&canvas, &frame);
        }
    });
    let [left, right] = canvases;
    let words = move |is_left: bool| {
        space.with(|s| {
            let temp = if is_left { s.left.temp } else { s.right.temp };
            if is_left {
                format!("Addresses here: {}", both(temp))
            } else {
                format!("Addresses there: {}", both(temp))
            }
        })
    };
    view! {
        <div class="small-maps beside-axis" aria-hidden="true">
            <p class="small left">{move || words(true)}</p>
            <div class="small-map">
                <canvas id="map-here" node_ref=left></canvas>
                <span class="mark" style:left=move || mark.get()></span>
            </div>
            <p class="small right">{move || words(false)}</p>
            <div class="small-map">
                <canvas id="map-there" node_ref=right></canvas>
                <span class="mark" style:left=move || mark.get()></span>
            </div>
        </div>
    }
}
